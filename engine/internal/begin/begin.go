// Package begin is what comes before the run of an entry that was delivered
// twice before: its start is written down, so that an entry that kills its process
// is known by its starts; and while it is not known who killed the last one, those
// that may have are run one at a time, until their outcome is written, so that
// none of them answers for another.
package begin

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
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
}

// Begin reports whether the item may run now. Where it may not, its lease is lost,
// the run is called off, or a drain has begun. It waits for a server that is away.
func (b *Beginner) Begin(ctx context.Context, it *batch.Item) bool {
	return it.Delivery.Deliveries < broker.Recorded || b.record(ctx, it)
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
