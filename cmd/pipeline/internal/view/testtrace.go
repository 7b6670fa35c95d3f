package view

import (
	"strconv"
	"strings"

	"pipeline/cmd/pipeline/internal/testrun"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/lang/testspec"
)

// mostRows is how many rows of a kind a failure shows: the first and the last
// ones of more.
const mostRows = 40

// appendTrace shows the deliveries that led to a failure, what handlers logged,
// what else happened, and what is pending.
func appendTrace(b []byte, p paint, t *testrun.Trace) []byte {
	b = appendDeliveries(b, p, t)
	b = appendDelivered(b, p, t)
	b = appendTestLogs(b, p, t)
	if len(t.Events) > 0 {
		events := &table{head: []string{"events at", "", ""}, right: map[int]bool{}}
		for _, e := range t.Events {
			message := e.Message
			if e.Subscription != "" {
				message = e.Subscription + ": " + message
			}
			events.row(cell{Duration(e.At), plain}, cell{e.Worker, dim}, cell{message, plain})
		}
		b = appendPart(b, p, events)
	}
	if len(t.Pending) == 0 {
		return b
	}
	pending := &table{head: []string{"pending at " + Duration(t.Elapsed), "id", "consumer", "deliveries", "idle", ""}, right: map[int]bool{3: true, 4: true}}
	for i := range t.Pending {
		e := &t.Pending[i]
		pending.row(cell{e.Group.Label, plain}, cell{e.ID, dim}, cell{e.Consumer, plain},
			cell{strconv.FormatInt(e.Deliveries, 10), plain}, cell{Duration(e.Idle), plain}, cell{pendingDetail(t, e), plain})
	}
	return appendPart(b, p, pending)
}

func appendDeliveries(b []byte, p paint, t *testrun.Trace) []byte {
	if len(t.Deliveries) == 0 {
		b = appendSpaces(b, testIndent)
		text := "nothing was delivered in " + Duration(t.Elapsed)
		if t.Hidden > 0 {
			text += ", but for " + count(int64(t.Hidden), "delivery", "deliveries") + " to other subscriptions"
		}
		return append(b, text+"\n"...)
	}
	rows := &table{
		head: []string{"delivered at", "worker", "subscription", "id", "key", "deliveries", "outcome", ""}, right: map[int]bool{5: true},
	}
	told := map[string]bool{}
	for i := range t.Deliveries {
		d := &t.Deliveries[i]
		worker := ""
		if t.Workers > 1 {
			worker = d.Worker
		}
		outcome := observe.Result(d.Outcome)
		rows.row(cell{Duration(d.At), plain}, cell{worker, dim}, cell{d.Subscription.Label, plain}, cell{d.ID, dim},
			cell{fit(clean(d.Key), maxKeyWidth), plain}, cell{strconv.FormatInt(d.Deliveries, 10), plain},
			cell{d.Outcome, resultStyle(outcome)}, cell{deliveryDetail(d, told), plain})
	}
	b = appendPart(b, p, rows)
	if t.Hidden > 0 {
		b = appendSpaces(b, testIndent)
		b = append(b, count(int64(t.Hidden), "delivery", "deliveries")+" to other subscriptions not shown\n"...)
	}
	return b
}

// appendPart renders a table as a part of a failure.
func appendPart(b []byte, p paint, t *table) []byte {
	left := 0
	if n := len(t.rows); n > mostRows {
		left = n - mostRows
		t.rows = append(t.rows[:mostRows/2:mostRows/2], t.rows[n-mostRows/2:]...)
	}
	number := 0
	for line := range strings.Lines(string(t.append(nil, p, 0))) {
		if left > 0 && number == 1+mostRows/2 {
			b = appendSpaces(b, partIndent)
			b = append(b, "… "+count(int64(left), "row", "rows")+" …\n"...)
		}
		if number == 0 {
			b = appendSpaces(b, testIndent)
		} else {
			b = appendSpaces(b, partIndent)
		}
		b = append(append(b, strings.TrimRight(line, " \n")...), '\n')
		number++
	}
	return b
}

// appendDelivered shows the entries, each once however often it was delivered.
func appendDelivered(b []byte, p paint, t *testrun.Trace) []byte {
	entries := &table{head: []string{"entries of", "id", ""}, right: map[int]bool{}}
	seen := map[string]bool{}
	for i := range t.Deliveries {
		d := &t.Deliveries[i]
		stream := d.Subscription.Group.Stream.Label
		if seen[stream+d.ID] || !d.Decoded {
			continue
		}
		seen[stream+d.ID] = true
		entries.row(cell{stream, plain}, cell{d.ID, dim}, cell{bodyText(&d.Entry), plain})
	}
	if len(entries.rows) == 0 {
		return b
	}
	return appendPart(b, p, entries)
}

// deliveryDetail says what there is to say beside an outcome. An error that was
// told in a row above is not repeated.
func deliveryDetail(d *testrun.Delivery, told map[string]bool) string {
	var parts []string
	if d.Attempt > 1 {
		parts = append(parts, "attempt "+strconv.Itoa(d.Attempt)+" of "+strconv.Itoa(d.Subscription.Retry.MaxAttempts))
	}
	if d.Elapsed > 0 {
		parts = append(parts, "took "+Duration(d.Elapsed))
	}
	if fate := deliveryFate(d, told); fate != "" {
		parts = append(parts, fate)
	}
	return strings.Join(parts, ", ")
}

func deliveryFate(d *testrun.Delivery, told map[string]bool) string {
	why := deliveryWhy(d)
	if d.Error != "" && told[why] {
		why = "the same error"
	}
	told[why] = true
	switch result := observe.Result(d.Outcome); {
	case result == harness.Crashed && d.Said == "":
		return "the worker died before the handler returned"
	case result == harness.Crashed:
		return join("the worker died; the handler had said "+d.Said+", which is not written", why)
	case result == harness.Running:
		return "the handler has not returned"
	case result == harness.Unsettled:
		return join("the handler said "+d.Said+", which is not written yet", why)
	case result == observe.ResultStale:
		return "taken over by another worker meanwhile; nothing was written"
	case result == observe.ResultForeignRetry:
		return "a copy made by another group's retry"
	case d.Dead:
		return join("to "+deadLetterOf(d.Subscription), why)
	case d.HasAfter:
		return join("again in "+Duration(d.After), why)
	case result == observe.ResultRetry:
		return join(bareRetry(d.Subscription), why)
	}
	for i := range d.Replies {
		why = strings.TrimSpace(why + " " + replyText(&d.Replies[i]))
	}
	return why
}

// deliveryWhy is the error, without the id that the row shows, or the handler's
// own word.
func deliveryWhy(d *testrun.Delivery) string {
	if d.Error == "" {
		return d.Reason
	}
	return strings.ReplaceAll(d.Error, ", entry "+d.ID+")", ")")
}

func deadLetterOf(s *spec.Subscription) string {
	if s.Group.DeadLetter == nil {
		return "the dead letters"
	}
	return s.Group.DeadLetter.Label
}

func replyText(r *testspec.Reply) string { return "→ " + r.Stream + " " + bodyText(&r.Body) }

// bodyText is a body in one line that is not too long.
func bodyText(v *value.Value) string {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		return size(int64(len(v.Text())))
	}
	return fit(clean(string(text)), maxDetail)
}

// pendingDetail says when an entry comes back, and why it waits where no
// delivery says so.
func pendingDetail(t *testrun.Trace, e *testrun.Pending) string {
	why := e.Why
	for i := range t.Deliveries {
		if d := &t.Deliveries[i]; d.ID == e.ID && (d.Error == why || d.Reason == why) {
			why = ""
		}
	}
	if !e.HasDue {
		return why
	}
	return join("not before "+Duration(e.Due), why)
}

func appendTestLogs(b []byte, p paint, t *testrun.Trace) []byte {
	rows := &table{head: []string{"logged at", "", "", "", ""}, right: map[int]bool{}}
	styles := map[string]style{"warn": yellow, "error": red}
	for i := range t.Deliveries {
		d := &t.Deliveries[i]
		for _, l := range d.Logs {
			words := []string{l.Message}
			for _, f := range l.Fields {
				words = append(words, f.Name+"="+f.Value)
			}
			text := strings.Join(words, "  ")
			rows.row(cell{Duration(d.At), plain}, cell{d.Subscription.Label, plain}, cell{d.ID, dim},
				cell{l.Level, styles[l.Level]}, cell{fit(clean(text), maxDetail), plain})
		}
	}
	if len(rows.rows) == 0 {
		return b
	}
	return appendPart(b, p, rows)
}
