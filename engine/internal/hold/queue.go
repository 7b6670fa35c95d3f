package hold

import (
	"slices"

	"pipeline/engine/broker"
)

// state is what is being done with an entry of a closed key.
type state uint8

const (
	// unsettled: it was decided that it waits, which is not written yet.
	unsettled state = iota
	// waiting: it is pending here, and can be fetched when it is the first one
	// and due.
	waiting
	// flying: it was let go, and is on its way to its worker or with it.
	flying
	// finished: it came to an outcome that is not written yet.
	finished
)

// entry is one entry of a closed key.
type entry struct {
	id broker.ID
	// due is when it may run, in nanoseconds since Keys.began; 0 for at once.
	due   int64
	state state
	// retried: it ran already and has to be settled before others run. Others
	// may follow each other as soon as they have run.
	retried bool
	// counted: the server counts deliveries of it, beside the present one.
	counted bool
}

// queue are the entries of one key, by id.
type queue struct {
	key     string
	entries []entry
	// burst is how many are let go at once. It grows while they go through:
	// behind one that fails the others were fetched in vain.
	burst int
	// index is the place in the wake heap, -1 for none.
	index int
	// trails: it is among Keys.trailed.
	trails bool
}

// maxBurst bounds what is let go of one key at once, so that others get their
// turn.
const maxBurst = 64

// find is the place of an entry, or where it would be.
func (q *queue) find(id broker.ID) (at int, known bool) {
	if n := len(q.entries); n > 0 && q.entries[n-1].id.Compare(id) < 0 {
		return n, false // the usual case: it is the latest
	}
	return slices.BinarySearchFunc(q.entries, id, func(e entry, id broker.ID) int { return e.id.Compare(id) })
}

// blocks reports whether the entry with that place must not run: it waits
// itself, or one before it does.
func (q *queue) blocks(at int, known bool) bool {
	if known && q.entries[at].state != flying {
		return true
	}
	return slices.ContainsFunc(q.entries[:at], func(e entry) bool { return e.state != finished || e.retried })
}

// due is when the first entry may run.
func (q *queue) due() int64 { return q.entries[0].due }

// release lets entries go from the front: one that has waited for its time
// alone, others together.
func (q *queue) release(ids []broker.ID, n int, now int64) []broker.ID {
	n = min(n, q.burst)
	q.burst = min(2*q.burst, maxBurst)
	for i := range q.entries {
		e := &q.entries[i]
		if n == 0 || e.state != waiting || e.due > now || i > 0 && e.retried {
			break
		}
		e.state = flying
		ids = append(ids, e.id)
		if n--; e.retried {
			break
		}
	}
	return ids
}

// waits reports whether all entries wait.
func (q *queue) waits() bool {
	return !slices.ContainsFunc(q.entries, func(e entry) bool { return e.state != waiting })
}

// wakeHeap are queues by when their first entry may run.
type wakeHeap []*queue

func (h wakeHeap) first() (due int64, ok bool) {
	if len(h) == 0 {
		return 0, false
	}
	return h[0].due(), true
}

func (h wakeHeap) Len() int { return len(h) }
func (h wakeHeap) Less(i, j int) bool {
	if h[i].due() != h[j].due() {
		return h[i].due() < h[j].due()
	}
	return h[i].entries[0].id.Compare(h[j].entries[0].id) < 0
}

func (h wakeHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *wakeHeap) Push(x any) {
	q := x.(*queue)
	q.index = len(*h)
	*h = append(*h, q)
}

func (h *wakeHeap) Pop() any {
	old := *h
	last := old[len(old)-1]
	old[len(old)-1] = nil
	last.index = -1
	*h = old[:len(old)-1]
	return last
}
