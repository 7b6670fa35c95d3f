package reader

import (
	"context"
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// retried writes down that entries wait for a time, as a failed attempt does.
func (s *scene) retried(o broker.Owner, after time.Duration, ids ...broker.ID) {
	s.t.Helper()
	set := broker.Settlement{Owner: o}
	for _, id := range ids {
		set.Waits = append(set.Waits, broker.Wait{ID: id, Timed: true, After: after, MinIdle: minIdle, Error: "boom"})
	}
	if _, err := s.broker.Settle(s.t.Context(), &set); err != nil {
		s.t.Fatal(err)
	}
}

// counts are the delivery counts of what is pending, by id.
func (s *scene) counts() []int64 {
	var counts []int64
	for _, p := range s.pending() {
		counts = append(counts, p.Deliveries)
	}
	return counts
}

func (s *scene) fault(op string, e memory.Effect) {
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == op {
			return e
		}
		return memory.Effect{}
	})
}

func TestNewEntriesGoStraightToTheLanesThoughTheContextIsOver(t *testing.T) {
	s := newScene(t, memory.Options{})
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "admit" || c.Op == "settle" {
			t.Errorf("%s was asked about new entries", c.Op)
		}
		return memory.Effect{}
	})
	ds := s.deliver(me, 3)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.dispatch.Dispatch(ctx, ds); err != nil {
		t.Fatal(err)
	}
	equal(t, "ran", s.ran(3), idsOf(ds))
	if s.held.Count() != 3 || s.held.Swept() != 0 {
		t.Errorf("%d held, %d of them swept", s.held.Count(), s.held.Swept())
	}
}

// Entries that come again, by a group that was set back, have the lanes sort what
// they hold only while they hold something.
func TestAGroupThatWasSetBackIsReadStraightOnceNothingIsHeld(t *testing.T) {
	s := newScene(t, memory.Options{})
	first, later := s.deliver(me, 1), s.deliver(me, 1)
	come := func(ds []broker.Delivery) batch.Share {
		if err := s.dispatch.Dispatch(t.Context(), ds); err != nil {
			t.Fatal(err)
		}
		equal(t, "ran", s.ran(1), idsOf(ds))
		return <-s.out
	}
	shares := []batch.Share{come(later), come(first)}
	if !shares[1].Batch.Old {
		t.Error("what comes behind a later entry is not sorted")
	}
	for _, share := range shares {
		s.held.Settled(share.Batch, []*batch.Item{share.At(0)})
	}
	if come(first).Batch.Old {
		t.Error("what comes behind nothing is sorted")
	}
}

// What was kept here until its time has waited, though nothing else shows it.
func TestWhatKeysLetGoHasWaited(t *testing.T) {
	s := newScene(t, memory.Options{})
	for _, by := range []arrival{read, fetched} {
		ds := s.deliver(me, 1)
		if err := s.dispatch.dispatch(t.Context(), ds, by); err != nil {
			t.Fatal(err)
		}
		it := <-s.lane.ran
		if waited := it.Waited; waited != (by == fetched) {
			t.Errorf("arrival %d: waited %v", by, waited)
		}
		s.held.Settled((<-s.out).Batch, []*batch.Item{it})
	}
}

func TestRedeliveredEntriesRunInOrderOfTheirIDsThoughTheContextIsOver(t *testing.T) {
	s := newScene(t, memory.Options{})
	ids := idsOf(s.deliver(before, 4))
	ds := s.again(me, before.Consumer, ids...)
	slices.Reverse(ds) // claimed entries come by the time of their delivery
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.dispatch.Dispatch(ctx, ds); err != nil {
		t.Fatal(err)
	}
	equal(t, "ran", s.ran(4), ids)
}

func TestWhatIsHeldIsNotRunTwiceAndItsDeliveryNotCounted(t *testing.T) {
	s := newScene(t, memory.Options{})
	ds := s.deliver(me, 2)
	if err := s.dispatch.Dispatch(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	s.ran(2)
	for range 3 { // claimed from itself, again and again
		if err := s.dispatch.Dispatch(t.Context(), s.again(me, me.Consumer, idsOf(ds)...)); err != nil {
			t.Fatal(err)
		}
	}
	s.still()
	equal(t, "deliveries", s.counts(), []int64{1, 1})
	if s.held.Count() != 2 {
		t.Errorf("%d held, want 2", s.held.Count())
	}
}

func TestWhatIsNotDueIsPutBackUncounted(t *testing.T) {
	for _, park := range []bool{false, true} {
		s := newScene(t, memory.Options{})
		s.dispatch.Park = park
		ids := idsOf(s.deliver(me, 1))
		s.retried(me, time.Minute, ids...)
		if err := s.dispatch.Dispatch(t.Context(), s.again(me, me.Consumer, ids...)); err != nil {
			t.Fatal(err)
		}
		s.still()
		equal(t, "deliveries", s.counts(), []int64{1})
		if s.parked.Contains(ids[0]) != park || s.held.Count() != 0 {
			t.Errorf("park %v: parked %v, %d held", park, s.parked.Contains(ids[0]), s.held.Count())
		}
		if due, ok := s.parked.Next(); ok && due.Sub(s.clock.Now()) != time.Minute {
			t.Errorf("parked until %v from now, want 1m", due.Sub(s.clock.Now()))
		}
	}
}

func TestWhatUsedUpItsAttemptsComesMarkedWithItsLastError(t *testing.T) {
	s := newScene(t, memory.Options{})
	ids := idsOf(s.deliver(me, 1))
	s.retried(me, time.Millisecond, ids...)
	var last *batch.Item
	for n := range 3 { // attempts 2 and 3 run; there is no fourth
		s.clock.Advance(time.Second)
		if err := s.dispatch.Dispatch(t.Context(), s.again(me, me.Consumer, ids...)); err != nil {
			t.Fatal(err)
		}
		last = <-s.lane.ran
		if last.Exhausted != (n == 2) || last.Used != n+1 || last.Past == nil || last.Past.Error != "boom" {
			t.Fatalf("delivery %d: exhausted %v, used %d, past %+v", n+2, last.Exhausted, last.Used, last.Past)
		}
		if alone := n == 1; last.Alone != alone { // after a delivery that came to nothing
			t.Errorf("delivery %d: runs alone: %v", n+2, last.Alone)
		}
		if _, err := s.broker.Begin(t.Context(), me, ids); err != nil {
			t.Fatal(err)
		}
		s.held.Settled(s.batchOf(last), []*batch.Item{last})
	}
}

// batchOf finds the only batch that is held.
func (s *scene) batchOf(it *batch.Item) *batch.Batch {
	share := <-s.out
	if share.At(0) != it {
		s.t.Fatal("another share was handed on")
	}
	return share.Batch
}

// Entries that may have killed a process take no room from others, but there is a
// bound on them: what is beyond it is left to whoever claims it.
func TestWhatRunsAloneIsBoundedAndTakesNoRoom(t *testing.T) {
	for _, park := range []bool{false, true} {
		s := newScene(t, memory.Options{})
		s.dispatch.Suspects, s.dispatch.Park = 2, park
		ids := idsOf(s.deliver(before, 4))
		s.again(me, before.Consumer, ids...)
		if err := s.dispatch.Dispatch(t.Context(), append(s.again(me, me.Consumer, ids...), s.deliver(me, 1)...)); err != nil {
			t.Fatal(err)
		}
		ran := s.ran(3)
		equal(t, "ran", ran[:2], ids[:2])
		s.still()
		equal(t, "deliveries", s.counts(), []int64{3, 3, 2, 2, 1})
		if s.held.Count() != 3 || s.held.Alone() != 2 || s.held.Read() != 1 {
			t.Errorf("%d held, of which %d wait to run alone and %d take room", s.held.Count(), s.held.Alone(), s.held.Read())
		}
		if s.parked.Contains(ids[3]) != park {
			t.Errorf("park %v: parked %v", park, s.parked.Contains(ids[3]))
		}
	}
}

func TestWhatBelongsToAnotherIsNotRun(t *testing.T) {
	s := newScene(t, memory.Options{})
	ids := idsOf(s.deliver(before, 2))
	ds := s.again(me, before.Consumer, ids...)
	s.again(before, me.Consumer, ids[0]) // before this one was asked about
	if err := s.dispatch.Dispatch(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	equal(t, "ran", s.ran(1), ids[1:])
	s.still()
}

func TestAnEntryWithoutABodyIsAcknowledgedAndTold(t *testing.T) {
	s := newScene(t, memory.Options{})
	ds := s.deliver(me, 2)
	ds[0].Fields = nil
	if err := s.dispatch.Dispatch(t.Context(), ds); err != nil {
		t.Fatal(err)
	}
	equal(t, "ran", s.ran(1), []broker.ID{ds[1].ID})
	equal(t, "told", s.eventNames(), []observe.EventName{observe.EventBodyMissing})
	if ps := s.pending(); len(ps) != 1 || ps[0].ID != ds[1].ID {
		t.Errorf("pending: %+v", ps)
	}
}

// An answer that is lost leaves entries pending here that nobody works on; the
// next look brings them in, and only them.
func TestEntriesOfALostAnswerAreOrphansUntilTheyAreSwept(t *testing.T) {
	s := newScene(t, memory.Options{})
	running := s.deliver(me, 1)
	if err := s.dispatch.Dispatch(t.Context(), running); err != nil {
		t.Fatal(err)
	}
	s.ran(1)
	parked := s.deliver(me, 1)
	s.parked.Add(parked[0].ID, s.clock.Now().Add(time.Hour))
	ids := idsOf(s.deliver(before, 2))
	fresh := s.deliver(me, 1)
	s.fault("admit", memory.Effect{Err: broker.ErrUnavailable, Skip: true})
	err := s.dispatch.Dispatch(t.Context(), append(s.again(me, before.Consumer, ids...), fresh...))
	if !broker.Transient(err) {
		t.Fatalf("got %v, want an error that passes", err)
	}
	equal(t, "what needed no asking", s.ran(1), idsOf(fresh))
	if !s.dispatch.Orphans() || s.dispatch.Orphans() {
		t.Error("orphans are not reported, or more than once")
	}
	s.broker.SetFault(nil)
	if err := s.sweeper.Own(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "swept up", s.ran(2), ids)
	s.still()
}
