package view

import (
	"encoding/json"
	"strconv"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// PendingDetail is everything about a pending entry.
type PendingDetail struct {
	PendingEntry
	Record broker.Record
	Now    time.Time
	// MinIdle is the group's, 0 where nobody claims. MaxAttempts is the smallest of
	// its subscriptions'.
	MinIdle     time.Duration
	MaxAttempts int
	// Body is the entry; nil with NoBody saying why.
	Body   *deadletters.Letter
	NoBody string
}

// Pending prints everything about a pending entry; full cuts nothing.
func (l *Letters) Pending(e *PendingDetail, full bool) {
	var o *opened
	switch {
	case e.Body != nil:
		o = l.open(e.Body)
		e.Error = o.hide.text(e.Error)
	case e.Error != "" && l.masksAny(e.Stream):
		e.Error = masked
	}
	if l.v.o.JSON {
		l.v.write(l.pendingJSON(e, o))
		return
	}
	p := paint(l.v.o.Color)
	b := p.append(nil, bold, clean(e.Stream)+" "+e.ID.String()+" in the group "+clean(e.Group))
	b = appendFacts(append(b, '\n'), p, pendingFacts(e))
	if e.Body == nil {
		b = append(b, "body: "+clean(e.NoBody)+"\n"...)
	} else {
		b = l.appendFields(b, p, e.Body, o, full)
		b = l.appendBody(b, p, e.Body, o, full)
	}
	l.v.write(b)
}

// masksAny reports whether a stream has sensitive fields that are not shown.
func (l *Letters) masksAny(stream string) bool {
	for _, s := range l.p.Streams {
		if s.Name == stream && l.Masks(s) {
			return true
		}
	}
	return false
}

func pendingFacts(e *PendingDetail) []fact {
	r := &e.Record
	facts := []fact{
		{"consumer", e.Consumer}, {"idle", Duration(e.Idle)},
		{"deliveries", number(e.Deliveries)},
		{"attempts", number(e.Attempts) + " of " + strconv.Itoa(e.MaxAttempts) + " used up"},
		{"starts", number(r.Starts) + " recorded, from the third delivery on"},
		{"asked retries", number(r.Asked) + ", which cost no attempt"},
		{"due", dueText(e)}, {"last error", e.Error},
	}
	if e.MaxAttempts == 0 {
		facts[3].text = number(e.Attempts) + "; no subscription of the group is enabled"
	}
	if !r.At.IsZero() {
		facts = append(facts, fact{"written", moment(r.At) + " by " + r.By})
	} else {
		facts = append(facts, fact{"record", "none: it was not retried, and not started more than twice"})
	}
	return facts
}

// dueText says when the entry may run again, and what brings it back.
func dueText(e *PendingDetail) string {
	switch {
	case e.Due.IsZero():
		return "unknown: nobody claims in this group; a worker of its consumer's slot takes it up"
	case e.In <= 0:
		return "now"
	}
	text := moment(e.Due) + ", in " + Duration(e.In.Round(100*time.Millisecond))
	if e.Record.Due.After(e.Now) {
		return text + ", as the retry says"
	}
	return text + ", when it has been idle for " + Duration(e.MinIdle)
}

func (l *Letters) pendingJSON(e *PendingDetail, o *opened) []byte {
	b := appendPending(nil, &e.PendingEntry)
	rest, err := json.Marshal(struct {
		Starts      int64    `json:"starts"`
		Asked       int64    `json:"asked_retries"`
		MaxAttempts int      `json:"max_attempts"`
		MinIdle     int64    `json:"min_idle_ms"`
		RecordedAt  string   `json:"recorded_at"`
		RecordedBy  string   `json:"recorded_by"`
		Fields      [][2]any `json:"fields"`
		Body        any      `json:"body"`
		Problem     string   `json:"problem"`
	}{
		e.Record.Starts, e.Record.Asked, e.MaxAttempts, e.MinIdle.Milliseconds(), moment(e.Record.At), e.Record.By,
		l.fieldsJSON(e.Body, o), openedJSON(o), problemOf(e, o),
	})
	if err != nil { // only a type that JSON lacks could fail; the tests encode each
		panic(err)
	}
	b = append(append(b, ','), rest[1:]...)
	return append(b, '\n')
}

func problemOf(e *PendingDetail, o *opened) string {
	if o == nil {
		return e.NoBody
	}
	return o.hide.text(o.problem)
}

// fieldsJSON are the fields of an entry with what is sensitive masked.
func (l *Letters) fieldsJSON(d *deadletters.Letter, o *opened) [][2]any {
	fields := [][2]any{}
	if d == nil {
		return fields
	}
	stream := d.Stream()
	if stream == nil {
		stream = d.Source.Stream
	}
	for _, f := range d.Fields {
		shown := o.shownField(f, f.Name == stream.Body)
		fields = append(fields, [2]any{textJSON(shown.Name), textJSON(shown.Value)})
	}
	return fields
}

// openedJSON is a body as JSON, or as text.
func openedJSON(o *opened) any {
	if o == nil {
		return nil
	}
	text := o.bodyText()
	isJSON := !o.unreadable && o.codec != spec.CodecText && o.codec != spec.CodecBytes
	if isJSON && json.Valid([]byte(text)) {
		return json.RawMessage(text)
	}
	if text == "" {
		return nil
	}
	return textJSON(text)
}
