package hold

import (
	"context"
	"slices"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// Contains reports whether the entry is held, or was let go and is not settled
// yet.
func (k *Keys) Contains(id broker.ID) bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.ids[id] != nil
}

// Count is how many entries belong to closed keys.
func (k *Keys) Count() int {
	entries, _ := k.Counts()
	return entries
}

// Counts is how many entries belong to how many closed keys.
func (k *Keys) Counts() (entries, keys int) {
	if k == nil {
		return 0, 0
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return len(k.ids), len(k.keys)
}

// IDs appends the ids of all entries that wait, to be renewed, in no order.
// Those on their way are renewed with what is held by batches.
func (k *Keys) IDs(ids []broker.ID) []broker.ID {
	if k == nil {
		return ids
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	ids = slices.Grow(ids, len(k.ids))
	for _, q := range k.keys {
		for i := range q.entries {
			if q.entries[i].state == waiting {
				ids = append(ids, q.entries[i].id)
			}
		}
	}
	return ids
}

// Full reports whether more are held than the limit allows, or were and there
// is little room since: nothing more is to be read.
func (k *Keys) Full() bool {
	if k == nil {
		return false
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.room != nil
}

// Wait waits while Full, or until ctx is done and returns its error then.
func (k *Keys) Wait(ctx context.Context) error {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	room := k.room
	k.mu.Unlock()
	if room == nil {
		return nil
	}
	return clock.Wait(ctx, room)
}

// measure finds out whether the set has become full, or has room again: half of
// it, so that it does not change with every few entries.
func (k *Keys) measure() (turned, full bool, held int) {
	held = len(k.ids)
	switch {
	case k.room == nil && held >= k.limit:
		k.room = make(chan struct{})
		return true, true, held
	case k.room != nil && held <= k.limit/2:
		close(k.room)
		k.room = nil
		return true, false, held
	}
	return false, false, held
}
