// Package observe is how the engine tells what it does: outcomes in batches,
// rare events one by one. Metrics, the terminal and tests implement Observer.
package observe

import (
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Observer is told what the engine does. Its methods are called from many
// goroutines, must be quick and must not block. Slices and the records in them
// are valid only during the call.
type Observer interface {
	// Settled is told of outcomes once they are written to the server, some hundred
	// of a subscription at once.
	Settled(sub *spec.Subscription, outcomes []Outcome)
	// Event is told of what happens seldom.
	Event(e Event)
}

// None observes nothing.
type None struct{}

// Settled does nothing.
func (None) Settled(*spec.Subscription, []Outcome) {}

// Event does nothing.
func (None) Event(Event) {}

// Outcome is what became of one delivery of one entry in one subscription.
type Outcome struct {
	ID broker.ID
	// Result is the name that users see: see the constants.
	Result Result
	// Replies are what was published, in order.
	Replies []Reply
	// After is how long the entry waits at least, when HasAfter. A failed
	// attempt waits by its retry policy; a bare retry until it has been idle
	// for min_idle, which is not told here.
	After    time.Duration
	HasAfter bool
	// Reason is the handler's word for a retry, dead or drop, or one of the
	// dead-letter reasons where the engine decided.
	Reason string
	// Error says why the attempt failed, or why the entry is invalid.
	Error string
	// Kind tells failures apart; empty unless the attempt failed.
	Kind outcome.FailureKind
	// Dead reports that the entry went to the dead-letter stream, whatever
	// Result says of the attempt.
	Dead bool
	// Letter is why it went there: one of the reasons of a dead letter, whatever
	// the handler called it; empty unless Dead.
	Letter string
	// Deliveries before this one, and the attempt (1 is the first).
	Deliveries int64
	Attempt    int
	// Key is the lane key.
	Key string
	// Logs are what the handler wrote. They are kept only when the engine was
	// asked to.
	Logs []sandbox.LogLine
	// Elapsed is the handler's time; 0 when it did not run. Began is when it was
	// called, zero then, and Bytes the size of the body that it was given.
	Elapsed time.Duration
	Began   time.Time
	Bytes   int
	Usage   sandbox.Usage
	// Body is the entry's decoded body, for those who have to keep its values out of
	// what they show; nil where it could not be decoded. It is only what Settled is
	// given, and valid until that returns.
	Body *value.Value
}

// Result names what became of a delivery. The set is closed, its names stable.
type Result string

// The results.
const (
	ResultAck   Result = "ack"
	ResultRetry Result = "retry"
	ResultReply Result = "reply"
	ResultDead  Result = "dead"
	ResultDrop  Result = "drop"
	// ResultFailed: the attempt failed and the entry waits, or is dead-lettered when
	// that was the last one.
	ResultFailed Result = "failed"
	// ResultInvalid: the entry could not be decoded or is too large; it never ran.
	ResultInvalid Result = "invalid"
	// ResultForeignRetry: a copy made for another group's retry; acknowledged unrun.
	ResultForeignRetry Result = "foreign_retry"
	// ResultDuplicate: an entry with the same key was settled before; it was
	// acknowledged and nothing published. Elapsed is not 0 if it ran all the same,
	// beside the other one.
	ResultDuplicate Result = "duplicate"
	// ResultStale: the entry was taken over meanwhile; nothing was written.
	ResultStale Result = "stale"
)

// Reply is one published message.
type Reply struct {
	// Stream is the key on the server.
	Stream string
	// Body is the encoded body: JSON, or the bytes of a text or bytes stream,
	// or JSON of the members of a fields stream.
	Body    string
	Codec   spec.Codec
	Key     string
	Headers []outcome.Header
}

// Event is something that happens seldom and that an operator wants to know.
type Event struct {
	Time time.Time
	// Name is one of the constants.
	Name EventName
	// Level is how much it matters.
	Level sandbox.Level
	// Subscription, Stream and Group say where; each may be empty.
	Subscription, Stream, Group string
	// Message says it for a person; Err is the error behind it, if any.
	Message string
	Err     error
	// Count is how many entries are concerned; 0 where that says nothing.
	Count int
}

// EventName names an event in logs and metrics. The names are stable.
type EventName string

// The events.
const (
	EventGroupCreated   EventName = "group.created"
	EventGroupRestored  EventName = "group.restored"
	EventServerLost     EventName = "redis.lost"
	EventServerBack     EventName = "redis.back"
	EventEviction       EventName = "redis.evicts"
	EventReading        EventName = "subscription.reading"
	EventFailed         EventName = "subscription.failed"
	EventTakenOver      EventName = "entry.taken_over"
	EventLeaseLost      EventName = "lease.lost"
	EventSlotLost       EventName = "slot.lost"
	EventStaleSettle    EventName = "entry.stale_settle"
	EventDuplicate      EventName = "entry.duplicate"
	EventBodyMissing    EventName = "entry.body_missing"
	EventSettleRefused  EventName = "settle.refused"
	EventSettleAccepted EventName = "settle.accepted"
	EventReplyTorn      EventName = "reply.torn"
	EventSettleApart    EventName = "settle.apart"
	EventDeadLettered   EventName = "entry.dead_lettered"
	EventHandlerBroken  EventName = "handler.broken"
	EventHandlerChanged EventName = "handler.changed"
	EventDraining       EventName = "engine.draining"
	EventHandedBack     EventName = "entry.handed_back"
	EventTrimRefused    EventName = "stream.trim_refused"
	EventHoldFull       EventName = "hold.full"
	EventHoldRoom       EventName = "hold.room"
	// A stream with a max_backlog is near it, at it, or has room again.
	EventBacklogSlowed EventName = "backlog.slowed"
	EventBacklogFull   EventName = "backlog.full"
	EventBacklogRoom   EventName = "backlog.room"
)
