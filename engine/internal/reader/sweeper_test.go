package reader

import (
	"context"
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/lane"
	"pipeline/engine/internal/retry"
	"pipeline/engine/observe"
)

const (
	stream  = "s"
	group   = "g"
	minIdle = 30 * time.Second
)

var (
	me     = broker.Owner{Stream: stream, Group: group, Consumer: "c-host-0.me"}
	before = broker.Owner{Stream: stream, Group: group, Consumer: "c-host-0.before"}
)

// scene is a dispatcher and a sweeper on a memory broker, with one lane that
// only notes what comes to it.
type scene struct {
	t        *testing.T
	clock    *clock.Virtual
	broker   *memory.Broker
	held     *batch.Held
	parked   *retry.Parked
	dispatch *Dispatcher
	sweeper  *Sweeper
	lane     *noter
	out      chan batch.Share
	events   []observe.Event
	fatal    []error
}

// noter is a worker that runs nothing: it gives every entry to a channel.
type noter struct{ ran chan *batch.Item }

func (n *noter) Run(_ context.Context, it *batch.Item) bool {
	n.ran <- it
	return true
}

func (n *noter) Close() {}

func newScene(t *testing.T, o memory.Options) *scene {
	s := &scene{t: t, clock: clock.NewVirtual(time.UnixMilli(1_700_000_000_000)), held: batch.NewHeld(), parked: retry.NewParked()}
	s.broker = memory.New(s.clock, o)
	s.lane = &noter{ran: make(chan *batch.Item, 1000)}
	s.out = make(chan batch.Share, 1000)
	var draining atomic.Bool
	worker := lane.New(s.clock, s.lane, s.out, &draining)
	event := func(e observe.Event) { s.events = append(s.events, e) }
	server := health.New(s.clock, rand.Float64, event)
	s.dispatch = &Dispatcher{
		Broker: s.broker, Owner: me, Clock: s.clock, Server: server, Held: s.held, Parked: s.parked, MinIdle: minIdle, MaxAttempts: 3, Suspects: 10,
		Lanes: []*lane.Lane{worker}, Prepare: func(*batch.Batch) {}, Event: event,
	}
	s.sweeper = &Sweeper{
		Broker: s.broker, Owner: me, Clock: s.clock, Server: server, Held: s.held, Parked: s.parked,
		Dispatch: s.dispatch, Room: 10, Predecessors: "c-host-0.", Siblings: "c-",
		Restore: func(context.Context) error { return nil }, Fatal: func(err error) { s.fatal = append(s.fatal, err) }, Event: event,
	}
	s.sweeper.Init()
	var running sync.WaitGroup
	running.Go(func() { worker.Run(context.Background()) })
	t.Cleanup(func() {
		s.sweeper.alarm.stop()
		worker.Close()
		running.Wait()
		_ = s.broker.Close()
	})
	if _, err := s.broker.CreateGroup(t.Context(), stream, group, "0"); err != nil {
		t.Fatal(err)
	}
	return s
}

// add adds n entries.
func (s *scene) add(n int) []broker.ID {
	s.t.Helper()
	adds := slices.Repeat([]broker.Add{{Stream: stream, Fields: []broker.Field{{Name: "a", Value: "b"}}}}, n)
	ids, err := s.broker.Add(s.t.Context(), adds)
	if err != nil {
		s.t.Fatal(err)
	}
	return ids
}

// deliver adds n entries and delivers them to a consumer.
func (s *scene) deliver(o broker.Owner, n int) []broker.Delivery {
	s.t.Helper()
	s.add(n)
	ds, err := s.broker.Read(s.t.Context(), broker.ReadRequest{Owner: o, Count: n})
	if err != nil || len(ds) != n {
		s.t.Fatal(ds, err)
	}
	return ds
}

// again delivers entries to a consumer once more.
func (s *scene) again(o broker.Owner, from string, ids ...broker.ID) []broker.Delivery {
	s.t.Helper()
	taken, err := s.broker.TakeOver(s.t.Context(), o, from, ids)
	if err != nil {
		s.t.Fatal(err)
	}
	return taken.Deliveries
}

// ran are the ids of the next n entries that come to the lane.
func (s *scene) ran(n int) []broker.ID {
	s.t.Helper()
	var got []broker.ID
	for range n {
		select {
		case it := <-s.lane.ran:
			got = append(got, it.Delivery.ID)
		case <-time.After(10 * time.Second):
			s.t.Fatalf("%d of %d entries came to the lane: %v", len(got), n, got)
		}
	}
	return got
}

// still sees to it that nothing more has come to the lane.
func (s *scene) still() {
	s.t.Helper()
	if n := len(s.lane.ran); n != 0 {
		s.t.Fatalf("%d more entries came to the lane", n)
	}
}

func (s *scene) pending() []broker.Pending {
	s.t.Helper()
	ps, err := s.broker.Pending(s.t.Context(), stream, group, "", broker.ID{}, 1000)
	if err != nil {
		s.t.Fatal(err)
	}
	return ps
}

func (s *scene) eventNames() []observe.EventName {
	var names []observe.EventName
	for _, e := range s.events {
		names = append(names, e.Name)
	}
	return names
}

func idsOf(ds []broker.Delivery) []broker.ID {
	ids := make([]broker.ID, len(ds))
	for i := range ds {
		ids[i] = ds[i].ID
	}
	return ids
}

func equal[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

// Reads keep more entries in hand than a sweep may bring, for as long as there
// is a backlog. What waits for its time must not wait for the end of that.
func TestWhatIsDueIsTakenHoweverMuchTheReaderHolds(t *testing.T) {
	s := newScene(t, memory.Options{})
	waiting := s.deliver(me, 3)
	backlog := s.deliver(me, 40)
	if err := s.dispatch.Dispatch(t.Context(), backlog); err != nil {
		t.Fatal(err)
	}
	equal(t, "the backlog", s.ran(40), idsOf(backlog))
	for _, d := range waiting {
		s.parked.Add(d.ID, s.clock.Now())
	}
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
	defer cancel()
	if err := s.sweeper.due(ctx); err != nil {
		t.Fatalf("due entries wait behind %d held ones: %v", s.held.Count(), err)
	}
	equal(t, "what was due", s.ran(3), idsOf(waiting))
}

func TestSweepsBringNoMoreThanTheirRoom(t *testing.T) {
	s := newScene(t, memory.Options{})
	left := s.deliver(before, 25)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error)
	go func() { done <- s.sweeper.inherit(ctx) }()
	equal(t, "the first ones", s.ran(10), idsOf(left[:10]))
	s.still()
	if n := s.held.Count(); n != 10 {
		t.Errorf("%d held, want 10", n)
	}
	cancel()
	if err := <-done; err == nil {
		t.Error("a sweep without room ended before its context")
	}
}

func TestAPauseDoesNotMakeTheReaderForgetHowLargeEntriesAre(t *testing.T) {
	r := &Reader{Batch: 10_000, largest: 1 << 20}
	if n := r.limit(); n > 16 {
		t.Fatalf("asks for %d entries of 1 MiB", n)
	}
	for range 1000 { // reads that bring nothing, a second each
		r.limit()
	}
	if n := r.limit(); n > 16 {
		t.Errorf("after a pause it asks for %d entries that were 1 MiB each", n)
	}
	small := []broker.Delivery{{Entry: broker.Entry{Fields: []broker.Field{{Name: "a", Value: "b"}}}}}
	for range 1000 {
		r.measure(small)
	}
	if n := r.limit(); n != 10_000 {
		t.Errorf("after many small ones it asks for %d, want 10000", n)
	}
}

func TestWhatCannotBeTakenNowStaysParked(t *testing.T) {
	s := newScene(t, memory.Options{})
	ids := idsOf(s.deliver(me, 1))
	s.parked.Add(ids[0], s.clock.Now())
	s.fault("take over", memory.Effect{Err: broker.ErrUnavailable, Skip: true})
	if err := s.sweeper.due(t.Context()); !broker.Transient(err) {
		t.Fatalf("got %v", err)
	}
	if !s.parked.Contains(ids[0]) {
		t.Fatal("it is forgotten")
	}
	s.broker.SetFault(nil)
	s.clock.Advance(time.Second)
	if err := s.sweeper.due(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "ran", s.ran(1), ids)
}

func TestOnlyConsumersOfTheSlotAreInherited(t *testing.T) {
	s := newScene(t, memory.Options{})
	mine := s.deliver(before, 2)
	for _, name := range []string{"c-host-1.other", "c-host-01.other", "d-host-0.other", "c-host-0"} {
		s.deliver(broker.Owner{Stream: stream, Group: group, Consumer: name}, 1)
	}
	if err := s.sweeper.inherit(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "inherited", s.ran(2), idsOf(mine))
	s.still()
	infos, err := s.broker.ConsumerInfos(t.Context(), stream, group)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range infos {
		if c.Name == before.Consumer {
			t.Error("the predecessor's name is still there")
		}
	}
	if len(infos) != 5 {
		t.Errorf("consumers %+v, want the four others and this one", infos)
	}
}

func TestClaimingFollowsTheCursorAndTellsOfMissingBodies(t *testing.T) {
	s := newScene(t, memory.Options{Version: "7.0.15"})
	s.sweeper.MinIdle, s.sweeper.Room = minIdle, 500
	ids := idsOf(s.deliver(before, 250))
	s.broker.DeleteEntries(stream, ids[7])
	s.clock.Advance(minIdle)
	if err := s.sweeper.autoClaim(t.Context()); err != nil {
		t.Fatal(err)
	}
	equal(t, "claimed", s.ran(249), slices.Delete(slices.Clone(ids), 7, 8))
	equal(t, "told", s.eventNames(), []observe.EventName{observe.EventBodyMissing})
}

// Somebody who has seen that bodies were trimmed has them told at once, and not when the
// janitor comes: here the clock stands still. What is leased to somebody alive stays.
func TestBodiesThatWereTrimmedAreToldOnAHint(t *testing.T) {
	s := newScene(t, memory.Options{})
	s.sweeper.Bodies, s.sweeper.Leased = true, minIdle
	told := make(chan int, 10)
	s.dispatch.Event = func(e observe.Event) {
		if e.Name == observe.EventBodyMissing {
			told <- e.Count
		}
	}
	// Of two pages and a half the bodies are gone, of the rest they are there.
	ids := idsOf(s.deliver(broker.Owner{Stream: stream, Group: group, Consumer: "c-gone-0.x"}, 400))
	s.broker.DeleteEntries(stream, ids[:250]...)
	s.clock.Advance(minIdle)
	fresh := idsOf(s.deliver(broker.Owner{Stream: stream, Group: group, Consumer: "c-alive-0.x"}, 3))
	s.broker.DeleteEntries(stream, fresh...)
	ctx, stop := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { s.sweeper.Run(ctx) })
	defer running.Wait()
	defer stop()
	for end := time.Now().Add(30 * time.Second); !s.sweeper.Waiting(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("the sweeper does not come to rest")
		}
	}
	select {
	case n := <-told:
		t.Fatalf("%d are told without a hint", n)
	default:
	}
	s.sweeper.Hint()
	for sum := 0; sum < 250; {
		select {
		case n := <-told:
			sum += n
		case <-time.After(30 * time.Second):
			t.Fatalf("%d of 250 are told", sum)
		}
	}
	stop()
	running.Wait()
	if len(told) > 0 {
		t.Errorf("%d more are told, which are leased to somebody alive", <-told)
	}
}

func TestConsumersAreForgottenOnceTheyAreLongGoneAndHoldNothing(t *testing.T) {
	s := newScene(t, memory.Options{})
	s.deliver(broker.Owner{Stream: stream, Group: group, Consumer: "c-a-0.holds"}, 1)
	for _, name := range []string{"c-a-0.old", "d-a-0.foreign"} {
		if _, err := s.broker.Read(t.Context(), broker.ReadRequest{Owner: broker.Owner{Stream: stream, Group: group, Consumer: name}, Count: 1}); err != nil {
			t.Fatal(err)
		}
	}
	s.clock.Advance(forgotten)
	if _, err := s.broker.Read(t.Context(), broker.ReadRequest{Owner: broker.Owner{Stream: stream, Group: group, Consumer: "c-b-0.young"}, Count: 1}); err != nil {
		t.Fatal(err)
	}
	if err := s.sweeper.removeForgotten(t.Context()); err != nil {
		t.Fatal(err)
	}
	infos, err := s.broker.ConsumerInfos(t.Context(), stream, group)
	if err != nil {
		t.Fatal(err)
	}
	var names []string
	for _, c := range infos {
		names = append(names, c.Name)
	}
	slices.Sort(names)
	equal(t, "consumers", names, []string{"c-a-0.holds", "c-b-0.young", "d-a-0.foreign"})
}

func TestALostGroupIsRestoredAndAnErrorThatDoesNotPassIsFatal(t *testing.T) {
	for _, c := range []struct {
		name     string
		err      error
		restored int
		fatal    int
	}{
		{"lost group", broker.ErrNoGroup, 1, 0},
		{"server away", broker.ErrUnavailable, 0, 0},
		{"full", broker.ErrOutOfMemory, 0, 0},
		{"no permission", broker.ErrNoPermission, 0, 1},
		{"another type", broker.ErrWrongType, 0, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, memory.Options{})
			restored := 0
			s.sweeper.Restore = func(context.Context) error { restored++; return nil }
			if s.sweeper.try(t.Context(), func(context.Context) error { return &broker.Error{Op: "x", Kind: c.err} }) {
				t.Error("a sweep that failed went through")
			}
			if restored != c.restored || len(s.fatal) != c.fatal || !s.dispatch.Orphans() {
				t.Errorf("restored %d times, fatal %v", restored, s.fatal)
			}
		})
	}
}
