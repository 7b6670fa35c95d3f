package broker

import (
	"slices"
	"time"
)

// Marks name where the keys of settled entries are remembered, beside a group,
// and for how long. The zero Marks are none.
type Marks struct {
	// Set tells kinds of keys apart that must not be taken for each other: 7 as
	// an order's number and 7 as a customer's. Each has a memory of its own.
	Set string
	// Window is how long a key is remembered after it was marked, in whole
	// milliseconds of the server's clock, at least one: a key that was marked at
	// t is marked until before t + Window. All who use a set must use one
	// window; the shortest of several decides when marks are forgotten.
	Window time.Duration
}

// Mark is what is remembered of a key: the entry whose outcome was written with
// it, and when, by the server's clock. The zero Mark is that of a key that is not
// marked.
type Mark struct {
	By ID
	At time.Time
}

// Found reports whether the key is marked. It may be called on nil.
func (m *Mark) Found() bool { return m != nil && !m.At.IsZero() }

// MaxMarkedFields is how many fields a message of a step with a key may have: no
// server can write more of them in one step together with a mark.
const MaxMarkedFields = 2450

// MarkedRequest asks for marks.
type MarkedRequest struct {
	Stream, Group string
	Marks
	// Keys are not empty; one may come twice.
	Keys []string
}

// Check refuses what no broker can look up.
func (r *MarkedRequest) Check() error {
	if slices.Contains(r.Keys, "") {
		return errKey
	}
	return r.check()
}

// Check refuses steps with keys that no broker can mark, and reports whether any
// step has a key.
func (s *Settlement) Check() (marks bool, err error) {
	for i := range s.Steps {
		switch {
		case s.Steps[i].Mark != "":
			marks = true
		case s.Steps[i].Gone:
			return false, errGone
		}
	}
	if marks {
		err = s.Marks.check()
	}
	return marks, err
}

func (m *Marks) check() error {
	if m.Set == "" || m.Window < time.Millisecond {
		return errMarks
	}
	return nil
}

var (
	errKey   = &Error{Detail: "a key that is to be looked up must not be empty"}
	errGone  = &Error{Detail: "a step without a fence needs a key"}
	errMarks = &Error{Detail: "marks need a set and a window of at least 1 ms"}
)

// Wide reports whether the step has a key and a message with more fields than
// can be written beside a mark; to is the message's stream.
func (s *Step) Wide() (to string, wide bool) {
	if s.Mark == "" {
		return "", false
	}
	for i := range s.Publish {
		if len(s.Publish[i].Fields) > MaxMarkedFields {
			return s.Publish[i].Stream, true
		}
	}
	return "", false
}

// TooWide is the result of such a step.
func TooWide(to string) StepResult {
	return StepResult{Status: Refused, Err: &Error{
		Op: "publish", Stream: to, Kind: ErrUnsupported, Detail: "a message of more than 2450 fields cannot be written together with a mark",
	}}
}
