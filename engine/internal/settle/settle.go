// Package settle writes outcomes to the server. Whatever lanes have finished
// since the last time goes out as one settlement, so that batches grow with
// the load and an idle pipeline answers at once.
//
// A settlement whose answer was lost is sent again as it was: its steps are
// fenced, so that what was written the first time is found no longer pending
// and not written twice.
package settle

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"pipeline/engine/backlog"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/begin"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/hold"
	"pipeline/engine/internal/retry"
	"pipeline/engine/internal/tally"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// callTimeout is how long one settlement may take before its answer counts as
// lost.
const callTimeout = 10 * time.Second

// Settler writes the outcomes of one subscription. Its fields are set before
// Run and not changed after.
type Settler struct {
	Broker broker.Broker
	Owner  broker.Owner
	Clock  clock.Clock
	Server *health.Server
	Held   *batch.Held
	// Waits is held by a renewal: see lease.Keeper.
	Waits *clock.Mutex
	// MinIdle is the group's smallest; 0 where nobody claims.
	MinIdle time.Duration
	// Claimable is how long what is handed back is to look idle, so that whoever
	// claims in the group can claim it.
	Claimable time.Duration
	// Repeat is how long an entry may be done again: see broker.Settlement.
	Repeat time.Duration
	// Bury turns the outcome of an entry that was to wait and was trimmed meanwhile
	// into a dead letter; without it, such an entry is told of as lost.
	Bury func(*batch.Item)
	// Parked receives entries that this consumer runs again itself when due.
	Parked *retry.Parked
	// Marks is where the keys of entries are marked; zero where they are not.
	Marks broker.Marks
	// Keys are told what becomes of entries of closed keys; nil where none are
	// held.
	Keys *hold.Keys
	// Gates are the gauges of the streams to which no more is published than they
	// let through, by their keys; nil where there are none.
	Gates map[string]*backlog.Gauge
	// Alone is told of what needs to run alone no longer; it may be nil.
	Alone *begin.Alone
	// Settled is told of what was written, Event of what is unusual. Fatal is
	// told of an error that does not pass; entries then stay pending.
	Settled func([]observe.Outcome)
	Event   func(observe.Event)
	Fatal   func(error)
	// Tally counts what outcomes do not tell; it may be nil.
	Tally *tally.Tally
	// Traced: items have spans, which end here.
	Traced bool
	// Sensitive: entries have fields whose values are shown nowhere. What a handler
	// says of its failure may have them, and is then not told.
	Sensitive bool

	in     chan batch.Share
	closed atomic.Bool
	part   *health.Part
	// queue is what is settled next, refused what waits to be tried again.
	queue   []batch.Share
	refused []batch.Share
	// behind is to be handed back once what is before it under its key is settled.
	behind []batch.Share
	// owes: something is refused, or waits for room.
	owes atomic.Bool
	left int
	work work
	// withheld waits for room where it is to be published.
	withheld withheld
	// told are the causes for which outcomes are refused, as they were told.
	told map[string]bool
}

// Init makes the settler's queue. Call it before Run.
func (s *Settler) Init() {
	s.in = make(chan batch.Share, 1024)
	s.part = s.Server.Part()
	s.withheld.called = make(chan struct{})
}

// In is where lanes hand shares to.
func (s *Settler) In() chan batch.Share { return s.in }

// Close ends Run once all is written. Nothing may be handed over any more.
func (s *Settler) Close() {
	s.closed.Store(true)
	close(s.in)
}

// Left is how many entries were given up and stay pending. Those that are still
// held when Run returns come on top. Valid after Run.
func (s *Settler) Left() int { return s.left }

// Unwritten reports whether something is held that the server refuses, or that
// waits for room. Safe for concurrent use.
func (s *Settler) Unwritten() bool { return s.owes.Load() }

// Run settles until Close and everything is written, or ctx is done: it
// should outlive the run's own context by as much as settling may take. What
// cannot be written by then stays held; Run still returns only after Close, so
// that no lane waits for ever to hand over what it finished.
func (s *Settler) Run(ctx context.Context) {
	again, room := newReminder(s.Clock), newReminder(s.Clock)
	defer again.stop()
	defer room.stop()
	backoff := retry.NewBackoff()
	for open := true; open || s.unfinished(); {
		s.turn(ctx, again, room)
		select {
		case <-ctx.Done():
			for open {
				s.turn(ctx, again, room)
				_, open = <-s.in // what comes stays held
			}
			return
		case <-again.due:
			again.armed = false
			s.queue, s.refused = append(s.queue, s.refused...), nil
		case share, ok := <-s.more():
			if !ok {
				open, s.in = false, nil
				continue
			}
			s.queue = append(s.queue, share)
		case <-s.queued():
		case <-room.due:
			room.fired = true
		case <-s.withheld.calledOff():
		}
		s.regain(room)
		s.settle(ctx, s.withhold(ctx, s.gather()))
		s.rest(room)
		s.letGo()
		s.owes.Store(len(s.refused) > 0 || len(s.withheld.shares) > 0)
		switch {
		case len(s.refused) > 0 && !again.armed:
			// What is settled meanwhile must not put this off.
			again.arm(backoff.Next(s.Server.Random()))
		case len(s.refused) == 0 && len(s.queue) == 0:
			backoff.Reset()
		}
	}
}

// unfinished reports whether something that was handed over is not written.
func (s *Settler) unfinished() bool {
	return len(s.queue) > 0 || len(s.refused) > 0 || len(s.withheld.shares) > 0 || len(s.behind) > 0
}

// settle writes the shares and forgets what is written.
func (s *Settler) settle(ctx context.Context, shares []batch.Share) {
	if len(shares) == 0 {
		return
	}
	defer func() {
		s.work.empty()
		s.work.shares = emptied(s.work.shares)
	}()
	s.work.bury = s.Bury
	s.work.sent = s.Clock.Now()
	s.work.build(s.Owner, s.Marks, s.Server.Epoch(), shares)
	s.work.settlement.Repeat = s.Repeat
	res, err := s.send(ctx)
	if s.Alone != nil {
		s.Alone.Settled(s.work.items)
	}
	if err != nil {
		s.giveUp(ctx, shares, err)
		return
	}
	s.publishUnfenced(ctx)
	s.judge(ctx, res)
	s.buryTrimmed(ctx, res)
	s.release(ctx)
	s.tellDuplicates()
	s.tellRefused()
	s.stop()
	s.report(shares)
}

// stop ends the subscription because of entries that must not be passed over.
func (s *Settler) stop() {
	for _, it := range s.work.stops {
		s.Fatal(fmt.Errorf("entry %s: %s (on_%s = \"stop\"): it stays pending; mend it or the handler and start again",
			it.Delivery.ID, s.said(it), policyName(it)))
	}
}

// said is why an attempt failed, as events may tell it. What is wrong with an entry that
// could not be decoded is told without its values.
func (s *Settler) said(it *batch.Item) string {
	if s.Sensitive && it.Invalid == nil {
		return "it failed, and its stream has sensitive fields, so that `pipeline pending show` has the error"
	}
	return it.Outcome.Why().Error
}

func policyName(it *batch.Item) string {
	if it.Outcome.Result == observe.ResultInvalid {
		return "invalid"
	}
	return "failure"
}

// send sends the settlement until its answer arrives. An answer that was lost
// is not a reason to do anything else: the same settlement is right again.
func (s *Settler) send(ctx context.Context) (broker.SettleResult, error) {
	defer s.part.Leave()
	for {
		res, err := s.once(ctx)
		if err == nil {
			s.part.OK()
			return res, nil
		}
		if !broker.Transient(err) {
			return res, err
		}
		s.work.resent = true
		s.work.fence()
		s.part.Failed(err)
		if s.part.Wait(ctx) != nil {
			return res, err
		}
	}
}

func (s *Settler) once(ctx context.Context) (broker.SettleResult, error) {
	if len(s.work.settlement.Waits) > 0 {
		s.afterRenewal(ctx)
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.Broker.Settle(call, &s.work.settlement)
}

// afterRenewal waits for a renewal that is under way: it may name entries that
// have finished meanwhile, and would undo their aging. Those that come later do
// not name them, so that none has to wait for a settlement that hangs.
func (s *Settler) afterRenewal(ctx context.Context) {
	s.Waits.Lock(ctx)
	s.Waits.Unlock()
}

// giveUp handles an error that does not pass. A lost group means that the
// entries will be delivered again; anything else ends the subscription.
func (s *Settler) giveUp(ctx context.Context, shares []batch.Share, err error) {
	if errors.Is(err, broker.ErrNoGroup) {
		s.Server.GroupLost()
		for _, it := range s.work.items {
			it.Outcome.Void(observe.ResultStale)
		}
		s.report(shares)
		return
	}
	s.endSpans(false)
	for _, share := range shares {
		s.leave(share.Len())
		s.forget(share)
	}
	if ctx.Err() == nil {
		s.Fatal(err)
	}
}

// judge reads the results: what was refused is kept for later.
func (s *Settler) judge(ctx context.Context, res broker.SettleResult) {
	w := &s.work
	for _, it := range w.replaced {
		s.stale(it)
	}
	for i, it := range w.stepItems {
		switch r := res.Steps[i]; r.Status {
		case broker.Done:
			s.Tally.Count(tally.Published, len(it.Action.Publish))
		case broker.Duplicate:
			s.duplicate(it, r.Mark)
		case broker.NotOwned:
			switch {
			case s.written(it, r.Mark):
				s.Tally.Count(tally.Published, len(it.Action.Publish))
			case !s.ours(ctx, it):
				s.stale(it)
			case it.Action.Mark:
				w.unmarked = append(w.unmarked, it)
			default:
				s.Tally.Count(tally.Published, len(it.Action.Publish))
			}
		case broker.Torn:
			s.Event(observe.Event{
				Name: observe.EventReplyTorn, Level: sandbox.Error, Count: 1, Err: r.Err,
				Message: "entry " + it.Delivery.ID.String() + ": some of its replies were published and one was refused",
			})
		case broker.Refused:
			s.refuse(it, r.Err)
		}
	}
	s.recognize(ctx)
	now := s.Clock.Now()
	for i, it := range w.waitItems {
		wait := &w.settlement.Waits[i]
		switch {
		case res.Waits[i] == broker.NotOwned, res.Waits[i] == broker.Gone && it.Action.Verb == batch.Behind:
			s.stale(it)
		case res.Waits[i] == broker.Gone: // see buryTrimmed
		case it.Action.Park:
			s.Parked.Add(it.Delivery.ID, now.Add(wait.After))
		}
	}
}

// stale tells of an outcome that was not written. Of an entry whose body is
// known to be gone that is lost data: it will not come back for another attempt.
func (s *Settler) stale(it *batch.Item) {
	it.Outcome.Void(observe.ResultStale)
	ev := observe.Event{
		Name: observe.EventStaleSettle, Level: sandbox.Warn, Count: 1,
		Message: "entry " + it.Delivery.ID.String() + " is no longer pending here: another consumer has it, or it was settled or trimmed; nothing was written",
	}
	if it.Lease() == batch.BodyGone {
		ev.Name, ev.Level = observe.EventBodyMissing, sandbox.Error
		ev.Message = "entry " + it.Delivery.ID.String() + " was trimmed while it ran and cannot be tried again: " + s.said(it)
		if it.Action.Verb == batch.Behind {
			ev.Message = "entry " + it.Delivery.ID.String() + " was trimmed while it was held behind an earlier one of its key; it never ran"
		}
	}
	s.Event(ev)
}

// report tells of what was written and forgets it, share by share; refused
// items become shares of their own.
func (s *Settler) report(shares []batch.Share) {
	w := &s.work
	for _, it := range w.items {
		switch {
		case w.kept[it]:
		case it.Action.Verb == batch.Release:
			s.Tally.Count(tally.HandedBack, 1)
		case it.Action.Verb == batch.Leave && it.Lease() == batch.Ours:
			s.leave(1) // called off by a drain that took too long
		case it.Action.Unwritten && it.Outcome.Result != observe.ResultStale:
			s.leave(1) // what it came to was withheld
		case it.Outcome.Result != "":
			s.tell(it)
		case it.Action.Verb == batch.Behind:
			s.Tally.Count(tally.Behind, 1)
		default:
			s.Tally.Count(tally.Waiting, 1)
		}
	}
	s.endSpans(true)
	s.flush()
	if s.Keys != nil {
		w.note()
	}
	for _, share := range shares {
		if len(w.kept) > 0 {
			share = s.keep(share)
		}
		s.forget(share)
	}
	clear(w.kept)
	if s.Keys != nil {
		s.Keys.Settled(w.fates, s.Clock.Now())
	}
}

// tellAtOnce is how many outcomes are told of in one call: each is some hundred
// bytes, which are copied together for that alone.
const tellAtOnce = 256

// tell has it told what became of an item, with others.
func (s *Settler) tell(it *batch.Item) {
	w := &s.work
	if len(w.outcomes) == tellAtOnce {
		s.flush()
	}
	if w.outcomes == nil {
		w.outcomes = make([]observe.Outcome, 0, tellAtOnce)
	}
	w.outcomes = w.outcomes[:len(w.outcomes)+1]
	it.Tell(&w.outcomes[len(w.outcomes)-1])
}

// flush tells of the outcomes that were copied together.
func (s *Settler) flush() {
	w := &s.work
	s.Settled(w.outcomes)
	w.outcomes = emptied(w.outcomes)
}

// leave counts entries that stay pending.
func (s *Settler) leave(n int) {
	s.left += n
	s.Tally.Count(tally.Left, n)
}

// keep moves the refused items of a share to a share of their own, those that are
// not handed back yet to another, and returns the rest.
func (s *Settler) keep(share batch.Share) batch.Share {
	var refused, behind, gone []int32
	for i, index := range share.Index {
		switch it := share.At(i); {
		case !s.work.kept[it]:
			gone = append(gone, index)
		case it.Action.Verb == batch.Release:
			it.SetState(batch.Queued) // so it is renewed until it is let go
			behind = append(behind, index)
		default:
			refused = append(refused, index)
		}
	}
	if len(refused) > 0 {
		s.refused = append(s.refused, batch.Share{Batch: share.Batch, Index: refused})
	}
	if len(behind) > 0 {
		s.behind = append(s.behind, batch.Share{Batch: share.Batch, Index: behind})
	}
	return batch.Share{Batch: share.Batch, Index: gone}
}

func (s *Settler) forget(share batch.Share) {
	if share.Len() == 0 {
		return
	}
	items := s.work.pointers[:0]
	for i := range share.Len() {
		items = append(items, share.At(i))
	}
	s.Held.Settled(share.Batch, items)
	s.work.pointers = emptied(items)
}
