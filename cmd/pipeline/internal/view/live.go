package view

import (
	"strconv"
	"strings"
	"sync"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Live prints outcomes as they settle: it is the observer of dev.
type Live struct {
	v *View

	mu    sync.Mutex
	lines *lines
	tally *Tally
	buf   []byte
	// why is what the handler said last of an entry that waits, by group and id.
	why map[waiter]string
	// quiet are the events that the outcomes tell already.
	quiet map[observe.EventName]bool
}

// waiter is an entry that waits in a group.
type waiter struct {
	group *spec.Group
	id    broker.ID
}

var _ observe.Observer = (*Live)(nil)

// Observer returns an observer that prints the outcomes of p.
func (v *View) Observer(p *spec.Pipeline) *Live {
	l := newLines(v.o, p)
	l.idWidth = len("1700000000000-00")
	return &Live{v: v, lines: l, tally: NewTally(p), why: map[waiter]string{}, quiet: map[observe.EventName]bool{
		observe.EventGroupCreated: true, observe.EventReading: true, observe.EventDeadLettered: true,
		observe.EventTakenOver: true, observe.EventStaleSettle: true, observe.EventDraining: true,
		observe.EventHandedBack: true,
	}}
}

// Settled prints the outcomes of a settlement.
func (l *Live) Settled(sub *spec.Subscription, outcomes []observe.Outcome) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.buf = l.buf[:0]
	for i := range outcomes {
		o := &outcomes[i]
		l.tally.Add(sub, o)
		l.remember(sub, o)
		if l.v.o.JSON {
			l.buf = l.appendJSON(l.buf, sub, o)
		} else {
			l.buf = l.lines.append(l.buf, sub, o)
		}
	}
	l.v.write(l.buf)
}

// remember keeps why an entry waits: the word of its handler or, without one,
// what it logged last.
func (l *Live) remember(sub *spec.Subscription, o *observe.Outcome) {
	w := waiter{sub.Group, o.ID}
	waits := o.Result == observe.ResultRetry || o.Result == observe.ResultFailed && !o.Dead
	if !waits {
		delete(l.why, w)
		return
	}
	why := o.Reason
	if o.Error != "" {
		why = o.Error
	}
	if why == "" && len(o.Logs) > 0 {
		why = o.Logs[len(o.Logs)-1].Message
	}
	l.why[w] = strings.Clone(why)
}

// Why is what a handler said of an entry that waits in a group.
func (l *Live) Why(g *spec.Group, id broker.ID) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.why[waiter{g, id}]
}

// appendJSON is the line of a dry-run with what only a real run knows.
func (l *Live) appendJSON(dst []byte, sub *spec.Subscription, o *observe.Outcome) []byte {
	dst = appendOutcome(dst, sub, o)
	dst = append(dst, `,"group":`...)
	dst = appendString(dst, sub.Group.Label)
	dst = append(dst, `,"key":`...)
	dst = appendString(dst, o.Key)
	dst = append(dst, `,"attempt":`...)
	dst = strconv.AppendInt(dst, int64(o.Attempt), 10)
	dst = append(dst, `,"deliveries":`...)
	dst = strconv.AppendInt(dst, o.Deliveries, 10)
	dst = append(dst, `,"dead":`...)
	dst = strconv.AppendBool(dst, o.Dead)
	return append(dst, '}', '\n')
}

// Event prints what is worth knowing beside the outcomes.
func (l *Live) Event(e observe.Event) {
	if l.v.o.JSON {
		l.v.event(struct {
			Event        observe.EventName `json:"event"`
			Time         time.Time         `json:"time"`
			Level        string            `json:"level"`
			Subscription string            `json:"subscription,omitempty"`
			Stream       string            `json:"stream,omitempty"`
			Group        string            `json:"group,omitempty"`
			Message      string            `json:"message"`
			Error        string            `json:"error,omitempty"`
			Count        int               `json:"count,omitempty"`
		}{e.Name, e.Time, levelName(e.Level), e.Subscription, e.Stream, e.Group, e.Message, errorText(e.Err), e.Count})
		return
	}
	if l.quiet[e.Name] && e.Level < sandbox.Warn {
		return
	}
	text := e.Message
	if e.Subscription != "" {
		text = e.Subscription + ": " + text
	}
	if e.Err != nil {
		text += ": " + e.Err.Error()
	}
	l.v.Remark(string(e.Name), e.Level, text)
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

// Remark prints something that happened: a line with its level in front to
// stderr, or an event.
func (v *View) Remark(event string, level sandbox.Level, text string) {
	if v.o.JSON {
		v.event(struct {
			Event   string `json:"event"`
			Level   string `json:"level"`
			Message string `json:"message"`
		}{event, levelName(level), text})
		return
	}
	styles := map[string]style{"debug": dim, "info": blue, "warn": yellow, "error": red}
	name := levelName(level)
	line := paint(v.o.ErrColor).append(nil, styles[name], name)
	line = append(append(line, ": "...), clean(text)...)
	v.say(append(line, '\n'))
}

// Total is how many outcomes had the result so far.
func (l *Live) Total(r observe.Result) int64 {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.tally.Of(r)
}

// Waiting is what a group still holds when dev ends.
type Waiting struct {
	Group, Stream string
	Entries       int64
	// Until is when the first of them comes back; zero when nothing brings it
	// back. In is the time until then.
	Until time.Time
	In    time.Duration
	// Why is what the handler said of the first, may be empty.
	Why string
}

// Summary prints how often each outcome occurred, and what still waits.
func (l *Live) Summary(entries int64, waiting []Waiting) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.v.o.JSON {
		l.summaryJSON(entries, waiting)
		return
	}
	p := paint(l.v.o.Color)
	b := []byte("\n" + count(entries, "entry", "entries") + "\n")
	if l.tally.Any() {
		b = l.tally.table().append(append(b, '\n'), p, 0)
	}
	if len(waiting) > 0 {
		b = append(b, '\n')
	}
	for _, w := range waiting {
		b = append(append(b, waitingText(p, w)...), '\n')
	}
	l.v.write(b)
}

func waitingText(p paint, w Waiting) string {
	verb, first := " wait in ", ", the first "
	if w.Entries == 1 {
		verb, first = " waits in ", ", "
	}
	text := p.text(yellow, count(w.Entries, "entry", "entries")) + " of " + clean(w.Stream) + verb + clean(w.Group)
	switch {
	case w.Until.IsZero():
		text += "; nobody in the group claims, so only their own consumer runs them again"
	case w.In <= 0:
		text += first + "due now"
	default:
		text += first + "until " + w.Until.Format(time.TimeOnly) + " (in " + Duration(w.In.Round(100*time.Millisecond)) + ")"
	}
	if w.Why != "" {
		text += ": " + fit(clean(w.Why), maxDetail)
	}
	return text
}

func (l *Live) summaryJSON(entries int64, waiting []Waiting) {
	for _, w := range waiting {
		var until *time.Time
		if !w.Until.IsZero() {
			until = &w.Until
		}
		l.v.event(struct {
			Event   string     `json:"event"`
			Group   string     `json:"group"`
			Stream  string     `json:"stream"`
			Entries int64      `json:"entries"`
			Until   *time.Time `json:"until"`
			InMS    int64      `json:"in_ms"`
			Reason  string     `json:"reason"`
		}{"waiting", w.Group, w.Stream, w.Entries, until, w.In.Milliseconds(), w.Why})
	}
	b := append([]byte(nil), `{"event":"summary","entries":`...)
	b = strconv.AppendInt(b, entries, 10)
	b = append(b, `,"outcomes":`...)
	b = l.tally.appendCounts(b)
	l.v.write(append(b, '}', '\n'))
}
