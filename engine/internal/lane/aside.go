package lane

import (
	"slices"

	"pipeline/engine/internal/batch"
)

// Gate lets the items through that must not run beside one another: see
// batch.Item.Alone.
type Gate interface {
	// Enter reports whether the item may run. One that has entered may again.
	Enter(it *batch.Item) bool
	// Free reports whether an item may enter.
	Free() bool
}

// Join tells the lane of the gate, of all lanes of its consumer, and which of them
// it is itself. The gate's owner calls Wake of all of them when it is free. Call it
// before Run.
func (l *Lane) Join(g Gate, all []*Lane, self int) { l.gate, l.peers, l.self = g, all, self }

// waits reports whether an item cannot run now because another one runs alone, or
// because a lower id of its key waits for that. The caller holds pending.
func (l *Lane) waits(it *batch.Item) bool {
	if l.gate == nil || l.draining.Load() || it.Lease() != batch.Ours {
		return false
	}
	return l.waitsFor(it) || it.Alone && !l.gate.Enter(it)
}

func (l *Lane) waitsFor(it *batch.Item) bool {
	if it.Key == "" {
		return false
	}
	return slices.ContainsFunc(l.aside, func(s batch.Share) bool {
		first := s.At(0) // there is no other
		return first.Key == it.Key && first.Delivery.ID.Less(it.Delivery.ID)
	})
}

// putAside takes the item that would be the next out of the share: what is behind it
// must not wait with it. The caller holds pending.
func (l *Lane) putAside() {
	i := l.at + 1
	l.aside = append(l.aside, batch.Share{Batch: l.share.Batch, Index: []int32{l.share.Index[i]}})
	l.share.Index = slices.Delete(l.share.Index, i, i+1)
}

// recall puts what was put aside before everything that is queued, once the gate is
// free. The caller holds pending.
func (l *Lane) recall() {
	if len(l.aside) == 0 || !l.gate.Free() {
		return
	}
	rest := l.behind()
	l.share.Index = slices.Clip(l.share.Index[:l.at+1])
	l.ahead = slices.Concat(l.aside, add(nil, rest), l.ahead)
	l.aside = nil
	l.unsorted.Store(true)
}
