package reader

import (
	"context"
	"slices"
	"sync/atomic"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/tally"
)

// Reading ahead: the server is asked about redelivered entries before they run,
// which takes a round trip. The next read goes out meanwhile. Reads are brought to
// the lanes in their order, one at a time, so that an entry passes none that was
// read before it; what has to wait for that is held, renewed and counted as if it
// were in a lane.
//
// Nothing is read ahead where keys are held, since what is read after an entry that
// may not run has to know of it.

// ahead is what is brought to the lanes beside the reader.
type ahead struct {
	group clock.Group
	// begun: the reader has not waited for it yet.
	begun   bool
	running atomic.Bool
	// err is how it ended, for who has waited.
	err error
}

// readAhead brings deliveries to the lanes beside the reader, once those before
// them were. Its error is theirs.
func (r *Reader) readAhead(ctx context.Context, ds []broker.Delivery) error {
	epoch := r.Dispatch.Server.Epoch()
	r.Dispatch.Held.Expect(ds)
	err := r.brought(ctx)
	r.ahead.begun = true
	r.ahead.running.Store(true)
	r.ahead.group.Go(ctx, "dispatcher", func() {
		r.ahead.err = r.Dispatch.Expected(ctx, ds, epoch)
		r.turns.Add(1)
		r.ahead.running.Store(false)
	})
	return err
}

// brought waits until what was read ahead is in the lanes, and returns how that
// ended, once.
func (r *Reader) brought(ctx context.Context) error {
	if !r.ahead.begun {
		return nil
	}
	r.ahead.begun = false
	r.ahead.group.Wait(ctx)
	return r.ahead.err
}

// Expected is Dispatch for what Held.Expect was told of in that of the server's
// epochs. What was lost meanwhile is left, and what came in another epoch, since it
// may be another entry by now: as orphans, which are looked for.
func (d *Dispatcher) Expected(ctx context.Context, ds []broker.Delivery, epoch uint64) error {
	d.Waits.Lock(ctx) // a renewal that is under way would undo what makes an entry wait
	lost := d.Held.Come()
	d.Waits.Unlock()
	defer d.Held.Came()
	d.mu.Lock(ctx)
	defer d.mu.Unlock()
	if len(lost) > 0 {
		d.leave(tally.Lost, func(e *broker.Delivery) bool { return slices.Contains(lost, e.ID) }, ds)
		ds = slices.DeleteFunc(ds, func(e broker.Delivery) bool { return slices.Contains(lost, e.ID) })
	}
	if d.Server.Epoch() != epoch {
		d.leave(tally.Unasked, func(*broker.Delivery) bool { return true }, ds)
		return nil
	}
	if len(ds) == 0 {
		return nil
	}
	return d.bring(ctx, ds, read)
}

// leave counts those that are not brought to the lanes, and has them looked for.
func (d *Dispatcher) leave(as tally.Part, left func(*broker.Delivery) bool, ds []broker.Delivery) {
	d.orphans.Store(true)
	for i := range ds {
		if !left(&ds[i]) {
			continue
		}
		d.Tally.Count(tally.Received, 1)
		d.Tally.Count(as, 1)
		if ds[i].Deliveries > 0 {
			d.Tally.Count(tally.Claimed, 1)
		}
	}
}
