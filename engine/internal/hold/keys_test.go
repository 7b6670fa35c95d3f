package hold

import (
	"context"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

var now = time.Unix(1_800_000_000, 0)

func id(n int) broker.ID { return broker.ID{Ms: uint64(n)} }

func ids(ns ...int) []broker.ID {
	all := make([]broker.ID, len(ns))
	for i, n := range ns {
		all[i] = id(n)
	}
	return all
}

// scene plays the parts around a set of keys: lanes, settler, sweeper.
type scene struct {
	*Keys

	t      *testing.T
	pokes  int
	turned []bool
}

func newScene(t *testing.T, limit int) *scene {
	s := &scene{t: t}
	s.Keys = NewKeys(limit, func(full bool, _ int) { s.turned = append(s.turned, full) })
	s.OnSooner(func() { s.pokes++ })
	return s
}

func item(key string, n int) *batch.Item {
	return &batch.Item{Delivery: broker.Delivery{Entry: broker.Entry{ID: id(n)}}, Key: key}
}

// run has an item run and come to a verb, which is written unless it stays.
func (s *scene) run(key string, n int, verb batch.Verb, after time.Duration) *batch.Item {
	s.t.Helper()
	it := item(key, n)
	if !s.Admits(it) {
		s.t.Fatalf("%s%d may not run", key, n)
	}
	it.Action = batch.Action{Verb: verb, Wait: &broker.Wait{After: after}}
	s.Ran(it)
	return it
}

// hold has an item be held, and that be written.
func (s *scene) hold(key string, n int) {
	s.t.Helper()
	it := item(key, n)
	if s.Admits(it) {
		s.t.Fatalf("%s%d may run", key, n)
	}
	it.Action = behind(it)
	s.written(it)
}

func (s *scene) written(items ...*batch.Item) {
	var fates []Fate
	for _, it := range items {
		fates = append(fates, FateOf(it))
	}
	s.Settled(fates, now)
}

// takes fails the test unless those are let go at that time.
func (s *scene) takes(at time.Time, n int, want ...int) {
	s.t.Helper()
	if got := s.Take(at, n); !slices.Equal(got, ids(want...)) {
		s.t.Errorf("let go %v, want %v", got, ids(want...))
	}
}

func (s *scene) counts(entries, keys int) {
	s.t.Helper()
	if e, k := s.Counts(); e != entries || k != keys {
		s.t.Errorf("%d entries of %d keys, want %d of %d", e, k, entries, keys)
	}
}

func TestAKeyIsClosedUntilItsRetriedEntryIsSettled(t *testing.T) {
	s := newScene(t, 0)
	a := s.run("a", 1, batch.Wait, time.Second)
	s.hold("a", 2)
	s.run("b", 3, batch.Ack, 0) // another key
	s.takes(now.Add(time.Hour), 9)
	s.written(a) // only now can it be fetched
	s.takes(now, 9)
	s.takes(now.Add(time.Second), 9, 1)
	s.hold("a", 4)
	a = s.run("a", 1, batch.Step, 0)
	s.takes(now.Add(time.Second), 9)
	s.hold("a", 5) // it has run, which is not written
	s.written(a)
	s.takes(now, 9, 2, 4)
	b := s.run("a", 2, batch.Ack, 0)
	c := s.run("a", 4, batch.Ack, 0) // they follow each other at once
	s.hold("a", 6)                   // behind the one that was not fetched yet
	s.written(b, c)
	s.takes(now, 9, 5, 6)
	s.written(s.run("a", 5, batch.Ack, 0), s.run("a", 6, batch.Ack, 0), s.run("a", 7, batch.Ack, 0))
	s.counts(0, 0)
}

func TestMoreAreLetGoAtOnceWhileTheyGoThrough(t *testing.T) {
	s := newScene(t, 0)
	s.written(s.run("a", 1, batch.Wait, 0))
	for n := 2; n <= 200; n++ {
		s.hold("a", n)
	}
	var bursts []int
	for {
		taken := s.Take(now.Add(time.Second), 100)
		if len(taken) == 0 {
			break
		}
		bursts = append(bursts, len(taken))
		for _, id := range taken {
			s.written(s.run("a", int(id.Ms), batch.Ack, 0))
		}
	}
	if !slices.Equal(bursts, []int{1, 2, 4, 8, 16, 32, 64, 64, 9}) {
		t.Errorf("let go %v", bursts)
	}
	s.counts(0, 0)
}

func TestOneThatIsNotPendingHereAnyMoreOpensItsKey(t *testing.T) {
	for name, lose := range map[string]func(s *scene){
		"gone": func(s *scene) { s.Gone(id(1)) },
		"lost": func(s *scene) {
			if !s.Lose(id(1)) || s.Lose(id(1)) || s.Lose(id(99)) {
				s.t.Error("what waited was not lost, or twice")
			}
		},
		"not fetched": func(s *scene) {
			s.takes(now.Add(time.Second), 1, 1)
			if s.Lose(id(1)) {
				s.t.Error("what is on its way waits")
			}
			s.Gone(id(1))
		},
		"stale": func(s *scene) {
			s.takes(now.Add(time.Second), 1, 1)
			it := s.run("a", 1, batch.Ack, 0)
			it.Outcome.Result = observe.ResultStale
			s.written(it)
		},
	} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0)
			s.written(s.run("a", 1, batch.Wait, time.Second))
			s.hold("a", 2)
			s.pokes = 0
			lose(s)
			if s.pokes == 0 {
				t.Error("nobody was told")
			}
			s.takes(now, 9, 2)
			s.counts(1, 1)
		})
	}
}

// A server that has lost its last writes gives ids once more. What they named is gone, and must not keep its key closed.
func TestAnIDThatComesUnderAnotherKeyNamesAnotherEntry(t *testing.T) {
	for name, verb := range map[string]batch.Verb{"that waits": batch.Wait, "that is settled": batch.Ack} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 0)
			first := s.run("a", 1, batch.Wait, time.Second)
			s.hold("a", 2)
			s.hold("a", 3)
			s.written(first)
			again := s.run("b", 2, verb, time.Hour)
			s.written(again)
			s.takes(now.Add(time.Second), 9, 1)
			s.written(s.run("a", 1, batch.Ack, 0))
			s.takes(now.Add(time.Second), 9, 3)
			s.written(s.run("a", 3, batch.Ack, 0))
			if verb == batch.Wait {
				s.counts(1, 1)
				s.takes(now.Add(time.Hour), 9, 2)
				s.written(s.run("b", 2, batch.Ack, 0))
			}
			s.counts(0, 0)
		})
	}
}

func TestWhatCouldNotBeFetchedIsTriedAgain(t *testing.T) {
	s := newScene(t, 0)
	s.written(s.run("a", 1, batch.Wait, 0))
	s.takes(now, 9, 1)
	s.Back(ids(1, 77), now.Add(time.Second))
	s.takes(now, 9)
	s.hold("a", 2)
	s.takes(now.Add(time.Second), 9, 1)
}

func TestAnEntryThatStopsTheSubscriptionKeepsItsKeyClosed(t *testing.T) {
	s := newScene(t, 0)
	s.written(s.run("a", 1, batch.Stop, 0))
	s.hold("a", 2)
	s.written(s.run("b", 3, batch.Wait, 0))
	s.hold("b", 4)
	s.takes(now, 9, 3)
	it := s.run("b", 3, batch.Step, 0)
	it.Action.Verb = batch.Leave // the server will never take it
	s.written(it)
	s.hold("b", 5)
	s.takes(now.Add(time.Hour), 9)
	s.counts(5, 2)
}

func TestWhatIsNotDueIsKeptWithItsTime(t *testing.T) {
	s := newScene(t, 0)
	s.Keep("a", id(5), now.Add(time.Minute))
	s.Keep("a", id(5), now.Add(time.Minute))
	s.hold("a", 6)
	early := s.run("a", 4, batch.Wait, time.Hour) // an older one may run, and then comes first
	s.written(early)
	if due, ok := s.Next(); !ok || !due.Equal(now.Add(time.Hour)) {
		t.Errorf("next %v %v", due, ok)
	}
	s.takes(now.Add(2*time.Minute), 9)
	s.takes(now.Add(time.Hour), 9, 4)
	s.written(s.run("a", 4, batch.Ack, 0))
	s.takes(now.Add(time.Hour), 9, 5)
}

func TestTheSetIsFullAtItsLimitAndHasRoomAtHalfOfIt(t *testing.T) {
	s := newScene(t, 4)
	s.written(s.run("a", 1, batch.Wait, time.Hour))
	for n := 2; n <= 6; n++ {
		s.hold("a", n)
	}
	waited := make(chan error)
	go func() { waited <- s.Wait(t.Context()) }()
	s.Gone(ids(4, 5)...)
	s.Gone(id(6))
	if !s.Full() || !slices.Equal(s.turned, []bool{true}) {
		t.Errorf("full %v, turned %v", s.Full(), s.turned)
	}
	s.pokes = 0
	s.Gone(id(3))
	if err := <-waited; err != nil || s.Full() || !slices.Equal(s.turned, []bool{true, false}) || s.pokes == 0 {
		t.Errorf("%v, full %v, turned %v, pokes %d", err, s.Full(), s.turned, s.pokes)
	}
	if err := s.Wait(t.Context()); err != nil {
		t.Error(err)
	}
	s = newScene(t, 1)
	s.written(s.run("a", 1, batch.Wait, time.Hour))
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := s.Wait(ctx); err == nil || !s.Full() {
		t.Errorf("%v, full %v", err, s.Full())
	}
}

func TestWhatWaitsIsRenewedAndWhatWasPassedAtOnce(t *testing.T) {
	s := newScene(t, 0)
	a := s.run("a", 1, batch.Wait, time.Second)
	s.hold("a", 2)
	if got := s.IDs(nil); !slices.Equal(got, ids(2)) {
		t.Errorf("to be renewed: %v; what is not written is renewed with its batch", got)
	}
	s.written(a)
	if got := s.Trailing(9); !slices.Equal(got, ids(1, 2)) {
		t.Errorf("1 was written after 2 was: %v", got)
	}
	s.hold("a", 3)
	if got := s.Trailing(9); len(got) != 0 {
		t.Errorf("trailing %v", got)
	}
	s.takes(now.Add(time.Second), 9, 1)
	got := s.IDs(nil)
	slices.SortFunc(got, broker.ID.Compare)
	if trails := s.Trailing(1); !slices.Equal(got, ids(2, 3)) || !slices.Equal(trails, ids(2)) {
		t.Errorf("to be renewed: %v, at once %v", got, trails)
	}
}

func TestAtTheEndWhatWaitsIsLeftAndWhatRunsLater(t *testing.T) {
	s := newScene(t, 0)
	s.written(s.run("a", 1, batch.Wait, time.Second), s.run("b", 2, batch.Wait, time.Hour))
	s.hold("a", 3)
	s.hold("b", 4)
	s.takes(now.Add(time.Second), 9, 1)
	if got := s.Leave(false); len(got) != 2 || got[0] != (Left{ID: id(2), Due: now.Add(time.Hour), Counted: true}) || got[1] != (Left{ID: id(4)}) {
		t.Errorf("left %+v", got)
	}
	s.written(s.run("a", 1, batch.Ack, 0))
	if got := s.Leave(true); len(got) != 1 || got[0] != (Left{ID: id(3)}) {
		t.Errorf("left %+v", got)
	}
	s.counts(0, 0)
}

func TestNoKeysHoldNothing(t *testing.T) {
	var k *Keys
	_, due := k.Next()
	if k.Contains(id(1)) || k.Full() || k.Count() != 0 || k.Lose(id(1)) || due || k.Wait(t.Context()) != nil ||
		len(k.IDs(nil)) != 0 || len(k.Trailing(1)) != 0 || len(k.Leave(true)) != 0 {
		t.Error("no keys hold something")
	}
	k.Gone(id(1))
	k.Settled(nil, now)
}

// TestWhatAHeldEntryCosts bounds the memory of 10,000 of them, of one key and of
// as many keys, and that it is given back.
func TestWhatAHeldEntryCosts(t *testing.T) {
	const n = 10000
	for name, test := range map[string]struct {
		keys  int
		bytes uint64
	}{"one key": {1, 150}, "100 keys": {100, 150}, "each its own": {n, 500}} {
		t.Run(name, func(t *testing.T) {
			s := newScene(t, 2*n)
			key := func(i int) string { return "account-" + strings.Repeat("x", 8) + string(rune('a'+i%test.keys)) }
			before := heapInUse()
			for i := range n {
				s.Keep(key(i), id(i+1), now)
			}
			used := (heapInUse() - before) / n
			t.Logf("%d bytes an entry", used)
			if used > test.bytes {
				t.Errorf("%d bytes an entry, want up to %d", used, test.bytes)
			}
			s.counts(n, test.keys)
			for i := range n {
				s.Gone(id(i + 1))
			}
			s.counts(0, 0)
			runtime.KeepAlive(s)
		})
	}
}

func heapInUse() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
