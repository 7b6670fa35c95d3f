package reader

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/hold"
	"pipeline/engine/internal/lease"
	"pipeline/engine/internal/tally"
)

// reader is one that claims what has been idle for minIdle, n entries at a time.
func (s *scene) reader(n int) *Reader {
	s.dispatch.Waits = &clock.Mutex{}
	permit := lease.NewPermit(s.clock)
	permit.Server, permit.MinIdle = s.dispatch.Server, minIdle
	permit.Grant(s.clock.Now().Add(time.Hour))
	return &Reader{
		Broker: s.broker, Owner: me, Clock: s.clock, Server: s.dispatch.Server, Dispatch: s.dispatch, Sweeper: s.sweeper,
		Window: NewWindow(s.clock, s.held, 100, 100), Batch: n, Block: time.Minute, MinIdle: minIdle, Permit: permit,
		Restore: func(context.Context) error { return nil },
	}
}

// run runs the reader until the end of the test, or until stop is called.
func (s *scene) run(r *Reader) (stop func()) {
	ctx, cancel := context.WithCancel(s.t.Context())
	var running sync.WaitGroup
	running.Go(func() {
		if err := r.Run(ctx); err != nil {
			s.t.Error(err)
		}
	})
	stop = func() { cancel(); running.Wait() }
	s.t.Cleanup(stop)
	return stop
}

// passTime lets time go on until the end of the test, quickly: reads end by their block,
// pauses by theirs.
func (s *scene) passTime() {
	ctx, cancel := context.WithCancel(s.t.Context())
	var passing sync.WaitGroup
	passing.Go(func() {
		for ctx.Err() == nil {
			s.clock.Advance(time.Second)
			time.Sleep(time.Millisecond)
		}
	})
	s.t.Cleanup(func() { cancel(); passing.Wait() })
}

// counted checks what was counted of the deliveries.
func (s *scene) counted(want map[tally.Part]int64) {
	s.t.Helper()
	got := map[tally.Part]int64{}
	for part := range tally.Started {
		if n := s.dispatch.Tally.Get(part); n != 0 {
			got[part] = n
		}
	}
	if n := s.dispatch.Tally.Get(tally.Claimed); n != 0 {
		got[tally.Claimed] = n
	}
	if !maps.Equal(got, want) {
		s.t.Errorf("counted %v, want %v", got, want)
	}
}

// expected are redelivered entries that a read brought and that wait.
func (s *scene) expected(n int) []broker.Delivery {
	s.t.Helper()
	s.dispatch.Waits, s.dispatch.Tally = &clock.Mutex{}, &tally.Tally{}
	ds := s.again(me, before.Consumer, idsOf(s.deliver(before, n))...)
	s.held.Expect(ds)
	return ds
}

func TestReadingGoesOnWhileTheServerIsAskedAboutWhatComesAgain(t *testing.T) {
	s := newScene(t, memory.Options{})
	claimed := idsOf(s.deliver(before, 4))
	s.clock.Advance(minIdle)
	added := s.add(2)
	var admitted atomic.Int32
	read, behind := make(chan int, 100), make(chan struct{})
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		switch c.Op {
		case "read":
			read <- int(admitted.Load())
		case "admit":
			<-behind
			admitted.Add(1)
		}
		return memory.Effect{}
	})
	r := s.reader(2)
	stop := s.run(r)
	// The first read claims two; the one beside its question brings two new ones,
	// which wait their turn.
	for want := range 2 {
		select {
		case got := <-read:
			if got != 0 {
				t.Fatalf("read %d came after the server was asked about an earlier one", want)
			}
		case <-time.After(time.Minute):
			t.Fatal("nothing is read while the server is asked")
		}
	}
	s.still()
	if r.Waiting() {
		t.Error("the reader waits for entries though the server is still asked about some")
	}
	close(behind)
	equal(t, "ran", s.ran(6), slices.Concat(claimed[:2], added, claimed[2:]))
	stop()
	if admitted.Load() != 2 || s.held.Count() != 6 || s.held.Read() != 6 {
		t.Errorf("asked %d times, %d held, %d of reads; want 2, 6 and 6", admitted.Load(), s.held.Count(), s.held.Read())
	}
}

func TestWhatIsReadAheadIsBroughtThoughTheReaderIsStopped(t *testing.T) {
	s := newScene(t, memory.Options{})
	claimed := idsOf(s.deliver(before, 2))
	s.clock.Advance(minIdle)
	asked, answer := make(chan struct{}), make(chan struct{})
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "admit" {
			close(asked)
			<-answer
		}
		return memory.Effect{}
	})
	stop := s.run(s.reader(10))
	<-asked
	time.AfterFunc(10*time.Millisecond, func() { close(answer) })
	stop()
	if s.held.Count() != 2 {
		t.Errorf("%d are held when the reader has ended, want 2", s.held.Count())
	}
	equal(t, "ran", s.ran(2), claimed)
}

func TestWhatTheServerCannotBeAskedAboutIsLookedForAgain(t *testing.T) {
	s := newScene(t, memory.Options{})
	claimed := idsOf(s.deliver(before, 2))
	s.clock.Advance(minIdle)
	var asked atomic.Int32
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "admit" && asked.Add(1) == 1 {
			return memory.Effect{Err: broker.ErrUnavailable, Skip: true}
		}
		return memory.Effect{}
	})
	s.passTime()
	s.run(s.reader(10))
	equal(t, "ran", s.ran(2), claimed)
}

func TestWhatIsLostWhileItWaitsIsNotRun(t *testing.T) {
	s := newScene(t, memory.Options{})
	ds := s.expected(3)
	ids := idsOf(ds)
	if _, held := s.held.Lose(ids[1], batch.Taken); !held {
		t.Error("what is expected is not held")
	}
	if err := s.dispatch.Expected(t.Context(), ds, s.dispatch.Server.Epoch()); err != nil {
		t.Fatal(err)
	}
	equal(t, "ran", s.ran(2), []broker.ID{ids[0], ids[2]})
	s.still()
	s.counted(map[tally.Part]int64{tally.Received: 3, tally.Claimed: 3, tally.Lost: 1})
	if !s.dispatch.Orphans() {
		t.Error("nobody looks for what becomes of the lost one")
	}
}

func TestWhatCameBeforeTheServerWasLostIsLookedForAndNotRun(t *testing.T) {
	s := newScene(t, memory.Options{})
	ds := s.expected(2)
	epoch := s.dispatch.Server.Epoch()
	s.dispatch.Server.GroupLost()
	if err := s.dispatch.Expected(t.Context(), ds, epoch); err != nil {
		t.Fatal(err)
	}
	s.still()
	s.counted(map[tally.Part]int64{tally.Received: 2, tally.Claimed: 2, tally.Unasked: 2})
	if !s.dispatch.Orphans() || s.held.Count() != 0 || s.held.Read() != 0 {
		t.Errorf("%d are held, %d of reads", s.held.Count(), s.held.Read())
	}
}

// A renewal that arrives behind the answer would undo the aging of an entry that
// is not due.
func TestARenewalUnderWayEndsBeforeTheServerIsAsked(t *testing.T) {
	s := newScene(t, memory.Options{})
	ds := s.expected(2)
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "admit" && len(s.held.IDs(nil)) > 0 {
			t.Error("the server is asked about entries that are renewed")
		}
		return memory.Effect{}
	})
	s.dispatch.Waits.Lock(t.Context())
	renewed := make(chan struct{})
	go func() {
		defer close(renewed)
		time.Sleep(20 * time.Millisecond)
		s.still()
		equal(t, "renewed", s.held.IDs(nil), idsOf(ds))
		s.dispatch.Waits.Unlock()
	}()
	if err := s.dispatch.Expected(t.Context(), ds, s.dispatch.Server.Epoch()); err != nil {
		t.Fatal(err)
	}
	<-renewed
	equal(t, "ran", s.ran(2), idsOf(ds))
}

func TestWhatComesCountsOnce(t *testing.T) {
	s := newScene(t, memory.Options{})
	ds := s.expected(2)
	s.dispatch.Prepare = func(*batch.Batch) {
		if n := s.held.Read(); n != 0 {
			t.Errorf("%d count beside those that are about to be held", n)
		}
	}
	if err := s.dispatch.Expected(t.Context(), ds, s.dispatch.Server.Epoch()); err != nil {
		t.Fatal(err)
	}
	if n := s.held.Read(); n != 2 {
		t.Errorf("%d count, want 2", n)
	}
}

func TestAnErrorThatDoesNotPassEndsTheReaderThoughItReadAhead(t *testing.T) {
	s := newScene(t, memory.Options{})
	s.deliver(before, 2)
	s.clock.Advance(minIdle)
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "admit" {
			return memory.Effect{Err: broker.ErrUnsupported, Skip: true}
		}
		return memory.Effect{}
	})
	s.passTime()
	ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
	defer cancel()
	if err := s.reader(10).Run(ctx); !errors.Is(err, broker.ErrUnsupported) {
		t.Errorf("the reader ends with %v", err)
	}
}

func TestOrphansAreNotLookedForBesideWhatTheServerIsAskedAbout(t *testing.T) {
	s := newScene(t, memory.Options{})
	claimed := idsOf(s.deliver(before, 2))
	s.clock.Advance(minIdle)
	answer, looked := make(chan struct{}), make(chan struct{})
	var asked, answered atomic.Bool
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		switch c.Op {
		case "read":
			s.dispatch.Orphaned()
		case "admit":
			asked.Store(true)
			<-answer
			answered.Store(true)
		case "list pending of":
			time.Sleep(2 * time.Millisecond)
			if asked.Load() && !answered.Load() {
				t.Error("orphans are looked for while the server is asked")
			}
			if answered.Load() {
				select {
				case looked <- struct{}{}:
				default:
				}
			}
		}
		return memory.Effect{}
	})
	s.passTime()
	s.run(s.reader(2))
	time.AfterFunc(50*time.Millisecond, func() { close(answer) })
	select {
	case <-looked:
	case <-time.After(time.Minute):
		t.Error("orphans are not looked for")
	}
	equal(t, "ran", s.ran(2), claimed)
	s.still()
}

func TestNothingIsReadAheadWhereKeysAreHeld(t *testing.T) {
	s := newScene(t, memory.Options{})
	s.deliver(before, 2)
	s.clock.Advance(minIdle)
	var asking atomic.Bool
	s.broker.SetFault(func(c memory.Call) memory.Effect {
		switch c.Op {
		case "admit":
			asking.Store(true)
			time.Sleep(20 * time.Millisecond) // a read would be seen by then
			asking.Store(false)
		case "read":
			time.Sleep(2 * time.Millisecond)
			if asking.Load() {
				t.Error("it reads while the server is asked")
			}
		}
		return memory.Effect{}
	})
	r := s.reader(1)
	r.Keys = hold.NewKeys(100, func(bool, int) {})
	s.dispatch.Keys, s.sweeper.Keys, s.sweeper.inherited = r.Keys, r.Keys, make(chan struct{})
	close(s.sweeper.inherited)
	s.run(r)
	s.ran(2)
}
