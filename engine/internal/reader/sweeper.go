package reader

import (
	"context"
	"errors"
	"strings"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/hold"
	"pipeline/engine/internal/lease"
	"pipeline/engine/internal/retry"
	"pipeline/engine/observe"
)

// page is how many pending entries are looked at in one step.
const page = 100

// pagesPerSweep bounds one look through a long pending list; the cursor is
// kept for the next.
const pagesPerSweep = 16

// janitorEvery is how often, on average, pending entries without a body, and
// consumers that are gone, are looked for: not by all at once that started at once.
const janitorEvery = time.Minute

// janitorSoon is how soon it goes on where it found some and has not looked at all.
const janitorSoon = time.Second

// forgotten is how long a consumer without pending entries must have been idle
// to be removed. Removing one that lives does no harm: its next read makes it
// anew.
const forgotten = 10 * time.Minute

// Sweeper brings in what blocking reads do not: entries parked here that are
// due, what earlier holders of this consumer's slot left, and, where the
// server has no claiming reads or only pending entries are wanted, what
// XAUTOCLAIM takes over. Its fields are set before Run.
type Sweeper struct {
	Broker   broker.Broker
	Owner    broker.Owner
	Clock    clock.Clock
	Server   *health.Server
	Held     *batch.Held
	Parked   *retry.Parked
	Dispatch *Dispatcher
	// Keys are those that are held; nil where none are.
	Keys *hold.Keys
	// Room is how many entries may be held because of sweeps. What reads brought
	// does not count: a reader with a backlog keeps its window full.
	Room int
	// MinIdle and Every drive XAUTOCLAIM, while Permit allows it; a zero Every means
	// not at all.
	MinIdle time.Duration
	Every   time.Duration
	Permit  *lease.Permit
	// Leased is the min_idle for which entries of the group are leased to their
	// holders; 0 where nobody claims and nothing is renewed.
	Leased time.Duration
	// Alone: there is no reader, so that orphans are the sweeper's to look for.
	Alone bool
	// Bodies: the server can drop pending entries without a body.
	Bodies bool
	// Predecessors is the common first part of the names of earlier holders of
	// this consumer's slot, Siblings that of all consumers of the subscription.
	Predecessors, Siblings string
	// Slot is the lease of this consumer's name; zero where none is looked after.
	Slot broker.SlotRequest
	// Restore creates a lost group again; Fatal is told of an error that does
	// not pass by waiting.
	Restore func(ctx context.Context) error
	Fatal   func(error)
	Event   func(observe.Event)

	alarm *alarm
	// inherited is closed when the first look at what earlier holders left is
	// over; nil where nobody waits for that.
	inherited chan struct{}
	told      bool
	// part is failing while failed: a sweep of this round did not go through.
	part    *health.Part
	failed  bool
	cursor  broker.ID
	rubbish broker.ID
	// littered: a look for bodies that are gone found some and is not over.
	littered bool
	// hinted: somebody has seen that bodies of pending entries were trimmed.
	hinted atomic.Bool
	// suspects are consumers whose slot was free at the last look.
	suspects map[string]bool
}

// Init makes the sweeper's alarm. Call it before anything is parked.
func (s *Sweeper) Init() {
	s.part = s.Server.Part()
	s.alarm = newAlarm(s.Clock)
	s.Parked.OnSooner(s.alarm.poke)
	if s.Keys != nil {
		s.Keys.OnSooner(s.alarm.poke)
		s.inherited = make(chan struct{})
	}
}

// Hint has the sweeper look at once for pending entries whose bodies were trimmed.
// It is for somebody who has seen that there are some; it is safe for concurrent use
// and does not block.
func (s *Sweeper) Hint() {
	if s.Bodies && !s.hinted.Swap(true) {
		s.alarm.poke()
	}
}

// Waiting reports whether the sweeper has nothing to do now.
func (s *Sweeper) Waiting() bool { return s.alarm.asleep() }

// Turns counts how often the sweeper began or ended to wait: see Reader.Turns.
func (s *Sweeper) Turns() uint64 { return s.alarm.count() }

// Run sweeps until ctx is done.
func (s *Sweeper) Run(ctx context.Context) {
	inherited := false
	defer s.part.Leave()
	nextClaim, nextJanitor := s.Clock.Now(), s.Clock.Now().Add(s.untilJanitor())
	defer s.alarm.stop()
	for ctx.Err() == nil {
		if !inherited && !s.Keys.Full() {
			inherited = s.try(ctx, s.inherit)
			s.tellInherited(inherited)
		}
		if s.Alone && s.Dispatch.Orphans() {
			s.try(ctx, s.Own)
		}
		now := s.Clock.Now()
		s.try(ctx, s.due)
		if s.Keys != nil {
			s.try(ctx, s.open)
		}
		if s.Every > 0 && !now.Before(nextClaim) {
			if s.Permit.Allows() {
				s.try(ctx, s.autoClaim)
			}
			nextClaim = now.Add(s.Every)
		}
		if s.hinted.Swap(false) && s.Permit.Allows() {
			s.try(ctx, s.dropTrimmed)
		}
		if !now.Before(nextJanitor) {
			s.try(ctx, s.clean)
			if nextJanitor = now.Add(s.untilJanitor()); s.littered {
				nextJanitor = now.Add(janitorSoon)
			} else {
				s.try(ctx, s.adopt)
				s.lookAgain()
				inherited = false
				s.alarm.poke()
			}
		}
		if s.failed {
			s.failed = false
			s.pause(ctx)
			inherited = false // it has a turn to ask the server, and asks
			continue
		}
		s.part.Leave() // nothing more is asked for now
		s.alarm.sleep(ctx, s.until(nextClaim, nextJanitor))
	}
}

// glance is how often a pause is looked at: whether it is over already.
const glance = time.Second

// pause waits before the next attempt of a sweep that did not go through, or
// until somebody reached the server. It waits by the alarm, which is exact.
func (s *Sweeper) pause(ctx context.Context) {
	d, back := s.part.Pause()
	for d > 0 && ctx.Err() == nil {
		until := s.Clock.Now().Add(d)
		s.alarm.sleep(ctx, min(d, glance))
		select {
		case <-back:
			s.part.Woken()
			return
		default:
		}
		if d = until.Sub(s.Clock.Now()); d <= 0 && s.part.Failing() {
			d = s.part.Turn()
		}
	}
}

// until is how long there is nothing to do.
func (s *Sweeper) until(nextClaim, nextJanitor time.Time) time.Duration {
	now := s.Clock.Now()
	d := nextJanitor.Sub(now)
	if s.Every > 0 {
		d = min(d, nextClaim.Sub(now))
	}
	if due, ok := s.Parked.Next(); ok {
		d = min(d, due.Sub(now))
	}
	if due, ok := s.Keys.Next(); ok {
		d = min(d, due.Sub(now))
	}
	return max(d, time.Millisecond)
}

// untilJanitor is how long the next look of the janitor is put off.
func (s *Sweeper) untilJanitor() time.Duration {
	return time.Duration((0.5 + s.Server.Random()) * float64(janitorEvery))
}

// try runs one sweep and reports whether it went through. Errors are left to
// the next one, since nothing is lost by an entry that waits longer.
func (s *Sweeper) try(ctx context.Context, sweep func(context.Context) error) bool {
	err := sweep(ctx)
	if err == nil || ctx.Err() != nil {
		return true
	}
	if errors.Is(err, errFull) {
		return false
	}
	s.Dispatch.Orphaned()
	if errors.Is(err, broker.ErrNoGroup) {
		err = s.Restore(ctx)
	}
	switch {
	case err == nil:
	case broker.Transient(err):
		s.part.Failed(err)
	case ctx.Err() == nil:
		s.Fatal(err)
	}
	s.failed = true
	return false
}

// lookAgain has the reader look for entries that were delivered to this
// consumer without arriving: a server may serve a read whose connection is dead
// already. Where somebody claims, a claim finds them.
func (s *Sweeper) lookAgain() {
	if s.Leased == 0 {
		s.Dispatch.Orphaned()
	}
}

// free waits until there is room and returns how much.
func (s *Sweeper) free(ctx context.Context) (int, error) {
	for {
		changed := s.Held.Changed()
		if n := s.Room - s.Held.Swept(); n > 0 {
			return min(n, page), nil
		}
		if err := clock.Wait(ctx, changed); err != nil {
			return 0, err
		}
	}
}

// due takes entries whose time has come out of this consumer's own pending
// list.
func (s *Sweeper) due(ctx context.Context) error {
	for {
		n, err := s.free(ctx)
		if err != nil {
			return err
		}
		ids := s.Parked.Take(s.Clock.Now(), n)
		if len(ids) == 0 {
			return nil
		}
		if err := s.take(ctx, s.Owner.Consumer, ids); err != nil {
			for _, id := range ids {
				s.Parked.Add(id, s.Clock.Now().Add(time.Second))
			}
			return err
		}
	}
}

// take moves entries here and brings them to the lanes.
func (s *Sweeper) take(ctx context.Context, from string, ids []broker.ID) error {
	call, cancel := context.WithTimeout(context.WithoutCancel(ctx), callTimeout)
	defer cancel()
	taken, err := s.Broker.TakeOver(call, s.Owner, from, ids)
	if err != nil {
		return err
	}
	s.Dispatch.BodiesGone(taken.Deleted)
	return s.Dispatch.Sweep(ctx, taken.Deliveries)
}

// inherit takes over what earlier holders of the slot left pending. Where entries
// are leased, only those whose lease ran out or was given up: an earlier holder
// that stood still lost the slot, but may be back, to finish and renew under its
// old name what it holds.
func (s *Sweeper) inherit(ctx context.Context) error {
	consumers, err := s.Broker.ConsumerInfos(ctx, s.Owner.Stream, s.Owner.Group)
	if err != nil {
		return err
	}
	for _, c := range consumers {
		if c.Name == s.Owner.Consumer || !strings.HasPrefix(c.Name, s.Predecessors) {
			continue
		}
		if err := s.inheritFrom(ctx, c.Name); err != nil {
			return err
		}
	}
	s.part.OK()
	return nil
}

// leased reports whether an entry may still be held by who it is pending under.
func (s *Sweeper) leased(p *broker.Pending) bool {
	return s.Leased > 0 && (p.Idle < s.Leased || !s.Permit.Allows())
}

// Own brings in entries that are pending here without being known here:
// those of a read whose answer was lost. It must not run beside a read of the
// same consumer.
func (s *Sweeper) Own(ctx context.Context) error {
	_, err := s.sweep(ctx, s.Owner.Consumer, func(p *broker.Pending) bool {
		return s.Held.Contains(p.ID) || s.Parked.Contains(p.ID) || s.Keys.Contains(p.ID)
	})
	return err
}

// crowded reports whether no more may be held because of sweeps, so that the next
// one has to wait.
func (s *Sweeper) crowded() bool { return s.Held.Swept() >= s.Room }

// sweep takes all that is pending under a consumer, but for what skip names, and
// returns how many it asked for.
func (s *Sweeper) sweep(ctx context.Context, consumer string, skip func(*broker.Pending) bool) (count int, err error) {
	for after := (broker.ID{}); ; {
		if s.Keys.Full() {
			return count, errFull
		}
		n, err := s.free(ctx)
		if err != nil {
			return count, err
		}
		pending, err := s.Broker.Pending(ctx, s.Owner.Stream, s.Owner.Group, consumer, after, n)
		if err != nil || len(pending) == 0 {
			return count, err
		}
		var ids []broker.ID
		for i := range pending {
			after = pending[i].ID
			if !skip(&pending[i]) {
				ids = append(ids, after)
			}
		}
		if len(ids) == 0 {
			continue
		}
		if err := s.take(ctx, consumer, ids); err != nil {
			return count, err
		}
		count += len(ids)
	}
}

// autoClaim takes over what has been idle for MinIdle, some pages at a time.
func (s *Sweeper) autoClaim(ctx context.Context) error {
	for range pagesPerSweep {
		if s.Keys.Full() {
			return errFull
		}
		n, err := s.free(ctx)
		if err != nil {
			return err
		}
		res, err := s.Broker.AutoClaim(ctx, broker.AutoClaimRequest{
			Owner: s.Owner, MinIdle: s.MinIdle, Start: s.cursor, Count: n,
		})
		if err != nil {
			return err
		}
		s.part.OK()
		s.cursor = res.Next
		s.Dispatch.BodiesGone(res.Deleted)
		if err := s.Dispatch.Sweep(ctx, res.Deliveries); err != nil {
			return err
		}
		if s.cursor.IsZero() {
			return nil
		}
	}
	return nil
}

// clean clears away what nobody else does.
func (s *Sweeper) clean(ctx context.Context) (err error) {
	if s.Bodies && s.Permit.Allows() {
		if s.littered, err = s.dropBodiless(ctx); err != nil || s.littered {
			return err
		}
	}
	return s.removeForgotten(ctx)
}

// dropTrimmed drops entries without a body at the head of the pending list, where a
// trim leaves them: it removes the oldest.
func (s *Sweeper) dropTrimmed(ctx context.Context) error {
	var at broker.ID
	for range pagesPerSweep {
		res, err := s.Broker.AutoClaim(ctx, broker.AutoClaimRequest{
			Owner: s.Owner, MinIdle: s.Leased, Start: at, Count: page, JustDeleted: true,
		})
		if err != nil {
			return err
		}
		s.Dispatch.BodiesGone(res.Deleted)
		if at = res.Next; at.IsZero() || len(res.Deleted) == 0 {
			return nil
		}
	}
	return nil
}

// dropBodiless drops pending entries whose body was deleted, some pages at a
// time: claiming reads skip them and leave them for ever, and become slow over
// many. What is leased to a living worker, which may be running it, is left to it.
// More reports that there were some and the look is not over.
func (s *Sweeper) dropBodiless(ctx context.Context) (more bool, err error) {
	found := 0
	for range pagesPerSweep {
		res, err := s.Broker.AutoClaim(ctx, broker.AutoClaimRequest{
			Owner: s.Owner, MinIdle: s.Leased, Start: s.rubbish, Count: page, JustDeleted: true,
		})
		if err != nil {
			return false, err
		}
		s.rubbish = res.Next
		found += len(res.Deleted)
		s.Dispatch.BodiesGone(res.Deleted)
		if s.rubbish.IsZero() {
			return false, nil
		}
	}
	return found > 0, nil
}

// removeForgotten removes consumers of this subscription that have long been
// gone and hold nothing.
func (s *Sweeper) removeForgotten(ctx context.Context) error {
	consumers, err := s.Broker.ConsumerInfos(ctx, s.Owner.Stream, s.Owner.Group)
	if err != nil {
		return err
	}
	for _, c := range consumers {
		if c.Pending > 0 || c.Idle < forgotten || c.Name == s.Owner.Consumer || !strings.HasPrefix(c.Name, s.Siblings) {
			continue
		}
		owner := s.Owner
		owner.Consumer = c.Name
		if _, err := s.Broker.RemoveConsumer(ctx, owner); err != nil {
			return err
		}
	}
	return nil
}
