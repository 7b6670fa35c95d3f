// Package reader brings entries in: the reader waits for new ones and claims
// with the same read where the server can; the sweeper fetches what waits in
// the pending list by other ways.
package reader

import (
	"context"
	"errors"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/hold"
	"pipeline/engine/internal/lease"
)

// maxReadBytes bounds one read by the size of the largest recent entry.
const maxReadBytes = 16 << 20

// Reader is the loop of blocking reads of one consumer. Its fields are set
// before Run.
type Reader struct {
	Broker   broker.Broker
	Owner    broker.Owner
	Clock    clock.Clock
	Server   *health.Server
	Window   *Window
	Dispatch *Dispatcher
	Sweeper  *Sweeper
	// Keys are those that are held; nil where none are. While they are full
	// nothing is read.
	Keys *hold.Keys
	// Batch is the largest read, Block how long one waits.
	Batch int
	Block time.Duration
	// MinIdle is positive for claiming reads, which are made while Permit allows
	// them.
	MinIdle time.Duration
	Permit  *lease.Permit
	// Restore creates a lost group again.
	Restore func(ctx context.Context) error
	// Reading is called after the first read that the server answered or that
	// is about to wait.
	Reading func()

	ahead   ahead
	waiting atomic.Bool
	// paused: it waits without reading.
	paused atomic.Bool
	// turns counts how often a read began or ended.
	turns   atomic.Uint64
	fresh   bool
	largest int
}

// Waiting reports whether the reader waits for entries to come, and has brought
// all that came to the lanes.
func (r *Reader) Waiting() bool {
	return !r.ahead.running.Load() && (r.waiting.Load() || r.paused.Load())
}

// Crowded reports whether the reader waits until less is held here.
func (r *Reader) Crowded() bool { return !r.ahead.running.Load() && r.Window.waiting.Load() }

// Turns counts how often the reader began or ended to wait. Who sees it
// unchanged around a look at other things knows that it did neither meanwhile.
func (r *Reader) Turns() uint64 { return r.turns.Load() }

// Run reads until ctx is done, and returns nil then. An error is one that does
// not pass by waiting.
func (r *Reader) Run(ctx context.Context) error {
	part := r.Server.Part()
	defer part.Leave()
	r.Window.full = part.Leave // what asks nothing knows nothing
	defer func() { _ = r.brought(ctx) }()
	if r.begin(ctx) != nil {
		return nil
	}
	for {
		n, err := r.Window.Wait(ctx, r.limit())
		if err == nil {
			err = r.room(ctx, part)
		}
		if err != nil {
			return nil
		}
		ds, err := r.next(ctx, n, part)
		if err == nil {
			part.OK()
			err = r.dispatch(ctx, ds)
		}
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			if err := r.recover(ctx, err, part); err != nil {
				return err
			}
		}
	}
}

// next reads up to n entries, once all is in order.
func (r *Reader) next(ctx context.Context, n int, part *health.Part) ([]broker.Delivery, error) {
	if !r.ahead.running.Load() {
		if err := r.brought(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.own(ctx, part); errors.Is(err, broker.ErrUnavailable) {
		return nil, err // a read would not be answered either
	}
	return r.read(ctx, n)
}

// own brings in what is pending here unknown, where there may be such entries.
func (r *Reader) own(ctx context.Context, part *health.Part) error {
	if !r.Dispatch.Orphans() {
		return nil
	}
	r.ahead.group.Wait(ctx) // it is not known yet what of it will be held
	if r.Sweeper.crowded() {
		part.Leave()
	}
	err := r.Sweeper.Own(ctx)
	if err != nil {
		r.Dispatch.Orphaned()
	}
	return err
}

func (r *Reader) read(ctx context.Context, n int) ([]broker.Delivery, error) {
	req := broker.ReadRequest{Owner: r.Owner, Count: n, Block: r.Block}
	if !r.fresh && r.MinIdle > 0 && r.Permit.Allows() {
		req.MinIdle = r.MinIdle
	}
	if r.fresh {
		// More may be waiting to be claimed: no time is lost over new ones.
		req.Block = 0
	}
	r.tellReading()
	r.waiting.Store(true)
	r.turns.Add(1)
	ds, err := r.Broker.Read(ctx, req)
	r.turns.Add(1)
	r.waiting.Store(false)
	// Claimed entries come first: after a read full of them the next one takes
	// new entries, so that entries that fail again and again starve nobody.
	r.fresh = len(ds) == n && req.MinIdle > 0 && ds[n-1].Deliveries > 0
	return ds, err
}

func (r *Reader) dispatch(ctx context.Context, ds []broker.Delivery) error {
	if len(ds) == 0 {
		return nil
	}
	r.measure(ds)
	if r.Keys == nil && ds[0].Deliveries > 0 { // claimed entries come first
		return r.readAhead(ctx, ds)
	}
	if err := r.brought(ctx); err != nil {
		return errors.Join(err, r.Dispatch.Dispatch(ctx, ds))
	}
	return r.Dispatch.Dispatch(ctx, ds)
}

// measure remembers how large entries are. The memory of a large one fades with
// what is read after it, not with time: what comes after a pause may be as large.
func (r *Reader) measure(ds []broker.Delivery) {
	r.largest -= r.largest / 16
	for i := range ds {
		size := 0
		for _, f := range ds[i].Fields {
			size += len(f.Name) + len(f.Value)
		}
		r.largest = max(r.largest, size)
	}
}

// limit is how many entries to ask for, so that a read of entries as large as
// the largest recent one fits.
func (r *Reader) limit() int { return max(1, min(r.Batch, maxReadBytes/max(1, r.largest))) }

// recover does what an error asks for and returns the errors that do not pass.
func (r *Reader) recover(ctx context.Context, err error, part *health.Part) error {
	// The server may have delivered entries that never arrived.
	r.Dispatch.Orphaned()
	switch {
	case errors.Is(err, broker.ErrNoGroup):
		if err := r.Restore(ctx); err != nil && !broker.Transient(err) {
			return err
		}
	case broker.Transient(err):
		part.Failed(err)
		if r.MinIdle > 0 {
			r.Permit.Pause(lease.Caution(r.MinIdle))
		}
	default:
		return err
	}
	_ = part.Wait(ctx)
	return nil
}
