package engine

import (
	"strconv"
	"strings"
)

// CodeClaimingRead is the code of an UnsuitableError about a server without
// claiming reads.
const CodeClaimingRead = "claiming_read_unsupported"

// UnsuitableError says that the server lacks what the pipeline asks for. Nothing
// was created or read.
type UnsuitableError struct {
	// Code is stable, for tests and tools.
	Code         string
	Subscription string
	Message      string
}

// Error is the message.
func (e *UnsuitableError) Error() string { return e.Message }

// Failed is a subscription that ended for good, and why.
type Failed struct {
	Subscription string
	Err          error
}

// FailedError says that every subscription failed for good. Their entries stay
// pending or undelivered.
type FailedError struct{ Failed []Failed }

// Error names each subscription with its reason.
func (e *FailedError) Error() string {
	parts := make([]string, len(e.Failed))
	for i, f := range e.Failed {
		parts[i] = f.Subscription + ": " + f.Err.Error()
	}
	return "every subscription failed: " + strings.Join(parts, "; ")
}

// Unwrap are the reasons.
func (e *FailedError) Unwrap() []error {
	errs := make([]error, len(e.Failed))
	for i, f := range e.Failed {
		errs[i] = f.Err
	}
	return errs
}

// Left is how many entries of a subscription were in flight and not settled.
type Left struct {
	Subscription string
	Count        int
}

// LeftError says that the engine stopped before everything in flight was
// settled. Those entries stay pending: whoever claims them next runs them again.
type LeftError struct{ Left []Left }

// Error names each subscription with its count.
func (e *LeftError) Error() string {
	parts := make([]string, len(e.Left))
	for i, l := range e.Left {
		parts[i] = l.Subscription + " left " + strconv.Itoa(l.Count) + " pending"
	}
	return "stopped before everything in flight was settled: " + strings.Join(parts, ", ")
}
