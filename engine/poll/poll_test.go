package poll_test

import (
	"context"
	"errors"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// world is a pipeline of two groups on a server in memory.
type world struct {
	*memory.Broker

	t        *testing.T
	clock    *clock.Virtual
	pipeline *spec.Pipeline
	poller   *poll.Poller
	ids      []broker.ID
}

func newWorld(t *testing.T) *world {
	in, dead := &spec.Stream{Label: "in", Name: "payments"}, &spec.Stream{Label: "dead", Name: "payments.dead"}
	p := &spec.Pipeline{Streams: []*spec.Stream{in, {Label: "out", Name: "out"}}, Groups: []*spec.Group{
		{Label: "ledger", Name: "ledger", Stream: in, DeadLetter: dead},
		{Label: "fraud", Name: "fraud", Stream: in, DeadLetter: dead},
	}}
	c := clock.NewVirtual(time.UnixMilli(1_700_000_000_000))
	w := &world{t: t, clock: c, pipeline: p, Broker: memory.New(c, memory.Options{})}
	w.poller = poll.New(p, w, c, func() float64 { return 0.5 })
	t.Cleanup(func() { _ = w.Close() })
	return w
}

func (w *world) add(stream string, n int) {
	w.t.Helper()
	for range n {
		ids, err := w.Add(w.t.Context(), []broker.Add{{Stream: stream, Fields: []broker.Field{{Name: "a", Value: "b"}}}})
		if err != nil {
			w.t.Fatal(err)
		}
		w.ids = append(w.ids, ids...)
	}
}

func (w *world) group(name string) {
	w.t.Helper()
	if _, err := w.CreateGroup(w.t.Context(), "payments", name, "0"); err != nil {
		w.t.Fatal(err)
	}
}

func (w *world) read(n int) {
	w.t.Helper()
	owner := broker.Owner{Stream: "payments", Group: "ledger", Consumer: "c"}
	if d, err := w.Read(w.t.Context(), broker.ReadRequest{Owner: owner, Count: n}); err != nil || len(d) != n {
		w.t.Fatal(len(d), err)
	}
}

func TestBeforeTheFirstLookNothingIsKnown(t *testing.T) {
	w := newWorld(t)
	s := w.poller.Latest()
	if s.Up() || s.Fresh(w.clock.Now()) || len(s.Streams) != 3 || s.Streams[0].Known || len(w.poller.History()) != 0 {
		t.Errorf("%+v", s)
	}
}

func TestWhatASnapshotTells(t *testing.T) {
	w := newWorld(t)
	w.add("payments", 5)
	w.group("ledger")
	w.group("stranger")
	w.clock.Advance(10 * time.Second)
	w.read(2)
	w.add("payments.dead", 3)
	w.clock.Advance(time.Minute)

	s := w.poller.Once(t.Context())
	if !s.Up() || s.Err != nil || !s.Answered.Equal(w.clock.Now()) || !s.Server.Equal(w.clock.Now()) {
		t.Fatalf("%+v", s)
	}
	in := s.Stream("payments")
	if !in.Known || in.Length != 5 || in.Added != 5 || in.First != w.ids[0] || in.Last != w.ids[4] || in.Oldest != 70*time.Second || in.DeadLetters {
		t.Errorf("the stream: %+v", in)
	}
	if len(in.Others) != 1 || in.Others[0].Name != "stranger" {
		t.Errorf("other groups: %+v", in.Others)
	}
	g := s.Group(w.pipeline.Groups[0])
	if !g.Known || !g.LagKnown || g.Lag != 3 || g.Pending != 2 || g.Read != 2 || g.LastDelivered != w.ids[1] ||
		g.OldestPending != 70*time.Second || g.OldestUndelivered != 70*time.Second || g.TrimGap != 0 {
		t.Errorf("the group: %+v", g)
	}
	if len(g.Oldest) != 2 || g.Oldest[0].ID != w.ids[0] || g.Oldest[0].Deliveries != 1 {
		t.Errorf("the oldest pending entries: %+v", g.Oldest)
	}
	if len(g.Consumers) != 1 || g.Consumers[0] != (broker.ConsumerInfo{Name: "c", Pending: 2, Idle: time.Minute}) {
		t.Errorf("its consumers: %+v", g.Consumers)
	}
	if missing := s.Group(w.pipeline.Groups[1]); missing.Known || !missing.Missing() {
		t.Errorf("a group that was not created: %+v", missing)
	}
	if dead := s.Stream("payments.dead"); !dead.DeadLetters || dead.Length != 3 || dead.Oldest != time.Minute {
		t.Errorf("the dead letters: %+v", dead)
	}
	if out := s.Stream("out"); !out.Known || out.Length != 0 || out.Oldest != 0 {
		t.Errorf("an absent stream: %+v", out)
	}
	if s.Stream("none") != nil || s.Group(&spec.Group{}) != nil {
		t.Error("found what is not there")
	}
}

func TestTheAgesAreKnownWhereTheLagIsNot(t *testing.T) {
	w := newWorld(t)
	w.add("payments", 4)
	w.group("ledger")
	w.read(1)
	if _, err := w.Remove(t.Context(), "payments", w.ids[2:3]); err != nil {
		t.Fatal(err)
	}
	w.clock.Advance(time.Second)
	g := w.poller.Once(t.Context()).Group(w.pipeline.Groups[0])
	if g.LagKnown || g.OldestUndelivered != time.Second || g.OldestPending != time.Second {
		t.Errorf("%+v", g)
	}
	if point := w.poller.History()[0].Groups[0]; point.Lag != -1 || point.Pending != 1 {
		t.Errorf("the point says %+v", point)
	}
}

func TestATrimGap(t *testing.T) {
	w := newWorld(t)
	w.add("payments", 4)
	w.group("ledger")
	w.read(3)
	if _, err := w.Trim(t.Context(), broker.TrimRequest{Stream: "payments", MinID: w.ids[2]}); err != nil {
		t.Fatal(err)
	}
	if g := w.poller.Once(t.Context()).Group(w.pipeline.Groups[0]); g.TrimGap != 2 || g.Pending != 3 {
		t.Errorf("%+v", g)
	}
}

func TestAServerThatIsAwayLeavesWhatWasKnown(t *testing.T) {
	w := newWorld(t)
	w.add("payments", 4)
	good := w.poller.Once(t.Context())
	w.SetFault(func(memory.Call) memory.Effect { return memory.Effect{Err: broker.ErrUnavailable, Skip: true} })
	w.clock.Advance(15 * time.Second)
	s := w.poller.Once(t.Context())
	if s.Up() || !errors.Is(s.Err, broker.ErrUnavailable) || !s.Answered.Equal(good.Answered) || s.Stream("payments").Length != 4 {
		t.Errorf("%+v", s)
	}
	if !s.Fresh(w.clock.Now()) || s.Fresh(w.clock.Now().Add(time.Millisecond)) {
		t.Error("it is fresh for three rounds and no longer")
	}
	w.SetFault(nil)
	if s = w.poller.Once(t.Context()); !s.Up() || !s.Answered.Equal(w.clock.Now()) {
		t.Errorf("it came back: %+v", s)
	}
	if h := w.poller.History(); len(h) != 3 || !h[0].Up || h[1].Up || h[1].Streams != nil || !h[2].Up {
		t.Errorf("history %+v", h)
	}
}

func TestAStreamThatCannotBeLookedAtDoesNotHideTheOthers(t *testing.T) {
	w := newWorld(t)
	w.add("payments", 1)
	w.SetString("out")
	s := w.poller.Once(t.Context())
	if out := s.Stream("out"); !s.Up() || out.Known || !errors.Is(out.Err, broker.ErrWrongType) {
		t.Errorf("%+v", out)
	}
	if in := s.Stream("payments"); !in.Known || in.Length != 1 {
		t.Errorf("%+v", in)
	}
	if h := w.poller.History(); h[0].Streams[1] != (poll.StreamPoint{Length: -1, Added: -1}) {
		t.Errorf("the point says %+v", h[0])
	}
}

func TestALookThatIsBrokenOffSaysNothingOfTheServer(t *testing.T) {
	w := newWorld(t)
	before := w.poller.Once(t.Context())
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if s := w.poller.Once(ctx); s != before {
		t.Errorf("%+v", s)
	}
}

func TestItAsksEveryFiveSecondsAndKeepsAnHour(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	changed := w.poller.Changed()
	running.Go(func() { w.poller.Run(ctx) })
	const looks = 800
	for i := range looks {
		<-changed
		changed = w.poller.Changed()
		if n := min(i+1, 720); len(w.poller.History()) != n {
			t.Fatalf("%d points after %d looks", len(w.poller.History()), i+1)
		}
		w.next()
	}
	<-changed
	cancel()
	running.Wait()
	h := w.poller.History()
	if first, last := h[0].At, h[len(h)-1].At; last.Sub(first) != 719*poll.Every || !last.Equal(w.clock.Now()) {
		t.Errorf("from %v to %v", first, last)
	}
}

// What changes is seen within a moment, with what changes beside it, and not once for each.
func TestWhatChangesIsSeenSoon(t *testing.T) {
	w := newWorld(t)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	looked := w.poller.Changed()
	running.Go(func() { w.poller.Run(ctx) })
	look := func() time.Duration {
		began := w.clock.Now()
		w.next()
		<-looked
		looked = w.poller.Changed()
		return w.clock.Now().Sub(began)
	}
	<-looked
	looked = w.poller.Changed()
	w.group("ledger")
	w.poller.Soon()
	w.poller.Soon()
	w.sleepsLess(poll.Every / 2)
	w.group("fraud")
	w.poller.Soon()
	if after := look(); after > 500*time.Millisecond {
		t.Errorf("it looks after %v", after)
	}
	for _, g := range w.pipeline.Groups {
		if !w.poller.Latest().Group(g).Known {
			t.Errorf("it does not see %s", g.Name)
		}
	}
	w.sleepsLess(2 * poll.Every)
	if after := look(); after != poll.Every {
		t.Errorf("nothing else has changed, and it looks after %v", after)
	}
	cancel()
	running.Wait()
}

// sleepsLess waits until the poller sleeps for less than d.
func (w *world) sleepsLess(d time.Duration) {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if due, sleeps := w.clock.Next(); sleeps && due.Sub(w.clock.Now()) < d {
			return
		}
	}
	w.t.Fatal("the poller does not go to sleep")
}

// next waits until the poller sleeps and moves the clock to when it wakes.
func (w *world) next() {
	w.t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); runtime.Gosched() {
		if due, sleeps := w.clock.Next(); sleeps {
			w.clock.AdvanceToNext(due)
			return
		}
	}
	w.t.Fatal("the poller does not go to sleep")
}

func TestManyLookAtOnce(t *testing.T) {
	w := newWorld(t)
	var all sync.WaitGroup
	for range 8 {
		all.Go(func() {
			for range 50 {
				w.poller.Once(t.Context())
				_ = w.poller.Latest().Stream("payments").Length
				_ = len(w.poller.History())
			}
		})
	}
	all.Wait()
	if n := len(w.poller.History()); n != 400 {
		t.Errorf("%d points", n)
	}
}

func TestTheAgeOfIdsThatNoClockGave(t *testing.T) {
	w := newWorld(t)
	for _, c := range []struct {
		id  broker.ID
		age time.Duration
	}{
		{broker.ID{Ms: 1_800_000_000_000}, 0},
		{broker.ID{Seq: 1}, 1_700_000_000_000 * time.Millisecond},
		{broker.ID{Ms: 1_699_999_999_000}, time.Second},
	} {
		p := poll.New(w.pipeline, answer{c.id}, w.clock, func() float64 { return 0 })
		if got := p.Once(t.Context()).Stream("payments").Oldest; got != c.age {
			t.Errorf("%v is %v old, want %v", c.id, got, c.age)
		}
	}
}

// answer is a server whose streams begin with an id.
type answer struct{ first broker.ID }

func (a answer) Survey(_ context.Context, asks []broker.Ask) (broker.Survey, error) {
	s := broker.Survey{Time: time.UnixMilli(1_700_000_000_000), Streams: make([]broker.StreamSurvey, len(asks))}
	for i := range s.Streams {
		s.Streams[i].FirstID = a.first
		s.Streams[i].Groups = make([]broker.GroupSurvey, len(asks[i].Groups))
	}
	return s, nil
}

// lagging is a server that counts a lag of three; undelivered is the oldest entry that
// it finds behind the group.
type lagging struct{ undelivered broker.ID }

func (l lagging) Survey(_ context.Context, asks []broker.Ask) (broker.Survey, error) {
	s := broker.Survey{Time: time.UnixMilli(1_700_000_000_000), Streams: make([]broker.StreamSurvey, len(asks))}
	for i := range s.Streams {
		s.Streams[i].Groups = make([]broker.GroupSurvey, len(asks[i].Groups))
		for j := range s.Streams[i].Groups {
			g := &s.Streams[i].Groups[j]
			g.Lag, g.LagKnown, g.OldestUndelivered = 3, true, l.undelivered
		}
	}
	return s, nil
}

func TestALagOfNothingIsNone(t *testing.T) {
	w := newWorld(t)
	for undelivered, want := range map[broker.ID]int64{{}: 0, {Ms: 1_699_999_999_000}: 3} {
		p := poll.New(w.pipeline, lagging{undelivered}, w.clock, func() float64 { return 0 })
		if g := p.Once(t.Context()).Group(w.pipeline.Groups[0]); g.Lag != want || !g.LagKnown {
			t.Errorf("behind which there is %v: %+v", undelivered, g)
		}
	}
}
