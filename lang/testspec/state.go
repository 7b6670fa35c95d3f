package testspec

import (
	"time"

	"pipeline/engine/value"
)

// State is what asserts look at: all that was seen since the test began. Labels
// that are not in the maps have seen nothing, as those of disabled subscriptions.
type State struct {
	// Subscriptions, Streams and Groups are by label.
	Subscriptions map[string]Subscription
	Streams       map[string]Stream
	Groups        map[string]Group
}

// Subscription is what a subscription has done.
type Subscription struct {
	// Calls are its deliveries, in the order in which they were made.
	Calls []Call
}

// Call is one delivery of one entry and what became of it.
type Call struct {
	ID string
	// Consumer is the name on the server of who it was delivered to.
	Consumer string
	// Deliveries is how often it was delivered before; Attempt is 1 for the first.
	Deliveries int64
	Attempt    int
	// Entry is the decoded body; Decoded: it has one.
	Entry   value.Value
	Decoded bool
	Headers []Field
	// Key is the key by which it was put in order.
	Key string
	// Outcome is ack, retry, reply, dead, drop, failed, invalid, and the rarer
	// ones that Outcomes lists.
	Outcome string
	// Dead: it went to the dead-letter stream.
	Dead bool
	// Replies are what was published for it.
	Replies []Reply
	// After is how long it waits at least, when HasAfter.
	After    time.Duration
	HasAfter bool
	// Reason is the handler's own word; Error says what went wrong, and Kind
	// which kind of failure that is.
	Reason, Error, Kind string
	Logs                []LogLine
	// Elapsed is how long the handler took, in the test's time; At is when it was
	// called, since the start of the test.
	Elapsed, At time.Duration
}

// Reply is one published message.
type Reply struct {
	// Stream is the label of the stream.
	Stream  string
	Body    value.Value
	Key     string
	Headers []Field
}

// LogLine is what a handler logged.
type LogLine struct {
	Level, Message string
	Fields         []Field
}

// Stream is what is in a stream now.
type Stream struct {
	// Entries are by id.
	Entries []Entry
}

// Entry is one entry of a stream.
type Entry struct {
	ID string
	// Value is the decoded body; Decoded: it has one.
	Value   value.Value
	Decoded bool
	Headers []Field
	// Key is its partition key.
	Key string
	// Letter is what a dead letter says of its entry, nil for other entries.
	Letter *Letter
}

// Letter is what a dead letter says.
type Letter struct {
	// Reason is why: failed, invalid, too_large, rejected, expired,
	// body_missing.
	Reason, Error string
	// Stream and Group are names on the server, ID the id of the entry.
	Stream, ID, Group string
	// Subscription is the label.
	Subscription, Consumer string
	Attempts               int
}

// Group is what is pending in a group now.
type Group struct {
	// Pending are by id.
	Pending []Pending
	// DeadLetters are the letters that the group has sent, by id, wherever they
	// went.
	DeadLetters []Entry
}

// Pending is one pending entry.
type Pending struct {
	ID, Consumer string
	// Deliveries includes the current one, as XPENDING's does.
	Deliveries int64
	// Idle is how long it has been untouched.
	Idle time.Duration
}

// Outcomes are all values of Call.Outcome.
func Outcomes() []string {
	return []string{
		"ack", "retry", "reply", "dead", "drop", "failed", "invalid",
		"duplicate", "foreign_retry", "stale", "running", "unsettled", "crashed", "canceled",
	}
}
