package batch

import (
	"slices"
	"sync"

	"pipeline/engine/broker"
)

// Held is the table of entries that this consumer works on or has queued. It
// is kept by batch, so that an entry costs it nothing: it is looked into only
// for renewals and for redelivered entries, both of which are rare. It is safe
// for concurrent use.
type Held struct {
	mu      sync.Mutex
	batches []*Batch
	count   int
	// swept is how many of them sweeps brought.
	swept int
	// alone is how many of them, of reads and sweeps, run one at a time.
	alone  int
	coming coming
	// changed is made when somebody waits and closed when less is held.
	changed chan struct{}
}

// NewHeld returns an empty table.
func NewHeld() *Held { return &Held{} }

// Add holds the items of a batch from now on.
func (h *Held) Add(b *Batch) {
	h.mu.Lock()
	defer h.mu.Unlock()
	b.Open()
	h.batches = append(h.batches, b)
	h.add(b, len(b.Items))
}

// Settled marks the items as no longer held. The batch is given back when they
// were its last ones, so the items must not be used afterwards.
func (h *Held) Settled(b *Batch, items []*Item) {
	h.mu.Lock()
	for _, it := range items {
		it.SetState(Settled)
	}
	h.add(b, -len(items))
	last := b.Done(len(items))
	if last {
		i := slices.Index(h.batches, b)
		h.batches = slices.Delete(h.batches, i, i+1)
	}
	h.tell()
	h.mu.Unlock()
	if last {
		Put(b)
	}
}

// tell wakes who waits until less is held.
func (h *Held) tell() {
	if h.changed != nil {
		close(h.changed)
		h.changed = nil
	}
}

// add counts n more items of a batch, or fewer.
func (h *Held) add(b *Batch, n int) {
	h.count += n
	switch {
	case b.Alone:
		h.alone += n
	case b.Swept:
		h.swept += n
	}
}

// Swept is how many of the held entries were brought by sweeps, without those that
// run one at a time.
func (h *Held) Swept() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.swept
}

// Alone is how many of the held entries run one at a time.
func (h *Held) Alone() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.alone
}

// Read is how many of the held entries were brought by reads, without those that
// run one at a time.
func (h *Held) Read() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count - h.swept - h.alone + len(h.coming.ds) + h.coming.asked
}

// Count is how many entries are held.
func (h *Held) Count() int {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.count + len(h.coming.ds)
}

// Changed is closed when less is held than at the call.
func (h *Held) Changed() <-chan struct{} {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.changed == nil {
		h.changed = make(chan struct{})
	}
	return h.changed
}

// Contains reports whether the entry is held.
func (h *Held) Contains(id broker.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.find(id) != nil || h.coming.contains(id)
}

// Ours reports whether the entry is held, was not lost and is not about to be put
// or handed back.
func (h *Held) Ours(id broker.ID) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	it := h.find(id)
	return it != nil && it.renewable() || h.coming.contains(id)
}

// IDs appends the ids of all held entries that are to be renewed: not those
// whose lease is lost, nor those that are about to wait or to be handed back,
// since a renewal would undo the aging that brings them back in time.
func (h *Held) IDs(ids []broker.ID) []broker.ID {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.batches {
		for i := range b.Items {
			if b.Items[i].renewable() {
				ids = append(ids, b.Items[i].Delivery.ID)
			}
		}
	}
	return h.coming.ids(ids)
}

// Lose records that the lease of an entry is lost and returns how far it had
// come; ok is false when it is no longer held.
func (h *Held) Lose(id broker.ID, l Lease) (s State, ok bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	it := h.find(id)
	if it == nil {
		return Queued, h.coming.lose(id)
	}
	it.SetLease(l)
	return it.State(), true
}

// Before reports whether anything is held that came before the epoch.
func (h *Held) Before(epoch uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	return len(h.batches) > 0 && h.batches[0].Epoch != epoch
}

// Replace records that an entry that came before the epoch was replaced, and
// reports whether it was: what is delivered anew under its id is another entry.
func (h *Held) Replace(d *broker.Delivery, epoch uint64) bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	for _, b := range h.batches {
		if b.Epoch == epoch {
			continue
		}
		if it := b.find(d.ID); it != nil && !slices.Equal(it.Delivery.Fields, d.Fields) {
			it.SetLease(Replaced)
			return true
		}
	}
	return false
}

func (h *Held) find(id broker.ID) *Item {
	for _, b := range h.batches {
		if it := b.find(id); it != nil {
			return it
		}
	}
	return nil
}

// find returns the item that is held under the id. Of the batches that are held
// few have an id between their first and their last one.
func (b *Batch) find(id broker.ID) *Item {
	if id.Less(b.low) || b.high.Less(id) {
		return nil
	}
	for i := range b.Items {
		if it := &b.Items[i]; it.Delivery.ID == id && it.State() != Settled && it.Lease() != Replaced {
			return it
		}
	}
	return nil
}
