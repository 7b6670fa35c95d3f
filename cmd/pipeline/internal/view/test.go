package view

import (
	"strings"

	"pipeline/cmd/pipeline/internal/testrun"
)

// Tests prints the results of tests. Nothing of it depends on the machine, so
// that two runs can be compared. It is used by one goroutine.
type Tests struct {
	v *View
	// server is where they run; empty for memory.
	server string
	// apart: an empty line was printed last.
	apart bool
}

// Tests returns the view of a run of tests on a server, as in "redis 8.6.3";
// empty is one in memory.
func (v *View) Tests(server string) *Tests { return &Tests{v: v, server: server} }

// Result prints the result of a test: a line, and below it what there is to say
// about one that did not pass.
func (t *Tests) Result(r *testrun.Result) {
	if t.v.o.JSON {
		t.v.testJSON(r)
		return
	}
	t.v.write(appendTest(nil, paint(t.v.o.Color), r))
	t.apart = r.Status == testrun.Fail || r.Status == testrun.Error
}

// statusStyles are the colours of statuses.
var statusStyles = map[testrun.Status]style{
	testrun.Pass: green, testrun.Fail: red, testrun.Error: red, testrun.Skip: yellow,
}

// statusWidth is the width of the longest status.
const statusWidth = len("error")

func appendTest(b []byte, p paint, r *testrun.Result) []byte {
	b = p.pad(b, statusStyles[r.Status], string(r.Status), statusWidth+gap)
	b = p.append(b, plain, clean(r.Test.Name))
	if r.Status == testrun.Skip {
		b = append(b, clean(": "+strings.Join(r.Problems, "; "))...)
		return append(b, '\n')
	}
	b = append(b, '\n')
	if r.Status == testrun.Pass {
		return b
	}
	return append(appendTestDetails(b, p, r), '\n')
}

// The columns at which the parts of a failure begin.
const (
	testIndent = 2
	partIndent = 4
)

// appendTestDetails says why a test did not pass, and what led there.
func appendTestDetails(b []byte, p paint, r *testrun.Result) []byte {
	if len(r.Problems) > 0 {
		b = appendSpaces(b, testIndent)
		b = append(p.append(b, bold, testPlace(r)), ":\n"...)
		b = appendLines(b, r.Problems)
	}
	for i := range r.Asserts {
		b = appendAssert(b, p, &r.Asserts[i])
	}
	if r.Trace != nil {
		b = appendTrace(b, p, r.Trace)
	}
	for _, s := range r.NotRun {
		b = appendSpaces(b, testIndent)
		b = append(b, clean("not run: step \""+s.Name+"\"")...)
		b = append(b, '\n')
	}
	return b
}

// testPlace is where the test stands, or the step that it ended in.
func testPlace(r *testrun.Result) string {
	if r.Step != nil {
		return clean(at(r.Step.Pos) + ", step \"" + r.Step.Name + "\"")
	}
	return clean(at(r.Test.Pos))
}

func appendAssert(b []byte, p paint, a *testrun.Assert) []byte {
	b = appendSpaces(b, testIndent)
	b = p.append(b, bold, place(a.Range)+clean(", step \""+a.Step.Name+"\""))
	b = append(b, ":\n"...)
	for line := range strings.Lines(a.Condition) {
		b = appendSpaces(b, partIndent)
		b = p.append(b, red, clean(strings.TrimRight(line, "\r\n")))
		b = append(b, '\n')
	}
	return appendLines(b, a.Lines())
}

// appendLines prints lines as a part of a failure.
func appendLines(b []byte, lines []string) []byte {
	for _, line := range lines {
		b = appendSpaces(b, partIndent)
		b = append(append(b, clean(line)...), '\n')
	}
	return b
}

// Summary prints the counts at the end. Unselected is how many tests --run has
// left out.
func (t *Tests) Summary(s testrun.Summary, unselected int) {
	if t.v.o.JSON {
		t.v.event(struct {
			Event      string `json:"event"`
			Tests      int    `json:"tests"`
			Passed     int    `json:"passed"`
			Failed     int    `json:"failed"`
			Errors     int    `json:"errors"`
			Skipped    int    `json:"skipped"`
			Unselected int    `json:"unselected"`
			Server     string `json:"server,omitempty"`
		}{"summary", s.Tests, s.Passed, s.Failed, s.Errors, s.Skipped, unselected, t.server})
		return
	}
	text := testCounts(paint(t.v.o.Color), s, unselected)
	if t.server != "" {
		text += ", on " + clean(t.server)
	}
	text += "\n"
	if !t.apart {
		text = "\n" + text
	}
	t.v.write([]byte(text))
}

func testCounts(p paint, s testrun.Summary, unselected int) string {
	parts := []string{}
	add := func(n int, st style, word string) {
		if n > 0 {
			parts = append(parts, p.text(st, number(int64(n))+" "+word))
		}
	}
	add(s.Passed, green, "passed")
	add(s.Failed, red, "failed")
	if s.Errors > 0 {
		parts = append(parts, p.text(red, count(int64(s.Errors), "error", "errors")))
	}
	add(s.Skipped, yellow, "not run")
	text := count(int64(s.Tests), "test", "tests") + ": " + strings.Join(parts, ", ")
	if unselected > 0 {
		text += " (" + number(int64(unselected)) + " more left out by --run)"
	}
	return text
}
