package reader

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
)

// again is when an entry of a closed key is tried once more that could not be
// fetched or asked about.
const again = time.Second

// errFull ends a sweep because too many entries of closed keys are held; the
// next one goes on.
var errFull = errors.New("too many entries are held")

// Fetched is Sweep for entries that Keys let go.
func (d *Dispatcher) Fetched(ctx context.Context, ds []broker.Delivery) error {
	return d.dispatch(ctx, ds, fetched)
}

// admitByKey is admit where keys are held. An entry that is not due stays here,
// and so do the later ones of its key: it is not aged, but renewed and run by
// this consumer. What the server was not heard about stays here as well, so that
// later ones do not run before it. Entries without a key go the usual way.
func (d *Dispatcher) admitByKey(ctx context.Context, ds []broker.Delivery) ([]candidate, error) {
	keys := d.keysOf(ds)
	var keyed, others []broker.Delivery
	for _, e := range ds {
		if keys[e.ID] == "" {
			others = append(others, e)
		} else {
			keyed = append(keyed, e)
		}
	}
	run, err := d.inquire(ctx, keyed, 0, func(e broker.Delivery, a *broker.Admission) {
		if a.Verdict == broker.Lost {
			d.Keys.Gone(e.ID)
			return
		}
		d.Keys.Keep(keys[e.ID], e.ID, d.Clock.Now().Add(a.Remaining))
	})
	if err != nil {
		for _, e := range keyed {
			d.Keys.Keep(keys[e.ID], e.ID, d.Clock.Now().Add(again))
		}
	}
	rest, restErr := d.inquire(ctx, others, d.MinIdle, d.verdict)
	if err == nil {
		err = restErr
	}
	return append(run, rest...), err
}

// keysOf finds the keys of deliveries.
func (d *Dispatcher) keysOf(ds []broker.Delivery) map[broker.ID]string {
	b := batch.Get(len(ds))
	defer batch.Put(b)
	for i := range ds {
		b.Grow().Delivery = ds[i]
	}
	d.Prepare(b)
	keys := make(map[broker.ID]string, len(ds))
	for i := range b.Items {
		if it := &b.Items[i]; !it.Foreign {
			keys[it.Delivery.ID] = strings.Clone(it.Key)
		}
	}
	return keys
}

// open fetches entries of closed keys that may run again.
func (s *Sweeper) open(ctx context.Context) error {
	for {
		n, err := s.free(ctx)
		if err != nil {
			return err
		}
		ids := s.Keys.Take(s.Clock.Now(), n)
		if len(ids) > 0 {
			err = s.fetch(ctx, ids)
		}
		s.renewTrailing(ctx)
		if err != nil || len(ids) == 0 {
			return err
		}
	}
}

// maxTrailing is how many entries are renewed beside one that is fetched: as
// many as one script takes.
const maxTrailing = 300

// renewTrailing renews what waits behind entries that were renewed alone. It is
// for the case that this process dies, and an error is left to the lease keeper.
func (s *Sweeper) renewTrailing(ctx context.Context) {
	if ids := s.Keys.Trailing(maxTrailing); len(ids) > 0 && s.Leased > 0 {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		_, _ = s.Broker.Renew(call, s.Owner, ids)
	}
}

// fetch brings entries that Keys let go to the lanes. What is no longer pending
// here opens its key.
func (s *Sweeper) fetch(ctx context.Context, ids []broker.ID) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	taken, err := s.Broker.TakeOver(call, s.Owner, s.Owner.Consumer, ids)
	if err != nil {
		s.Keys.Back(ids, s.Clock.Now().Add(again))
		return err
	}
	s.Dispatch.BodiesGone(taken.Deleted)
	ds := taken.Deliveries
	slices.SortFunc(ds, func(a, b broker.Delivery) int { return a.ID.Compare(b.ID) })
	for _, id := range ids {
		if _, found := slices.BinarySearchFunc(ds, id, func(e broker.Delivery, id broker.ID) int { return e.ID.Compare(id) }); !found {
			s.Keys.Gone(id)
		}
	}
	return s.Dispatch.Fetched(ctx, ds)
}

// tellInherited lets the reader begin once all is taken over: where keys are
// held, what earlier holders of the slot left comes before anything new.
func (s *Sweeper) tellInherited(over bool) {
	if s.inherited != nil && !s.told && over {
		close(s.inherited)
		s.told = true
	}
}

// begin waits until the reader may begin: see tellInherited. An error is that
// of ctx.
func (r *Reader) begin(ctx context.Context) error {
	if r.Keys == nil {
		return nil
	}
	r.tellReading()
	return r.pause(func() error { return clock.Wait(ctx, r.Sweeper.inherited) })
}

// room waits while too many entries of closed keys are held. An error is that
// of ctx.
func (r *Reader) room(ctx context.Context, part *health.Part) error {
	if !r.Keys.Full() {
		return nil
	}
	part.Leave()
	return r.pause(func() error { return r.Keys.Wait(ctx) })
}

// tellReading tells, once, that the reader is about to wait.
func (r *Reader) tellReading() {
	if r.Reading != nil {
		r.Reading()
		r.Reading = nil
	}
}

// pause waits without reading.
func (r *Reader) pause(wait func() error) error {
	r.paused.Store(true)
	r.turns.Add(1)
	err := wait()
	r.turns.Add(1)
	r.paused.Store(false)
	return err
}

// Paused reports whether nothing is read because too many entries of closed
// keys are held.
func (r *Reader) Paused() bool { return r.paused.Load() }
