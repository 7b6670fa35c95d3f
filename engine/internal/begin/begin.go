// Package begin is what comes before the run of an entry that was delivered
// twice before: its start is written down, so that an entry that kills its process
// is known by its starts; and while it is not known who killed the last one, those
// that may have are run one at a time, until their outcome is written, so that
// none of them answers for another.
package begin

import (
	"context"
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
)

// callTimeout is how long the writing of a start may take before its answer
// counts as lost.
const callTimeout = 10 * time.Second

// Beginner begins the runs of one consumer. Its fields are set before use; it is
// safe for concurrent use.
type Beginner struct {
	Broker broker.Broker
	Owner  broker.Owner
	Server *health.Server
	// Draining: nothing begins any more.
	Draining *atomic.Bool
	// Fatal is told of an error that does not pass.
	Fatal func(error)

	mu sync.Mutex
	// alone is the item that runs alone; changed is closed when that ends.
	alone   *batch.Item
	changed chan struct{}
}

// Begin reports whether the item may run now. Where it may not, its lease is lost,
// the run is called off, or a drain has begun. It waits while the item must not run
// beside another one, and for a server that is away.
func (b *Beginner) Begin(ctx context.Context, it *batch.Item) bool {
	if it.Delivery.Deliveries < broker.Recorded {
		return true
	}
	return (!it.Alone || b.acquire(ctx, it)) && b.record(ctx, it)
}

// Settled is told of items whose outcomes are written or that were given up.
func (b *Beginner) Settled(items []*batch.Item) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.alone != nil && slices.Contains(items, b.alone) {
		b.alone = nil
		b.wake()
	}
}

// Drain has those that wait look whether they still may run.
func (b *Beginner) Drain() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.wake()
}

func (b *Beginner) wake() {
	if b.changed != nil {
		close(b.changed)
		b.changed = nil
	}
}

// acquire waits until nothing else runs alone.
func (b *Beginner) acquire(ctx context.Context, it *batch.Item) bool {
	for ctx.Err() == nil && !b.Draining.Load() {
		b.mu.Lock()
		if b.alone == nil || b.alone == it {
			b.alone = it
			b.mu.Unlock()
			return true
		}
		if b.changed == nil {
			b.changed = make(chan struct{})
		}
		changed := b.changed
		b.mu.Unlock()
		_ = clock.Wait(ctx, changed)
	}
	return false
}

// record writes the start down.
func (b *Beginner) record(ctx context.Context, it *batch.Item) bool {
	part := b.Server.Part()
	defer part.Leave()
	for ctx.Err() == nil && !b.Draining.Load() {
		held, err := b.once(ctx, it.Delivery.ID)
		switch {
		case err == nil:
			part.OK()
			return b.held(it, held)
		case ctx.Err() != nil:
			return false
		case broker.Transient(err):
			part.Failed(err)
			_ = part.Wait(ctx)
			continue
		case !errors.Is(err, broker.ErrNoGroup): // a lost group is restored, and delivers the entry again
			b.Fatal(err)
		}
		it.SetLease(batch.Taken)
		return false
	}
	return false
}

func (b *Beginner) once(ctx context.Context, id broker.ID) (broker.Holding, error) {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	held, err := b.Broker.Begin(call, b.Owner, []broker.ID{id})
	if err != nil {
		return 0, err
	}
	return held[0], nil
}

// held notes what became of the lease. An entry whose body is gone runs on what
// was delivered of it, as one that is trimmed while it runs.
func (b *Beginner) held(it *batch.Item, h broker.Holding) bool {
	switch h {
	case broker.HeldByOther:
		it.SetLease(batch.Taken)
		return false
	case broker.BodyGone:
		it.SetLease(batch.BodyGone)
	}
	return true
}
