package retry

import (
	"container/heap"
	"sync"
	"time"

	"pipeline/engine/broker"
)

// Parked are entries that wait in this consumer's own pending list, by when
// they are due: an id and a time each. It is safe for
// concurrent use.
type Parked struct {
	mu   sync.Mutex
	heap parkedHeap
	ids  map[broker.ID]struct{}
	// sooner is called when an entry became the first one due.
	sooner func()
}

type parked struct {
	id  broker.ID
	due time.Time
}

// NewParked returns an empty set.
func NewParked() *Parked {
	return &Parked{ids: make(map[broker.ID]struct{}), sooner: func() {}}
}

// OnSooner has f called whenever an entry became the first one due. f must not
// block. Call it before anything is parked.
func (p *Parked) OnSooner(f func()) { p.sooner = f }

// Add parks an entry until due.
func (p *Parked) Add(id broker.ID, due time.Time) {
	p.mu.Lock()
	heap.Push(&p.heap, parked{id, due})
	p.ids[id] = struct{}{}
	first := p.heap[0].id == id
	p.mu.Unlock()
	if first {
		p.sooner()
	}
}

// Next is when the first entry is due.
func (p *Parked) Next() (due time.Time, ok bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.heap) == 0 {
		return time.Time{}, false
	}
	return p.heap[0].due, true
}

// Take removes and returns up to n entries that are due at now.
func (p *Parked) Take(now time.Time, n int) []broker.ID {
	p.mu.Lock()
	defer p.mu.Unlock()
	var ids []broker.ID
	for len(ids) < n && len(p.heap) > 0 && !p.heap[0].due.After(now) {
		id := heap.Pop(&p.heap).(parked).id
		delete(p.ids, id)
		ids = append(ids, id)
	}
	return ids
}

// Contains reports whether the entry is parked.
func (p *Parked) Contains(id broker.ID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	_, ok := p.ids[id]
	return ok
}

// Len is how many entries are parked.
func (p *Parked) Len() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return len(p.heap)
}

type parkedHeap []parked

func (h parkedHeap) Len() int           { return len(h) }
func (h parkedHeap) Less(i, j int) bool { return h[i].due.Before(h[j].due) }
func (h parkedHeap) Swap(i, j int)      { h[i], h[j] = h[j], h[i] }
func (h *parkedHeap) Push(x any)        { *h = append(*h, x.(parked)) }
func (h *parkedHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	*h = old[:len(old)-1]
	return last
}
