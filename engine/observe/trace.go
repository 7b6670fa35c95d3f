package observe

import (
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
)

// Tracer makes a span of what is done with an entry. An engine without one makes
// none, and pays nothing for it. Its methods are called from many goroutines and
// must not block; the slices in what they are given are valid only during the call.
type Tracer interface {
	// Begin begins the span of an attempt: of the run of an entry's handler, or of
	// what is decided without a run. Entries that only wait have none. It may
	// return nil.
	Begin(a *Attempt) Span
}

// Attempt is what a span is made of when it begins.
type Attempt struct {
	Subscription *spec.Subscription
	// Consumer is the name on the server.
	Consumer string
	ID       broker.ID
	// Headers are those of the entry; the context of its producer is among them.
	Headers []outcome.Header
	// Deliveries before this one, and the number of the attempt (1 is the first).
	Deliveries int64
	Number     int
	At         time.Time
}

// Span is what is done with an entry, from the beginning of the attempt until its
// outcome is written. It is used by one goroutine after another.
type Span interface {
	// Carry returns the headers by which a reply to the stream (its key on the
	// server) carries the context on. They are the caller's.
	Carry(stream string) []outcome.Header
	// End ends the span and all below it. It is called once, or never where the
	// process stops before anything is known.
	End(e *Ending)
}

// Ending is how the span of an attempt ends.
type Ending struct {
	// Outcome is as it was written. Its Result is empty where nothing was to be: the
	// attempt was called off, or could not be written before the process stopped.
	Outcome *Outcome
	// Publish are the messages that were written with it: replies, a dead letter, a
	// copy. It is empty where they were not written.
	Publish []broker.Add
	// Sent is when the outcome was sent first, Written when the answer had come.
	Sent, Written time.Time
}
