// Package batch holds entries between the read that brought them and the
// settlement that ends them. A batch is what one read brought; its items are
// worked on in place, by one goroutine after another, so that nothing is
// allocated or handed over for a single entry.
package batch

import (
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
)

// Item is one delivery on its way. The reader fills in the first part, a lane
// the second; between the hand-overs only the atomics are touched by others.
//
// There are as many of them as the consumer holds, queued, and each is touched
// several times on its way: so it has what most entries need, and what few need
// is behind a pointer. TestAnItemStaysSmall bounds it.
type Item struct {
	Delivery broker.Delivery
	// Key chooses the lane.
	Key string
	// Body is the decoded body, valid when Invalid is nil.
	Body codec.Body
	// Invalid says why the entry cannot be run.
	Invalid error
	// Mark is the key that is marked when the entry is settled; empty for none.
	Mark string
	// Marked is the mark that was found before the run: the entry is a duplicate.
	Marked *broker.Mark
	// Past is what is on record of an entry that was delivered before; nil for
	// nothing.
	Past *Past
	// Used is how many attempts were used up before this delivery.
	Used int
	// Exhausted: the attempts were used up before this delivery.
	Exhausted bool
	// Waited: it was put back, or kept here, until a time that has come.
	Waited bool
	// Alone: its last delivery came to no outcome, perhaps because its process died
	// of it. It runs beside no other such entry, until its outcome is written.
	Alone bool
	// Foreign: a copy that another group's retry made.
	Foreign bool
	// Unasked: whether the key is marked could not be found out, so that the entry
	// must not run.
	Unasked bool

	// Action and Outcome are what the lane decided.
	Action  Action
	Outcome Outcome
	// Span is of the attempt, from its beginning on; nil where no spans are made.
	Span observe.Span

	state atomic.Uint32
	lease atomic.Uint32
}

// Past is what is on record of an entry that was delivered before.
type Past struct {
	// Error is the last one.
	Error string
	// First is when the entry was first delivered; zero where that is not known.
	First time.Time
}

// State is how far an item has come.
type State uint32

// The states, in order.
const (
	Queued State = iota
	Running
	Finished
	Settled
)

// State is how far the item has come. Safe for concurrent use.
func (it *Item) State() State { return State(it.state.Load()) }

// SetState moves the item on.
func (it *Item) SetState(s State) { it.state.Store(uint32(s)) }

// Lease is what is known of the right to work on an item.
type Lease uint32

// The leases.
const (
	// Ours: the entry is pending under this consumer.
	Ours Lease = iota
	// Taken: it is pending under another one; nothing of it is published.
	Taken
	// BodyGone: it was trimmed while it ran and is no longer pending.
	BodyGone
	// Replaced: its id names another entry now. Nothing of it is written.
	Replaced
)

// Lease is what is known of the item's lease. Safe for concurrent use.
func (it *Item) Lease() Lease { return Lease(it.lease.Load()) }

// SetLease records that the lease is lost, and how.
func (it *Item) SetLease(l Lease) { it.lease.Store(uint32(l)) }

// Verb is what the settler does with a finished item.
type Verb uint8

// The verbs.
const (
	// Leave does nothing: the entry stays pending as it is.
	Leave Verb = iota
	// Ack acknowledges, unfenced.
	Ack
	// Step publishes and acknowledges in one fenced step.
	Step
	// Wait puts the entry back to come later.
	Wait
	// Release hands an entry back that was never started.
	Release
	// Stop leaves the entry pending and ends the subscription.
	Stop
	// Behind keeps the entry, which was not started, behind an earlier one of its
	// key that waits here: see package hold.
	Behind
)

// Action is what the settler does with a finished item.
type Action struct {
	// Publish belongs to Step.
	Publish []broker.Add
	// Wait belongs to Wait and Behind, which few entries come to; nil for others.
	Wait *broker.Wait
	Verb Verb
	// Mark belongs to Step: the entry's key is marked with it.
	Mark bool
	// Park belongs to Wait: this consumer runs the entry again itself when it is due.
	// Keep: so it does, and keeps the entry meanwhile, so that nobody else runs later
	// ones of its key before it.
	Park bool
	Keep bool
	// Unwritten belongs to a Wait that hands an entry back because what it came to
	// could not be written.
	Unwritten bool
}

// Redelivered reports whether the entry was delivered before, so that there
// may be a record of it.
func (it *Item) Redelivered() bool { return it.Delivery.Deliveries > 0 }

// renewable reports whether the item's lease is to be renewed. The action may
// be read once the item is finished.
func (it *Item) renewable() bool {
	switch it.State() {
	case Settled:
		return false
	case Finished:
		return it.Lease() == Ours && (it.Action.Verb != Wait || it.Action.Keep) && it.Action.Verb != Release
	}
	return it.Lease() == Ours
}
