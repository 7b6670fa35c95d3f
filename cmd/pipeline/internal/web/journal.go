package web

import (
	"slices"
	"sync"
	"time"

	"pipeline/engine/observe"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// kept is how many events are remembered.
const kept = 1000

// Journal remembers the last events of an engine. It is an observe.Observer that
// passes everything on. It is safe for concurrent use.
type Journal struct {
	next observe.Observer

	mu   sync.Mutex
	ring []observe.Event
	at   int
}

// NewJournal returns an empty one; next is told everything.
func NewJournal(next observe.Observer) *Journal { return &Journal{next: next} }

// Settled implements observe.Observer.
func (j *Journal) Settled(s *spec.Subscription, outcomes []observe.Outcome) {
	j.next.Settled(s, outcomes)
}

// Event implements observe.Observer.
func (j *Journal) Event(e observe.Event) {
	j.mu.Lock()
	if len(j.ring) < kept {
		j.ring = append(j.ring, e)
	} else {
		j.ring[j.at] = e
		j.at = (j.at + 1) % kept
	}
	j.mu.Unlock()
	j.next.Event(e)
}

// newest are the events, the newest first.
func (j *Journal) newest() []observe.Event {
	j.mu.Lock()
	defer j.mu.Unlock()
	all := append(slices.Clone(j.ring[j.at:]), j.ring[:j.at]...)
	slices.Reverse(all)
	return all
}

// turn is when the server was lost or came back, as the poller saw it.
type turn struct {
	at time.Time
	up bool
}

// turns are those of the last hour, the newest first.
func turns(history []*poll.Point) (all []turn) {
	for i, p := range history {
		if i > 0 && p.Up != history[i-1].Up || i == 0 && !p.Up {
			all = append(all, turn{p.At, p.Up})
		}
	}
	slices.Reverse(all)
	return all
}
