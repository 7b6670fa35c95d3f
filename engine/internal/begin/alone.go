package begin

import (
	"slices"
	"sync/atomic"

	"pipeline/engine/internal/batch"
)

// Alone is the place of the one item of a consumer that runs alone among those
// that may have killed the process before. Who finds it taken does something else
// meanwhile: to wait would cost new entries a worker. It is safe for concurrent use.
type Alone struct {
	// Freed is called when another item may enter. It must not wait.
	Freed func()

	item atomic.Pointer[batch.Item]
}

// Enter reports whether the item has the place, which it keeps until it is settled.
func (a *Alone) Enter(it *batch.Item) bool {
	return a.item.CompareAndSwap(nil, it) || a.item.Load() == it
}

// Free reports whether nothing has the place.
func (a *Alone) Free() bool { return a.item.Load() == nil }

// Settled is told of items whose outcomes are written or that were given up.
func (a *Alone) Settled(items []*batch.Item) {
	it := a.item.Load()
	if it == nil || !slices.Contains(items, it) {
		return
	}
	a.item.Store(nil)
	a.Freed()
}
