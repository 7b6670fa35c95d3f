package view

import (
	"encoding/json"

	"pipeline/cmd/pipeline/internal/testrun"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/lang/diag"
	"pipeline/lang/testspec"
)

// testJSON prints a test, and the events that belong to one that did not pass:
// its asserts, its deliveries, what is pending.
func (v *View) testJSON(r *testrun.Result) {
	step := ""
	if r.Step != nil {
		step = r.Step.Name
	}
	notRun := []string{}
	for _, s := range r.NotRun {
		notRun = append(notRun, s.Name)
	}
	v.event(struct {
		Event    string         `json:"event"`
		Name     string         `json:"name"`
		Label    string         `json:"label"`
		Instance string         `json:"instance"`
		Status   testrun.Status `json:"status"`
		File     string         `json:"file"`
		Line     int            `json:"line"`
		Steps    int            `json:"steps"`
		Asserts  int            `json:"asserts"`
		Step     string         `json:"step,omitempty"`
		NotRun   []string       `json:"not_run"`
		Problems []string       `json:"problems"`
	}{
		"test", r.Test.Name, r.Test.Label, r.Test.Instance, r.Status, r.Test.Pos.File, r.Test.Pos.Line,
		len(r.Test.Steps), r.Checked, step, notRun, append([]string{}, r.Problems...),
	})
	for i := range r.Asserts {
		v.assertJSON(r, &r.Asserts[i])
	}
	if r.Trace == nil {
		return
	}
	for i := range r.Trace.Deliveries {
		v.deliveryJSON(r, &r.Trace.Deliveries[i])
	}
	for i := range r.Trace.Pending {
		v.testPendingJSON(r, &r.Trace.Pending[i])
	}
}

// assertJSON prints an assert that does not hold. Left, right and difference
// are those of the first part that decided.
func (v *View) assertJSON(r *testrun.Result, a *testrun.Assert) {
	line := struct {
		Event      string               `json:"event"`
		Test       string               `json:"test"`
		Step       string               `json:"step"`
		File       string               `json:"file"`
		Line       int                  `json:"line"`
		Condition  string               `json:"condition"`
		Message    string               `json:"message"`
		Problem    string               `json:"problem"`
		Left       *string              `json:"left,omitempty"`
		Right      *string              `json:"right,omitempty"`
		Difference *testspec.Difference `json:"difference,omitempty"`
		Reasons    []testspec.Reason    `json:"reasons"`
		Values     []diag.Value         `json:"values"`
	}{
		Event: "assert", Test: r.Test.Name, Step: a.Step.Name, File: a.Range.File, Line: a.Range.Start.Line,
		Condition: a.Condition, Message: a.Message, Problem: a.Problem,
		Reasons: append([]testspec.Reason{}, a.Reasons...), Values: append([]diag.Value{}, a.Values...),
	}
	if len(a.Reasons) > 0 && a.Reasons[0].Left != nil && a.Reasons[0].Right != nil {
		line.Left, line.Right = &a.Reasons[0].Left.Value, &a.Reasons[0].Right.Value
		line.Difference = a.Reasons[0].Difference
	}
	v.event(line)
}

// sentJSON is a published message.
type sentJSON struct {
	Stream string          `json:"stream"`
	Body   json.RawMessage `json:"body"`
	Key    string          `json:"key"`
}

func (v *View) deliveryJSON(r *testrun.Result, d *testrun.Delivery) {
	replies := []sentJSON{}
	for i := range d.Replies {
		replies = append(replies, sentJSON{d.Replies[i].Stream, bodyJSON(&d.Replies[i].Body), d.Replies[i].Key})
	}
	v.event(struct {
		Event        string          `json:"event"`
		Test         string          `json:"test"`
		AtMS         int64           `json:"at_ms"`
		Subscription string          `json:"subscription"`
		Worker       string          `json:"worker"`
		Consumer     string          `json:"consumer"`
		ID           string          `json:"id"`
		Entry        json.RawMessage `json:"entry"`
		Key          string          `json:"key"`
		Deliveries   int64           `json:"deliveries"`
		Attempt      int             `json:"attempt"`
		Outcome      string          `json:"outcome"`
		Dead         bool            `json:"dead"`
		AfterMS      *int64          `json:"after_ms,omitempty"`
		Reason       string          `json:"reason"`
		Error        string          `json:"error"`
		Kind         string          `json:"kind"`
		Said         string          `json:"said"`
		Replies      []sentJSON      `json:"replies"`
		Logs         []logJSON       `json:"logs"`
	}{
		"delivery", r.Test.Name, d.At.Milliseconds(), d.Subscription.Label, d.Worker, d.Consumer, d.ID, bodyJSON(&d.Entry), d.Key,
		d.Deliveries, d.Attempt, d.Outcome, d.Dead, millis(d.After, d.HasAfter), d.Reason, d.Error, d.Kind, d.Said, replies, logsJSON(d.Logs),
	})
}

// bodyJSON is a body as JSON; bytes that JSON has no place for become
// replacement characters.
func bodyJSON(v *value.Value) json.RawMessage {
	text, err := value.AppendJSON(nil, v)
	if err != nil {
		text = appendString(nil, v.Text())
	}
	return text
}

type logJSON struct {
	Level   string            `json:"level"`
	Message string            `json:"message"`
	Attrs   map[string]string `json:"attrs"`
}

func logsJSON(lines []testspec.LogLine) []logJSON {
	out := []logJSON{}
	for _, l := range lines {
		attrs := map[string]string{}
		for _, f := range l.Fields {
			if _, taken := attrs[f.Name]; !taken {
				attrs[f.Name] = f.Value
			}
		}
		out = append(out, logJSON{l.Level, l.Message, attrs})
	}
	return out
}

func (v *View) testPendingJSON(r *testrun.Result, e *testrun.Pending) {
	v.event(struct {
		Event      string `json:"event"`
		Test       string `json:"test"`
		Group      string `json:"group"`
		ID         string `json:"id"`
		Consumer   string `json:"consumer"`
		Deliveries int64  `json:"deliveries"`
		IdleMS     int64  `json:"idle_ms"`
		DueMS      *int64 `json:"due_ms,omitempty"`
		Why        string `json:"why"`
	}{
		"pending", r.Test.Name, e.Group.Label, e.ID, e.Consumer, e.Deliveries, e.Idle.Milliseconds(), millis(e.Due, e.HasDue), e.Why,
	})
}

// at is a place as it is printed.
func at(p spec.Pos) string { return place(diag.Range{File: p.File, Start: diag.Pos{Line: p.Line}}) }
