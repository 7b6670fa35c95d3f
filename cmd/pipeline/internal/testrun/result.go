package testrun

import (
	"time"

	"pipeline/lang/testspec"
)

// Status is what became of a test.
type Status string

// The statuses.
const (
	Pass Status = "pass"
	// Fail: an assert does not hold.
	Fail Status = "fail"
	// Error: the test could not be carried out.
	Error Status = "error"
	// Skip: the test was not run.
	Skip Status = "skip"
)

// Result is what became of one test.
type Result struct {
	Test   *testspec.Test
	Status Status
	// Problems say, a line each, what is wrong beside the asserts: in what the
	// error is not the expected one, why the test could not be carried out, why
	// it was not run.
	Problems []string
	// Step is where the test ended before its last step was done; nil when all
	// were run.
	Step *testspec.Step
	// NotRun are the steps after it.
	NotRun []*testspec.Step
	// Asserts are those that do not hold, in file order.
	Asserts []Assert
	// Checked is how many asserts were checked.
	Checked int
	// Trace is what led there; nil when the test passed or never began.
	Trace *Trace
	// Took is real time.
	Took time.Duration
}

// Assert is an assert that does not hold.
type Assert struct {
	Step *testspec.Step
	testspec.Result
}

// Summary counts results.
type Summary struct {
	Tests, Passed, Failed, Errors, Skipped int
}

// Add counts a result.
func (s *Summary) Add(r *Result) {
	s.Tests++
	switch r.Status {
	case Pass:
		s.Passed++
	case Fail:
		s.Failed++
	case Error:
		s.Errors++
	case Skip:
		s.Skipped++
	}
}

// OK reports whether all that was run passed.
func (s *Summary) OK() bool { return s.Failed == 0 && s.Errors == 0 }
