package engine

import (
	"maps"
	"sync"

	"pipeline/engine/internal/lane"
	"pipeline/engine/observe"
)

// Snapshot is the state of an engine at one moment.
type Snapshot struct {
	// Server is what the server said of itself; empty before it was reached.
	Software, Version string
	// ServerUp is false while the server is away.
	ServerUp      bool
	Subscriptions []SubscriptionSnapshot
}

// SubscriptionSnapshot is the state of one subscription.
type SubscriptionSnapshot struct {
	Label string
	// Consumer is its name on the server, empty while it has none.
	Consumer string
	// Held entries are queued, running, or finished and not yet settled.
	Held int
	// Workers is how many there are, Busy how many of them run an entry now; both 0
	// while the subscription has no consumer. Queued entries are with a worker and
	// not finished, Deepest is the most that one worker has of them.
	Workers, Busy, Queued, Deepest int
	// Parked entries wait here for their time.
	Parked int
	// HeldBack entries wait under HeldKeys keys, in order: each key's first one
	// for its retry. Reading stops while HoldFull.
	HeldBack, HeldKeys int
	HoldFull           bool
	// Withheld entries, which Held counts too, have come to a reply that waits for
	// room in its stream.
	Withheld int
	// Settled counts outcomes by their result since the start.
	Settled map[observe.Result]int64
	// Dead counts the dead letters among them.
	Dead int64
	// Deliveries is what became of all that was delivered since the start.
	Deliveries Deliveries
	// Err is why the subscription failed for good, or nil.
	Err error
}

// Snapshot looks at the engine. It costs the server nothing.
func (e *Engine) Snapshot() Snapshot {
	snap := Snapshot{ServerUp: !e.server.Down(), Subscriptions: make([]SubscriptionSnapshot, 0, len(e.subs))}
	select {
	case <-e.ready:
		snap.Software, snap.Version = e.features.Software, e.features.Version
	default:
	}
	for _, s := range e.subs {
		sub := SubscriptionSnapshot{Label: s.spec.Label, Err: s.failure()}
		sub.Settled, sub.Dead = s.counts.get()
		sub.Deliveries = deliveries(&s.tally)
		if n := s.session.Load(); n != nil {
			sub.Consumer, sub.Held, sub.Parked = n.owner.Consumer, n.held.Count(), n.parked.Len()
			sub.HeldBack, sub.HeldKeys = n.keys.Counts()
			sub.HoldFull = n.keys.Full()
			sub.Withheld = n.settler.Withheld()
			sub.lanes(n.lanes)
		}
		snap.Subscriptions = append(snap.Subscriptions, sub)
	}
	return snap
}

// lanes looks at the workers.
func (s *SubscriptionSnapshot) lanes(lanes []*lane.Lane) {
	s.Workers = len(lanes)
	if s.Held == 0 {
		return // nothing is with a worker
	}
	for _, l := range lanes {
		depth := max(0, l.Depth())
		s.Queued += depth
		s.Deepest = max(s.Deepest, depth)
		if l.Busy() {
			s.Busy++
		}
	}
}

// Idle reports whether nothing can happen any more without new entries or the
// passing of time: every subscription waits, nothing runs and nothing is
// unsettled. waiting is the broker's own count of the reads that wait at it;
// without it, an entry that arrives at this very moment may be missed, and Idle
// is not certain.
func (e *Engine) Idle(waiting func() int) bool {
	// The conditions are looked at one after the other. They hold together if
	// nothing began or ended to wait meanwhile.
	before := e.turns()
	for _, s := range e.subs {
		n := s.session.Load()
		if s.failure() == nil && (n == nil || !n.idle()) {
			return false
		}
	}
	if waiting != nil && waiting() != e.readers() {
		return false
	}
	return e.turns() == before
}

func (e *Engine) turns() uint64 {
	var t uint64
	for _, s := range e.subs {
		if n := s.session.Load(); n != nil {
			t += n.turns()
		}
	}
	return t
}

// readers is how many reads wait at the broker while the engine is idle.
func (e *Engine) readers() int {
	readers := 0
	for _, s := range e.subs {
		if s.failure() == nil && (s.spec.Claim == nil || !s.spec.Claim.Only) && !s.paused() {
			readers++
		}
	}
	return readers
}

// counts is how many outcomes there were of each kind. It is safe for concurrent use.
type counts struct {
	mu      sync.Mutex
	results map[observe.Result]int64
	dead    int64
}

func (c *counts) add(outcomes []observe.Outcome) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.results == nil {
		c.results = make(map[observe.Result]int64)
	}
	for i := range outcomes {
		c.results[outcomes[i].Result]++
		if outcomes[i].Dead {
			c.dead++
		}
	}
}

func (c *counts) get() (map[observe.Result]int64, int64) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return maps.Clone(c.results), c.dead
}

// settled counts outcomes that were written and passes them on.
func (s *subscription) settled(outcomes []observe.Outcome) {
	if len(outcomes) == 0 {
		return
	}
	s.counts.add(outcomes)
	s.engine.cfg.Observer.Settled(s.spec, outcomes)
}
