// Package outcome is the closed set of what a handler can say about one
// delivery of one entry. Handlers, the engine, dry-runs and tests all speak
// it; nothing else decides an entry's fate.
package outcome

import (
	"time"

	"pipeline/engine/value"
)

// Kind is which outcome it is.
type Kind uint8

// The outcomes. The zero Kind is None, which the engine treats as a failed
// attempt: an outcome that nobody set must never acknowledge an entry.
const (
	// None is no outcome.
	None Kind = iota
	// Ack: the entry is done.
	Ack
	// Retry: the entry waits and comes back. Asked for by the handler, it is
	// waiting, not failing, and costs no attempt.
	Retry
	// Dead: the entry is moved to the dead-letter stream with the reason.
	Dead
	// Drop: the entry is acknowledged and counted apart from Ack.
	Drop
	// Reply: the replies are published and the entry acknowledged in one step.
	Reply
	// Failed: an error, a limit or a crash of the handler; a failed attempt.
	Failed
)

// String is the outcome's name as users read it.
func (k Kind) String() string {
	switch k {
	case Ack:
		return "ack"
	case Retry:
		return "retry"
	case Dead:
		return "dead"
	case Drop:
		return "drop"
	case Reply:
		return "reply"
	case Failed:
		return "failed"
	}
	return "none"
}

// Outcome is what one call of a handler came to. The zero Outcome is None.
type Outcome struct {
	Kind Kind
	// After is how long a Retry waits at least; HasAfter tells a wait of zero
	// from none asked for.
	After    time.Duration
	HasAfter bool
	// Reason is the handler's own word for a Retry, Dead or Drop; may be empty.
	Reason string
	// Replies are the messages of a Reply, at least one.
	Replies []Message
	// Failure says what went wrong when Kind is Failed.
	Failure *Failure
}

// Message is one reply.
type Message struct {
	// To names the route; empty means the reply block, or every route whose
	// condition holds.
	To string
	// Key is the partition key when HasKey; otherwise the engine chooses.
	Key    string
	HasKey bool
	// Headers are added to the reply, in order.
	Headers []Header
	// Body is the reply's body.
	Body value.Value
}

// Header is one header of a message. It is the same type as the field of an
// entry, so that slices of them need no copying.
type Header = struct{ Name, Value string }

// FailureKind tells failures apart in metrics and messages. The set is closed
// and its names are stable.
type FailureKind string

// The kinds of failures.
const (
	// FailError: the handler raised an error.
	FailError FailureKind = "error"
	// FailResult: the handler returned nothing, or something that is no outcome.
	FailResult FailureKind = "result"
	// FailTimeout: the time limit was reached.
	FailTimeout FailureKind = "timeout"
	// FailInstructions: the instruction limit was reached.
	FailInstructions FailureKind = "instructions"
	// FailMemory: the memory limit was reached.
	FailMemory FailureKind = "memory"
	// FailCrash: the handler broke its engine (a trap, a panic of the VM); its
	// instance was thrown away.
	FailCrash FailureKind = "crash"
	// FailNoRoute: a value was returned and no route's condition held.
	FailNoRoute FailureKind = "no_route"
	// FailCanceled: the delivery was called off (its lease was lost, or the
	// process was stopped). It counts for nothing.
	FailCanceled FailureKind = "canceled"
)

// Failure is why an attempt failed.
type Failure struct {
	Kind FailureKind
	// Message says what happened, where in the script, and what to do.
	Message string
}

// Fail returns a Failed outcome.
func Fail(kind FailureKind, message string) Outcome {
	return Outcome{Kind: Failed, Failure: &Failure{Kind: kind, Message: message}}
}
