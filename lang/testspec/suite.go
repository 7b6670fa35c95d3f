package testspec

import (
	"time"

	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/lang/diag"
)

// Suite is the tests of one pipeline.
type Suite struct {
	// Pipeline is the path of the pipeline: a file or a directory.
	Pipeline string
	// Files are the test files, sorted.
	Files []string
	// Tests are in the order of the files; a test with for_each is there once
	// for each of its values.
	Tests []*Test
}

// Test is one test, ready to run.
type Test struct {
	// Name is unique in the suite: the label, and behind a slash the key of
	// for_each.
	Name string
	// Label and Instance are the parts of Name; Instance is "" without for_each.
	Label, Instance string
	Pos             spec.Pos
	// Server is the version that the broker plays, such as "8.2.0"; "" is the
	// newest one.
	Server string
	// Pipeline is the pipeline with the variables of the test. Tests with the
	// same variables share one. It is nil where it cannot be loaded: Problems
	// then says why, and Expect is set.
	Pipeline *spec.Pipeline
	Problems *diag.Report
	// Existing is in the streams before the service starts.
	Existing []Publish
	// Mocks stand in front of handlers. Several of one handler take turns: each
	// serves its Times calls, the next one follows, then the handler itself.
	Mocks []Mock
	// Steps are run in order. There is at least one, or Expect.
	Steps []*Step
	// Expect: the service must refuse to start.
	Expect *ExpectError
}

// Step is one step of a test. Everything in it happens in this order, whatever
// the order in the file.
type Step struct {
	Name string
	Pos  spec.Pos
	// Faults are armed first.
	Faults []Fault
	// Publishes are added next, in file order.
	Publishes []Publish
	// Advance is how far the clock moves then; 0 not at all.
	Advance time.Duration
	// Asserts are checked when everything is idle, in file order.
	Asserts []*Assert
}

// Publish is one entry to be added to a stream.
type Publish struct {
	// Stream is the label of the stream.
	Stream string
	// Entry is the body, to be encoded by the stream's codec. It need not be of
	// the stream's type.
	Entry value.Value
	// Raw are the fields as they are, bytes included, in the order of their
	// names. Nil: Entry is meant.
	Raw []Field
	// Key is the partition key when HasKey; else the stream's key decides.
	Key    string
	HasKey bool
	// Headers are further headers, in the order of their names, without the
	// prefix that they have on the wire.
	Headers []Field
	Pos     spec.Pos
}

// Field is a name with its value.
type Field = struct{ Name, Value string }

// The outcomes of mocks, called as handlers' outcomes are.
const (
	SaysAck    = "ack"
	SaysRetry  = "retry"
	SaysDead   = "dead"
	SaysDrop   = "drop"
	SaysReply  = "reply"
	SaysFailed = "failed"
)

// Mock is what a handler says in place of being run.
type Mock struct {
	// Handler is the label.
	Handler string
	// Times is how many calls of the test it answers, counted over all
	// subscriptions of the handler; 0 is every one.
	Times int
	// Outcome is one of the Says constants.
	Outcome string
	// After is how long a retry waits, when HasAfter.
	After    time.Duration
	HasAfter bool
	// Reason is that of a retry, a dead letter or a drop.
	Reason string
	// Error is the message of a failed attempt.
	Error string
	// Reply is the message of a reply, else nil.
	Reply *MockReply
	Pos   spec.Pos
}

// MockReply is a message that a mock replies.
type MockReply struct {
	Body value.Value
	// To names a route; "" leaves the choice to the subscription.
	To string
	// Key is the partition key when HasKey.
	Key     string
	HasKey  bool
	Headers []Field
}

// The faults.
const (
	FaultCrash      = "crash"
	FaultSlow       = "slow"
	FaultServerDown = "server_down"
	FaultLostReply  = "lost_reply"
)

// Fault is something that goes wrong, called as in package harness.
type Fault struct {
	// Kind is one of the Fault constants.
	Kind string
	// Subscription is the label of where it strikes; "" anywhere.
	Subscription string
	// At is the point: before_run, after_run, before_ack or after_ack of a
	// crash, settle or read of a lost reply; else "".
	At string
	// Nth is which of the entries that come to the point it strikes, from 1; 0 is
	// the first one, and for slow every one.
	Nth int
	// For is how long a slow handler takes, or the server is away; 0 of the
	// latter is until the next step begins.
	For time.Duration
	Pos spec.Pos
}

// ExpectError is how the service must refuse to start.
type ExpectError struct {
	// Code is the code of the error, of a diagnostic where the file itself is
	// refused.
	Code string
	// Mentions are texts that the message must contain.
	Mentions []string
	Pos      spec.Pos
}
