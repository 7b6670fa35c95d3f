package view

import (
	"encoding/xml"
	"fmt"
	"path"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf8"

	"pipeline/cmd/pipeline/internal/testrun"
)

// The elements of JUnit's XML that its readers agree on.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Name    string   `xml:"name,attr"`
		junitCounts
		Suites []*junitSuite `xml:"testsuite"`
	}
	junitSuite struct {
		Name string `xml:"name,attr"`
		File string `xml:"file,attr"`
		junitCounts
		Cases []junitCase `xml:"testcase"`
	}
	junitCase struct {
		Name      string        `xml:"name,attr"`
		ClassName string        `xml:"classname,attr"`
		File      string        `xml:"file,attr"`
		Line      int           `xml:"line,attr"`
		Time      string        `xml:"time,attr"`
		Failure   *junitProblem `xml:"failure"`
		Error     *junitProblem `xml:"error"`
		Skipped   *junitProblem `xml:"skipped"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr,omitempty"`
		Text    string `xml:",cdata"`
	}
	junitCounts struct {
		Tests    int    `xml:"tests,attr"`
		Failures int    `xml:"failures,attr"`
		Errors   int    `xml:"errors,attr"`
		Skipped  int    `xml:"skipped,attr"`
		Time     string `xml:"time,attr"`

		summary testrun.Summary
		took    time.Duration
	}
)

// JUnit is a report for continuous integration: a suite a test file, and in each
// test that did not pass what the text says of it. Times are real ones, the
// only place where they are told.
func JUnit(pipeline string, results []*testrun.Result) ([]byte, error) {
	all := junitSuites{Name: "pipeline test " + pipeline}
	for _, r := range results {
		all.suite(r.Test.Pos.File).test(r)
		all.add(r)
	}
	text, err := xml.MarshalIndent(&all, "", "  ")
	if err != nil {
		return nil, fmt.Errorf("write the JUnit report: %w", err)
	}
	return append(append([]byte(xml.Header), text...), '\n'), nil
}

// suite is the suite of a file.
func (s *junitSuites) suite(file string) *junitSuite {
	i := slices.IndexFunc(s.Suites, func(s *junitSuite) bool { return s.File == file })
	if i < 0 {
		i = len(s.Suites)
		s.Suites = append(s.Suites, &junitSuite{Name: strings.TrimSuffix(path.Base(file), ".hcl"), File: file})
	}
	return s.Suites[i]
}

func (s *junitSuite) test(r *testrun.Result) {
	s.add(r)
	c := junitCase{Name: r.Test.Name, ClassName: s.Name, File: r.Test.Pos.File, Line: r.Test.Pos.Line, Time: seconds(r.Took)}
	text := "\n" + strings.Map(inXML, string(appendTestDetails(nil, false, r)))
	switch r.Status {
	case testrun.Fail:
		c.Failure = &junitProblem{Message: headline(r), Type: "assert", Text: text}
	case testrun.Error:
		c.Error = &junitProblem{Message: headline(r), Type: "error", Text: text}
	case testrun.Skip:
		c.Skipped = &junitProblem{Message: strings.Join(r.Problems, "; ")}
	case testrun.Pass:
	}
	s.Cases = append(s.Cases, c)
}

// inXML replaces what no XML file may hold. What moves a terminal's cursor is
// replaced already.
func inXML(r rune) rune {
	if r == 0xfffe || r == 0xffff {
		return utf8.RuneError
	}
	return r
}

// headline is what a failure is in one line.
func headline(r *testrun.Result) string {
	if len(r.Asserts) > 0 {
		a := &r.Asserts[0]
		if a.Message != "" {
			return a.Message
		}
		return a.Condition
	}
	return strings.Join(r.Problems[:min(1, len(r.Problems))], "")
}

func (c *junitCounts) add(r *testrun.Result) {
	c.summary.Add(r)
	c.took += r.Took
	c.Tests, c.Failures, c.Errors, c.Skipped = c.summary.Tests, c.summary.Failed, c.summary.Errors, c.summary.Skipped
	c.Time = seconds(c.took)
}

func seconds(d time.Duration) string { return strconv.FormatFloat(d.Seconds(), 'f', 3, 64) }
