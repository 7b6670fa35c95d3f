package testrun

import (
	"cmp"
	"slices"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/lang/testspec"
)

// Trace is what led to a failure: what the subscriptions did that the failed
// asserts are about, in the order of time.
type Trace struct {
	Deliveries []Delivery
	Events     []Event
	Pending    []Pending
	// Hidden is how many deliveries of other subscriptions are left out.
	Hidden int
	// Workers is how many there have been.
	Workers int
	// Elapsed is how long the test has run, in its own time.
	Elapsed time.Duration
}

// Delivery is one delivery and what became of it.
type Delivery struct {
	Subscription *spec.Subscription
	Worker       string
	testspec.Call
	// Ran: the handler was called; Said is what it returned, also where nothing
	// came of it.
	Ran  bool
	Said string
}

// Event is something that happened beside the deliveries.
type Event struct {
	At time.Duration
	// Worker is whom it happened to.
	Worker string
	Name   observe.EventName
	// Subscription may be empty.
	Subscription, Message string
}

// Pending is an entry that a group waits for.
type Pending struct {
	Group *spec.Group
	testspec.Pending
	// Due is when it comes back at the earliest, in the test's time, when HasDue.
	Due    time.Duration
	HasDue bool
	// Why is the last failure, or the reason of the last retry.
	Why string
}

// eventCrashed is told by nobody: a dead worker does not speak.
const eventCrashed observe.EventName = "worker.crashed"

// quiet are the events that deliveries tell better, and those of every start.
var quiet = map[observe.EventName]bool{
	observe.EventGroupCreated: true, observe.EventReading: true, observe.EventDeadLettered: true,
	observe.EventDraining: true,
}

// trace is what led to the failure.
func (r *run) trace() *Trace {
	about := r.about()
	t := &Trace{Workers: len(r.harness.Workers()), Elapsed: r.harness.Now().Sub(r.start)}
	for _, s := range r.test.Pipeline.Subscriptions() {
		all := r.harness.Calls(s.Label)
		if !about.has(s) {
			t.Hidden += len(all)
			continue
		}
		for i := range all {
			c := &all[i]
			t.Deliveries = append(t.Deliveries, Delivery{s, c.Worker, r.call(c), c.Ran, c.Said})
		}
	}
	slices.SortStableFunc(t.Deliveries, func(a, b Delivery) int { return cmp.Compare(a.At, b.At) })
	t.Events = r.events(about)
	for _, g := range r.test.Pipeline.Groups {
		if slices.ContainsFunc(g.Subscriptions, about.has) {
			t.Pending = append(t.Pending, r.waiting(g)...)
		}
	}
	return t
}

func (r *run) events(about subject) []Event {
	var events []Event
	for _, s := range r.test.Pipeline.Subscriptions() {
		for _, c := range r.harness.Calls(s.Label) {
			if c.Outcome != harness.Crashed || slices.ContainsFunc(events, func(e Event) bool { return e.Worker == c.Worker }) {
				continue
			}
			at := c.Time.Add(c.Elapsed).Sub(r.start)
			events = append(events, Event{At: at, Worker: c.Worker, Name: eventCrashed, Message: "the worker crashed"})
		}
	}
	for _, e := range r.harness.Events() {
		if quiet[e.Name] || e.Subscription != "" && !about.named(r.test.Pipeline, e.Subscription) {
			continue
		}
		message := e.Message
		if e.Err != nil {
			message += ": " + e.Err.Error()
		}
		events = append(events, Event{e.Time.Sub(r.start), e.Worker, e.Name, e.Subscription, message})
	}
	slices.SortStableFunc(events, func(a, b Event) int { return cmp.Compare(a.At, b.At) })
	return events
}

func (r *run) waiting(g *spec.Group) []Pending {
	all := r.harness.Pending(g.Label)
	shown := pending(all)
	out := make([]Pending, len(all))
	for i, p := range all {
		out[i] = Pending{Group: g, Pending: shown[i], Why: p.Record.Error}
		if !p.Record.Due.IsZero() {
			out[i].Due, out[i].HasDue = p.Record.Due.Sub(r.start), true
		}
	}
	return out
}
