package reader

import (
	"cmp"
	"context"
	"slices"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/hold"
	"pipeline/engine/internal/lane"
	"pipeline/engine/internal/retry"
	"pipeline/engine/internal/tally"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// Dispatcher brings deliveries to the lanes. New entries take the straight
// way; redelivered ones are first checked: against what is held here already,
// and with the server's records for whether they are due and may run at all.
type Dispatcher struct {
	Broker broker.Broker
	Owner  broker.Owner
	Clock  clock.Clock
	Held   *batch.Held
	// Waits is held by a renewal: see lease.Keeper.
	Waits  *clock.Mutex
	Parked *retry.Parked
	// Keys are those that are held; nil where none are.
	Keys *hold.Keys
	// Park: entries that are not due are run by this consumer itself when they
	// are, because nobody claims for it.
	Park bool
	// MinIdle is the group's, MaxAttempts the subscription's.
	MinIdle     time.Duration
	MaxAttempts int
	// Suspects is how many entries may be held because they wait to run alone.
	Suspects int
	Lanes    []*lane.Lane
	// FixedLanes: a key comes to the same lane in every process.
	FixedLanes bool
	// Marks is where the keys of settled entries are marked; zero where they are
	// not. Server is waited for while it cannot be asked about them.
	Marks  broker.Marks
	Server *health.Server
	// Prepare decodes the items of a batch and finds their keys.
	Prepare func(*batch.Batch)
	Event   func(observe.Event)
	// Tally counts what comes; it may be nil.
	Tally *tally.Tally

	// mu makes the look into the held table and the entry into it one step:
	// reads and sweeps may bring the same entry.
	mu    clock.Mutex
	first int
	// last is the highest id that was brought to the lanes: what is held is not
	// above it.
	last    broker.ID
	orphans atomic.Bool
	asked   []*batch.Item
	keys    []string
}

// callTimeout bounds one operation about entries that are already ours.
const callTimeout = 10 * time.Second

// candidate is a delivery that may run.
type candidate struct {
	delivery  broker.Delivery
	past      *batch.Past
	used      int
	exhausted bool
	alone     bool
	waited    bool
}

// Dispatch brings deliveries to the lanes. It blocks while lanes are full. It
// does its work even when ctx is canceled: the entries are ours by now. An
// error means that some are pending here without being worked on; Orphans
// then reports true until they were swept up.
func (d *Dispatcher) Dispatch(ctx context.Context, ds []broker.Delivery) error {
	return d.dispatch(ctx, ds, read)
}

// Sweep is Dispatch for what a sweep brought.
func (d *Dispatcher) Sweep(ctx context.Context, ds []broker.Delivery) error {
	return d.dispatch(ctx, ds, swept)
}

// arrival is how deliveries came here.
type arrival uint8

const (
	read arrival = iota
	swept
	// fetched: Keys let them go.
	fetched
)

func (d *Dispatcher) dispatch(ctx context.Context, ds []broker.Delivery, by arrival) error {
	if len(ds) == 0 {
		return nil
	}
	d.mu.Lock(ctx)
	defer d.mu.Unlock()
	return d.bring(ctx, ds, by)
}

// bring is dispatch under mu, for at least one delivery.
func (d *Dispatcher) bring(ctx context.Context, ds []broker.Delivery, by arrival) error {
	d.Tally.Count(tally.Received, len(ds))
	epoch := d.Server.Epoch()
	if d.Held.Before(epoch) {
		d.replace(ds, epoch)
	}
	if by == read && d.Held.Count() == 0 {
		// Whatever comes is behind nothing: a group that was set back to deliver a
		// stream again does so at the full rate.
		d.last = broker.ID{}
	}
	before := d.last
	if !d.unusual(ds) && by != fetched && !d.mayWait(by) {
		b := batch.Get(len(ds))
		b.Swept = by != read
		for i := range ds {
			b.Grow().Delivery = ds[i]
		}
		b.Epoch = epoch
		return d.send(ctx, b)
	}
	run, err := d.check(context.WithoutCancel(ctx), ds, by)
	if err != nil {
		d.orphans.Store(true)
	}
	slices.SortFunc(run, func(a, b candidate) int { return a.delivery.ID.Compare(b.delivery.ID) })
	run, suspects, backErr := d.suspects(context.WithoutCancel(ctx), run)
	if backErr != nil {
		d.orphans.Store(true)
	}
	if by == read {
		d.Held.Came()
	}
	for _, b := range []*batch.Batch{filled(suspects, true), filled(run, false)} {
		b.Swept, b.Epoch = by != read, epoch
		// Those that do not run alone may belong before others that do.
		b.Old = len(suspects) > 0 || len(run) > 0 && run[0].delivery.ID.Less(before)
		err = cmp.Or(d.send(ctx, b), err)
	}
	return cmp.Or(err, backErr)
}

// filled is a batch of candidates.
func filled(run []candidate, alone bool) *batch.Batch {
	b := batch.Get(len(run))
	b.Alone = alone
	for i := range run {
		it := b.Grow()
		it.Delivery, it.Used, it.Exhausted = run[i].delivery, run[i].used, run[i].exhausted
		it.Past, it.Alone, it.Waited = run[i].past, run[i].alone, run[i].waited
	}
	return b
}

// replace calls off what is held under an id that comes as that of another entry:
// the stream was made anew, or its server lost the last writes. What comes of the
// earlier one must neither answer nor acknowledge the other.
func (d *Dispatcher) replace(ds []broker.Delivery, epoch uint64) {
	for i := range ds {
		if ds[i].Deliveries > 0 || !d.Held.Replace(&ds[i], epoch) {
			continue
		}
		for _, l := range d.Lanes {
			l.Cancel(ds[i].ID)
		}
	}
}

// Orphans reports, once, whether entries are pending here that nobody works on.
func (d *Dispatcher) Orphans() bool { return d.orphans.Swap(false) }

// Orphaned makes Orphans report true.
func (d *Dispatcher) Orphaned() { d.orphans.Store(true) }

// unusual reports whether one of them is not a new entry with a body behind all
// that came before. A group gives out new entries in order: one that is not behind
// the others was handed back, or its group was lost, or moved, and delivers again
// what may be held here.
func (d *Dispatcher) unusual(ds []broker.Delivery) bool {
	found := false
	for i := range ds {
		e := &ds[i]
		found = found || e.Deliveries > 0 || len(e.Fields) == 0 || !d.last.Less(e.ID)
		d.last = broker.Later(d.last, e.ID)
	}
	return found
}

// send hands a batch to the lanes. An error says that what is marked could not be
// found out, and will not be.
func (d *Dispatcher) send(ctx context.Context, b *batch.Batch) error {
	if len(b.Items) == 0 {
		batch.Put(b)
		return nil
	}
	b.At = d.Clock.Now()
	d.Prepare(b)
	d.Held.Add(b)
	err := d.ask(ctx, b)
	d.first = (d.first + 1) % len(d.Lanes)
	b.Split(len(d.Lanes), d.first, d.FixedLanes, func(l int, s batch.Share) { d.Lanes[l].Send(ctx, s) })
	return err
}

// mayWait reports whether there may be copies among them that a retry made and that
// wait: entries of which no delivery is counted. Where nobody claims, sweeps bring
// those back, and the server has to be asked about them, too.
func (d *Dispatcher) mayWait(by arrival) bool { return d.Park && by == swept }

// check returns the deliveries that may run.
func (d *Dispatcher) check(ctx context.Context, ds []broker.Delivery, by arrival) ([]candidate, error) {
	var run []candidate
	var again []broker.Delivery
	s := broker.Settlement{Owner: d.Owner}
	for _, e := range ds {
		switch {
		case len(e.Fields) == 0:
			s.Acks = append(s.Acks, e.ID)
		case e.Deliveries == 0 && d.Held.Ours(e.ID):
			// Its group was lost meanwhile. It is settled by who runs it here.
			d.Tally.Count(tally.Again, 1)
		case e.Deliveries == 0 && !d.mayWait(by):
			run = append(run, candidate{delivery: e, waited: by == fetched})
		case d.Held.Contains(e.ID), by != fetched && d.Keys.Contains(e.ID):
			s.Waits = append(s.Waits, broker.Wait{ID: e.ID, Uncount: true})
		default:
			if again == nil {
				again = make([]broker.Delivery, 0, len(ds)) // nearly always it is all of them
			}
			again = append(again, e)
			if e.Deliveries > 0 {
				d.Tally.Count(tally.Claimed, 1)
			}
		}
	}
	d.Tally.Count(tally.Bodiless, len(s.Acks))
	d.Tally.Count(tally.Again, len(s.Waits))
	d.BodiesGone(s.Acks)
	err := d.settle(ctx, &s)
	admitted, admitErr := d.admit(ctx, again)
	if err == nil {
		err = admitErr
	}
	if run == nil {
		return admitted, err
	}
	return append(run, admitted...), err
}

// settle undoes deliveries of what is held already, and acknowledges what has
// no body: a handler never sees an empty one.
func (d *Dispatcher) settle(ctx context.Context, s *broker.Settlement) error {
	if len(s.Acks) == 0 && len(s.Waits) == 0 {
		return nil
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	_, err := d.Broker.Settle(call, s)
	return err
}

// BodiesGone tells of pending entries whose body was deleted: lost data. Their
// keys open.
func (d *Dispatcher) BodiesGone(ids []broker.ID) {
	if len(ids) == 0 {
		return
	}
	d.Keys.Gone(ids...)
	text := ids[0].String()
	if len(ids) > 1 {
		text += " to " + ids[len(ids)-1].String()
	}
	d.Event(observe.Event{
		Name: observe.EventBodyMissing, Level: sandbox.Error, Count: len(ids),
		Message: "pending entries were deleted from the stream before they were handled: " + text,
	})
}

// admit asks the server about redelivered entries.
func (d *Dispatcher) admit(ctx context.Context, again []broker.Delivery) ([]candidate, error) {
	if d.Keys != nil && len(again) > 0 {
		return d.admitByKey(ctx, again)
	}
	return d.inquire(ctx, again, d.MinIdle, d.verdict)
}

// inquire asks the server about redelivered entries and passes on what it says of
// those that may not run. Those that are not due are aged for minIdle.
func (d *Dispatcher) inquire(
	ctx context.Context, again []broker.Delivery, minIdle time.Duration, not func(e broker.Delivery, a *broker.Admission),
) ([]candidate, error) {
	if len(again) == 0 {
		return nil, nil
	}
	req := broker.AdmitRequest{
		Owner: d.Owner, MinIdle: minIdle, MaxAttempts: d.MaxAttempts, Entries: make([]broker.Redelivery, 0, len(again)),
	}
	for _, e := range again {
		req.Entries = append(req.Entries, broker.Redelivery{ID: e.ID, Deliveries: e.Deliveries})
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	admissions, err := d.Broker.Admit(call, req)
	if err != nil {
		d.Tally.Count(tally.Unasked, len(again))
		return nil, err
	}
	run := make([]candidate, 0, len(again))
	pasts := make([]batch.Past, len(admissions))
	for i := range admissions {
		e, a := again[i], &admissions[i]
		pasts[i] = batch.Past{Error: a.Record.Error, First: a.Record.First}
		c := candidate{delivery: e, past: &pasts[i], used: int(a.Record.Attempts(e.Deliveries)), waited: !a.Record.Due.IsZero()}
		switch a.Verdict {
		case broker.Run:
			c.alone = e.Deliveries >= broker.Recorded && a.Record.Unsettled(e.Deliveries)
			run = append(run, c)
		case broker.Exhausted:
			c.exhausted = true
			run = append(run, c)
		case broker.NotDue:
			d.Tally.Count(tally.NotDue, 1)
			not(e, a)
		case broker.Lost:
			d.Tally.Count(tally.Lost, 1)
			not(e, a)
		}
	}
	return run, nil
}

// verdict parks an entry that is not due, where this consumer runs it itself.
func (d *Dispatcher) verdict(e broker.Delivery, a *broker.Admission) {
	if a.Verdict == broker.NotDue && d.Park {
		d.Parked.Add(e.ID, d.Clock.Now().Add(a.Remaining))
	}
}
