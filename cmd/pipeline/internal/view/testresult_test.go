package view_test

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"strings"
	"testing"
	"time"

	"pipeline/cmd/pipeline/internal/testrun"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/lang/testspec"
)

// hostile is what a handler, or an entry, may hold.
const hostile = "\x1b[2J\x00\uffff\u202e]]><a b=\"c\"> \xff\r\n"

// hostileResult is a failure in which every text is hostile.
func hostileResult(deliveries int) *testrun.Result {
	stream := &spec.Stream{Label: "in"}
	group := &spec.Group{Label: "g", Stream: stream, DeadLetter: &spec.Stream{Label: "dead"}}
	sub := &spec.Subscription{Label: "s", Group: group, Retry: spec.DefaultRetry()}
	step := &testspec.Step{Name: hostile, Pos: spec.Pos{File: "p_test.hcl", Line: 2}}
	r := &testrun.Result{
		Test: &testspec.Test{
			Name: "a/" + hostile, Label: "a", Instance: hostile, Pos: spec.Pos{File: "p_test.hcl", Line: 1},
			Steps: []*testspec.Step{step, step},
		},
		Status: testrun.Fail, Step: step, NotRun: []*testspec.Step{step}, Problems: []string{hostile}, Took: 1500 * time.Millisecond,
		Asserts: []testrun.Assert{{Step: step, Result: testspec.Result{
			Condition: "1 ==\n  2 # " + hostile, Message: hostile, Problem: hostile,
		}}},
		Trace: &testrun.Trace{
			Events:  []testrun.Event{{Worker: "w", Message: hostile, Subscription: "s"}},
			Pending: []testrun.Pending{{Group: group, Why: hostile, Due: time.Second, HasDue: true}},
		},
	}
	for i := range deliveries {
		r.Trace.Deliveries = append(r.Trace.Deliveries, testrun.Delivery{Subscription: sub, Worker: "w", Call: testspec.Call{
			ID: "1-" + string(rune('0'+i%10)), Entry: value.NewString(hostile), Decoded: true, Key: hostile, Outcome: "failed",
			Error: hostile, At: time.Duration(i) * time.Second,
			Replies: []testspec.Reply{{Stream: "out", Body: value.NewString(hostile), Key: hostile}},
			Logs:    []testspec.LogLine{{Level: "info", Message: hostile, Fields: []testspec.Field{{Name: "n", Value: hostile}}}},
		}})
	}
	return r
}

// printTests prints results as a command does.
func printTests(t *testing.T, asJSON bool, results ...*testrun.Result) string {
	t.Helper()
	var out, stderr bytes.Buffer
	v := view.New(view.Options{Out: &out, Err: &stderr, JSON: asJSON})
	tests := v.Tests("")
	var sum testrun.Summary
	for _, r := range results {
		tests.Result(r)
		sum.Add(r)
	}
	tests.Summary(sum, 0)
	if err := v.Close(); err != nil || stderr.Len() > 0 {
		t.Fatalf("%v, stderr %q", err, &stderr)
	}
	return out.String()
}

// Whatever entries and handlers hold, no text moves a cursor, JSON is JSON, and
// the report is XML.
func TestHostileTestResults(t *testing.T) {
	t.Parallel()
	r := hostileResult(3)
	text := printTests(t, false, r)
	if strings.ContainsAny(text, "\x1b\x00\r\u202e") {
		t.Errorf("the text holds what it should not:\n%q", text)
	}
	for line := range strings.Lines(printTests(t, true, r)) {
		if !json.Valid([]byte(line)) {
			t.Errorf("no JSON: %q", line)
		}
	}
	report, err := view.JUnit(hostile, []*testrun.Result{r})
	if err != nil {
		t.Fatal(err)
	}
	var parsed struct {
		Failures int    `xml:"failures,attr"`
		Time     string `xml:"time,attr"`
		Suites   []struct {
			Cases []struct {
				Name    string `xml:"name,attr"`
				Failure struct {
					Message string `xml:"message,attr"`
					Text    string `xml:",chardata"`
				} `xml:"failure"`
			} `xml:"testcase"`
		} `xml:"testsuite"`
	}
	if err := xml.Unmarshal(report, &parsed); err != nil {
		t.Fatalf("%v:\n%s", err, report)
	}
	if parsed.Failures != 1 || parsed.Time != "1.500" || len(parsed.Suites) != 1 || len(parsed.Suites[0].Cases) != 1 {
		t.Fatalf("%+v", parsed)
	}
	if got := parsed.Suites[0].Cases[0].Failure.Text; !strings.Contains(got, "1 ==\n") || !strings.Contains(got, "]]>") {
		t.Errorf("the failure is\n%s", got)
	}
}

// Of many deliveries the first and the last are shown, and how many are not.
func TestManyDeliveries(t *testing.T) {
	t.Parallel()
	text := printTests(t, false, hostileResult(1000))
	if lines := strings.Count(text, "\n"); lines > 150 {
		t.Errorf("%d lines", lines)
	}
	for _, part := range []string{"… 960 rows …", "    0s   ", "    16m39s "} {
		if !strings.Contains(text, part) {
			t.Errorf("it lacks %q:\n%s", part, text)
		}
	}
}
