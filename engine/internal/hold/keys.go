// Package hold keeps the order of a key across retries, where while_retrying
// is "hold". An entry that waits for another attempt closes its key: the later
// entries of the key are held behind it until it is settled or gone. All of
// them stay pending under this consumer, which renews them and runs them itself.
//
// Of a held entry nothing is kept but its id, under its key; it is fetched
// again when its turn comes. What the server knows of it is what it knew before
// the delivery: being held costs no attempt, even if this process dies.
//
// The way of an entry is the usual one up to its worker. There Runner asks
// whether it may run, and writes down what keeps others from running. The
// settler tells when what it decided is on the server (Keys.Settled), the
// sweeper fetches what may run again (Keys.Take), the keeper renews the rest
// (Keys.IDs).
package hold

import (
	"container/heap"
	"slices"
	"strings"
	"sync"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// DefaultLimit is how many entries are held at most where nothing else is said.
const DefaultLimit = 10000

// Keys are the closed keys of one consumer with their entries. It is safe for
// concurrent use. The methods that look may be called on nil, which holds
// nothing.
type Keys struct {
	mu    sync.Mutex
	limit int
	keys  map[string]*queue
	// ids are all entries.
	ids map[broker.ID]*queue
	// wake are the queues whose first entry waits.
	wake wakeHeap
	// trailed are queues with entries that were renewed less lately than one
	// before them: see Trailing.
	trailed []*queue
	// room is not nil while there are too many; it is closed when there is room.
	room   chan struct{}
	sooner func()
	turned func(full bool, held int)
	// began is from where the times of entries are counted.
	began time.Time
}

// NewKeys returns a set without closed keys that is full at limit entries;
// DefaultLimit when that is not positive. turned is called when it became full
// and when half of it is free again. It must not block and not call back.
func NewKeys(limit int, turned func(full bool, held int)) *Keys {
	if limit <= 0 {
		limit = DefaultLimit
	}
	return &Keys{
		limit: limit, keys: make(map[string]*queue), ids: make(map[broker.ID]*queue), sooner: func() {}, turned: turned,
	}
}

// OnSooner has f called whenever an entry can run sooner than all others that
// wait, when there is something for Trailing, and when the set is no longer full.
// f must not block. Call it before anything is held.
func (k *Keys) OnSooner(f func()) { k.sooner = f }

// update changes the set and tells who is concerned.
func (k *Keys) update(change func()) {
	k.mu.Lock()
	before, had := k.wake.first()
	trailed := len(k.trailed)
	change()
	after, has := k.wake.first()
	turned, full, held := k.measure()
	trails := len(k.trailed) > trailed
	k.mu.Unlock()
	if has && (!had || after < before) || turned && !full || trails {
		k.sooner()
	}
	if turned {
		k.turned(full, held)
	}
}

// Admits reports whether an item may run: nothing before it under its key waits.
// An item that may not run is held from now on.
func (k *Keys) Admits(it *batch.Item) bool {
	k.mu.Lock()
	open := k.keys[it.Key] == nil
	k.mu.Unlock()
	if open { // nobody else closes the key of an item that is about to run
		return true
	}
	admits := false
	k.update(func() {
		q := k.queue(it.Key)
		at, known := q.find(it.Delivery.ID)
		if admits = !q.blocks(at, known); !known {
			k.insert(q, at, entry{id: it.Delivery.ID, state: flying})
		}
		if e := &q.entries[at]; !admits {
			e.state, e.counted = unsettled, it.Delivery.Deliveries > 0
		}
		k.place(q)
	})
	return admits
}

// Ran notes what running an item came to: one that has to wait closes its key.
func (k *Keys) Ran(it *batch.Item) {
	waits := it.Action.Verb == batch.Wait || it.Action.Verb == batch.Stop
	if !waits && !k.Contains(it.Delivery.ID) {
		return
	}
	k.update(func() {
		q := k.queue(it.Key)
		at, known := q.find(it.Delivery.ID)
		if !known {
			k.insert(q, at, entry{id: it.Delivery.ID})
		}
		e := &q.entries[at]
		if e.state = finished; waits {
			e.state, e.retried, e.counted, q.burst = unsettled, true, true, 1
		}
		k.place(q)
	})
}

// Fate is what became of an item. It outlives the item.
type Fate struct {
	ID    broker.ID
	Verb  batch.Verb
	After time.Duration
	// Stale: nothing was written, the entry is no longer pending here.
	Stale bool
}

// FateOf is what became of an item that is settled.
func FateOf(it *batch.Item) Fate {
	f := Fate{ID: it.Delivery.ID, Verb: it.Action.Verb, Stale: it.Outcome.Result == observe.ResultStale}
	if it.Action.Wait != nil {
		f.After = it.Action.Wait.After
	}
	return f
}

// Settled notes what the server knows by now: entries that wait can be run again
// when their time has come, all others are gone. Batches must hold none of them
// any more: they may be fetched at once.
func (k *Keys) Settled(fates []Fate, now time.Time) {
	if k == nil || k.Count() == 0 {
		return
	}
	k.update(func() {
		for i := range fates {
			k.settled(&fates[i], now)
		}
	})
}

func (k *Keys) settled(f *Fate, now time.Time) {
	q := k.ids[f.ID]
	if q == nil {
		return
	}
	at, _ := q.find(f.ID)
	switch e := &q.entries[at]; {
	case f.Stale:
		k.remove(q, at)
	case f.Verb == batch.Stop, f.Verb == batch.Leave:
		e.state = unsettled // it keeps its key closed until the subscription has ended
	case f.Verb == batch.Wait:
		e.state, e.due = waiting, k.since(now.Add(f.After))
		k.trail(q, at)
	case f.Verb == batch.Behind:
		e.state = waiting
		k.trail(q, at)
	default:
		k.remove(q, at)
	}
	k.place(q)
}

// Keep holds an entry that is pending here and must not run before due.
func (k *Keys) Keep(key string, id broker.ID, due time.Time) {
	k.update(func() {
		q := k.queue(key)
		at, known := q.find(id)
		if !known {
			k.insert(q, at, entry{id: id})
		}
		e := &q.entries[at]
		e.state, e.due, e.retried, e.counted = waiting, k.since(due), true, true
		q.burst = 1
		k.place(q)
	})
}

// Next is when the first entry may run; a time long past where that is now.
func (k *Keys) Next() (due time.Time, ok bool) {
	if k == nil {
		return time.Time{}, false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	at, ok := k.wake.first()
	return k.began.Add(time.Duration(at)), ok
}

// longPast is before all times that entries wait for, so that 0 is.
const longPast = 10 * 365 * 24 * time.Hour

// since is a time as entries have it: counted from long before the first that was
// asked for. What is added to and subtracted from the clock's times goes by its
// monotonic reading, so that an entry waits neither longer nor shorter when the
// machine's clock is set.
func (k *Keys) since(t time.Time) int64 {
	if k.began.IsZero() {
		k.began = t.Add(-longPast)
	}
	return int64(t.Sub(k.began))
}

// Take lets up to n entries go that may run at now, sorted by id. They are to be
// fetched; what cannot be fetched is told with Back or Gone.
func (k *Keys) Take(now time.Time, n int) []broker.ID {
	var ids []broker.ID
	k.mu.Lock()
	at := k.since(now)
	for len(k.wake) > 0 && k.wake[0].due() <= at && len(ids) < n {
		q := k.wake[0]
		ids = q.release(ids, n-len(ids), at)
		k.trail(q, 0)
		k.place(q)
	}
	k.mu.Unlock()
	slices.SortFunc(ids, broker.ID.Compare)
	return ids
}

// Back notes that entries which were let go could not be fetched: they may run
// at due.
func (k *Keys) Back(ids []broker.ID, due time.Time) {
	k.update(func() {
		for _, id := range ids {
			if q := k.ids[id]; q != nil {
				at, _ := q.find(id)
				q.entries[at].state, q.entries[at].due = waiting, k.since(due)
				k.place(q)
			}
		}
	})
}

// Gone forgets entries that are no longer pending here.
func (k *Keys) Gone(ids ...broker.ID) {
	if k == nil || len(ids) == 0 {
		return
	}
	k.update(func() {
		for _, id := range ids {
			if q := k.ids[id]; q != nil {
				at, _ := q.find(id)
				k.remove(q, at)
				k.place(q)
			}
		}
	})
}

// Lose is Gone for an entry whose lease is lost while it waits, and reports
// whether it waited.
func (k *Keys) Lose(id broker.ID) (waited bool) {
	if k == nil {
		return false
	}
	k.update(func() {
		q := k.ids[id]
		if q == nil {
			return
		}
		at, _ := q.find(id)
		if waited = q.entries[at].state == waiting; waited {
			k.remove(q, at)
			k.place(q)
		}
	})
	return waited
}

// queue is the one of a key, made when it is needed. The key is copied: it lies
// in the memory of a batch.
func (k *Keys) queue(key string) *queue {
	q := k.keys[key]
	if q == nil {
		q = &queue{key: strings.Clone(key), burst: 1, index: -1}
		k.keys[q.key] = q
	}
	return q
}

// insert adds an entry at its place. An id that is known under another key is that of
// another entry by now: a server that lost its last writes gave it once more. The
// earlier one is gone, and must not keep its key closed.
func (k *Keys) insert(q *queue, at int, e entry) {
	if other := k.ids[e.id]; other != nil {
		i, _ := other.find(e.id)
		k.remove(other, i)
		k.place(other)
	}
	q.entries = slices.Insert(q.entries, at, e)
	k.ids[e.id] = q
}

func (k *Keys) remove(q *queue, at int) {
	delete(k.ids, q.entries[at].id)
	if at == 0 {
		q.entries = q.entries[1:] // a long queue is not moved for each of its entries
		return
	}
	q.entries = slices.Delete(q.entries, at, at+1)
}

// place puts the queue where it belongs after a change.
func (k *Keys) place(q *queue) {
	switch waits := len(q.entries) > 0 && q.entries[0].state == waiting; {
	case waits && q.index >= 0:
		heap.Fix(&k.wake, q.index)
	case waits:
		heap.Push(&k.wake, q)
	case q.index >= 0:
		heap.Remove(&k.wake, q.index)
	}
	if len(q.entries) == 0 {
		delete(k.keys, q.key)
	}
}
