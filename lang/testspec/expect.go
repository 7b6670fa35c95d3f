package testspec

import (
	"fmt"
	"strings"

	"pipeline/lang/diag"
)

// Unmet says, a line each, in what an error is not the one that is expected;
// nothing when it is. A code of "" stands for a service that started.
func (e *ExpectError) Unmet(code, message string) []string {
	if code == "" {
		return []string{fmt.Sprintf("the service started; the error %s was expected", e.Code)}
	}
	var lines []string
	if code != e.Code {
		lines = append(lines, fmt.Sprintf("the error is %s; %s was expected", code, e.Code))
	}
	for _, text := range e.Mentions {
		if !strings.Contains(message, text) {
			lines = append(lines, fmt.Sprintf("the error does not mention %q", text))
		}
	}
	if len(lines) > 0 && message != "" {
		lines = append(lines, "it says: "+message)
	}
	return lines
}

// CheckProblems compares the problems of a pipeline that cannot be loaded with
// the error that the test expects: one of them must be it. The lines say what
// there is in its place.
func (t *Test) CheckProblems() []string {
	var lines []string
	for _, d := range t.Problems.All() {
		if d.Severity != diag.Error {
			continue
		}
		unmet := t.Expect.Unmet(string(d.Code), said(d))
		if len(unmet) == 0 {
			return nil
		}
		lines = append(lines, unmet...)
	}
	return lines
}

// said is all that a diagnostic says.
func said(d diag.Diagnostic) string {
	parts := []string{d.Summary + "."}
	if d.Detail != "" {
		parts = append(parts, d.Detail)
	}
	for _, v := range d.Values {
		parts = append(parts, fmt.Sprintf("%s is %s.", v.Name, v.Value))
	}
	return strings.Join(parts, " ")
}
