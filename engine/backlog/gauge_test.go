package backlog_test

import (
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/backlog"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// server has one group, whose lag is known, on every stream.
type server struct {
	mu    sync.Mutex
	lag   int64
	err   error
	looks int
}

func (s *server) GroupInfos(context.Context, string) ([]broker.GroupInfo, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.looks++
	return []broker.GroupInfo{{Name: "g", Lag: s.lag, LagKnown: true}}, s.err
}

func (*server) StreamInfo(context.Context, string) (broker.StreamInfo, error) {
	return broker.StreamInfo{}, errors.New("not to be asked")
}

func (*server) Range(context.Context, string, broker.ID, broker.ID, int) ([]broker.Entry, error) {
	return nil, errors.New("not to be asked")
}

// bench is a gauge whose changes of level are written down.
type bench struct {
	*backlog.Gauge

	t      *testing.T
	server *server
	clock  *clock.Virtual
	told   []backlog.Level
}

func newBench(t *testing.T, limit int64) *bench {
	b := &bench{t: t, server: &server{}, clock: clock.NewVirtual(time.UnixMilli(1_700_000_000_000))}
	b.Gauge = backlog.New(b.server, b.clock, "s", limit, func(s backlog.State) { b.told = append(b.told, s.Level) })
	return b
}

// taken takes messages one by one until there is no room, and adds them to the
// backlog.
func (b *bench) taken() int64 {
	b.t.Helper()
	for n := int64(0); ; n++ {
		ok, err := b.Take(b.t.Context(), 1)
		if err != nil {
			b.t.Fatal(err)
		}
		if !ok {
			b.server.lag += n
			return n
		}
	}
}

func TestEachLookLetsHalfOfTheRoomThrough(t *testing.T) {
	b := newBench(t, 1000)
	var got []int64
	for range 14 {
		got = append(got, b.taken())
		b.clock.Advance(250 * time.Millisecond)
	}
	if want := []int64{500, 250, 125, 63, 31, 16, 8, 4, 2, 1, 0, 0, 0, 0}; !slices.Equal(got, want) {
		t.Errorf("let through %v, want %v", got, want)
	}
	if b.server.lag != 1000 || !slices.Equal(b.told, []backlog.Level{backlog.Slowed, backlog.Full}) {
		t.Errorf("backlog %d, told %v", b.server.lag, b.told)
	}
	if !b.Stuck() {
		t.Error("it does not see that nobody reads")
	}
}

func TestAFullStreamOpensAgainWellBelowItsLimitAndIsFreeBelowThat(t *testing.T) {
	b := newBench(t, 100)
	for _, step := range []struct {
		backlog int64
		level   backlog.Level
		room    int64
	}{
		{0, backlog.Free, 50},
		{79, backlog.Free, 11},
		{80, backlog.Slowed, 10},
		{71, backlog.Slowed, 15},
		{69, backlog.Free, 16},
		{99, backlog.Slowed, 1},
		{100, backlog.Full, 0},
		{91, backlog.Full, 0},
		{100, backlog.Full, 0},
		{90, backlog.Slowed, 5},
		{95, backlog.Slowed, 3},
		{250, backlog.Full, 0},
		{10, backlog.Free, 45},
	} {
		b.clock.Advance(time.Second)
		b.server.lag = step.backlog
		room, err := b.Room(t.Context())
		if s := b.State(); err != nil || s.Level != step.level || room != step.room || s.Entries != step.backlog {
			t.Errorf("with %d: %+v, room %d (%v), want level %v and room %d", step.backlog, s, room, err, step.level, step.room)
		}
	}
	want := []backlog.Level{
		backlog.Slowed, backlog.Free, backlog.Slowed, backlog.Full, backlog.Slowed, backlog.Full, backlog.Free,
	}
	if !slices.Equal(b.told, want) {
		t.Errorf("told %v, want %v", b.told, want)
	}
}

func TestItLooksNoMoreOftenThanNeeded(t *testing.T) {
	for _, c := range []struct {
		name    string
		backlog int64
		// every is how often somebody asks, looks how often is looked in 10 s.
		every time.Duration
		n     int64
		looks int
	}{
		{"with room left", 0, time.Millisecond, 0, 10},
		{"all taken, far from the limit", 0, time.Millisecond, math.MaxInt32, 500},
		{"near the limit", 900, time.Millisecond, math.MaxInt32, 40},
		{"full", 1000, time.Millisecond, 1, 40},
		{"seldom asked", 0, 5 * time.Second, 1, 2},
		{"never asked", 0, time.Hour, 1, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 1000)
			b.server.lag = c.backlog
			for range max(1, 10*time.Second/c.every) {
				if _, err := b.Take(t.Context(), c.n); err != nil {
					t.Fatal(err)
				}
				b.clock.Advance(c.every)
			}
			if b.server.looks != c.looks {
				t.Errorf("looked %d times, want %d", b.server.looks, c.looks)
			}
		})
	}
}

func TestWhatWasNotUsedIsGivenBack(t *testing.T) {
	b := newBench(t, 2)
	for range 3 {
		if ok, err := b.Take(t.Context(), 1); !ok || err != nil {
			t.Fatal(ok, err)
		}
		b.Give(1)
	}
}

func TestAnErrorOfTheServer(t *testing.T) {
	for _, c := range []struct {
		name  string
		kind  error
		ok    bool
		fails bool
	}{
		{"away", broker.ErrUnavailable, false, false},
		{"closed", broker.ErrClosed, false, false},
		{"no stream", broker.ErrWrongType, true, false},
		{"no right", broker.ErrNoPermission, false, true},
		{"unexpected", nil, false, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, 10)
			b.server.err = &broker.Error{Op: "inspect groups of", Stream: "s", Kind: c.kind}
			ok, err := b.Take(t.Context(), 1)
			if ok != c.ok || (err != nil) != c.fails || len(b.told) != 0 {
				t.Errorf("ok %v, error %v, told %v", ok, err, b.told)
			}
			b.server.err = nil
			b.clock.Advance(time.Second)
			if ok, err := b.Take(t.Context(), 1); !ok || err != nil {
				t.Errorf("afterwards: %v, %v", ok, err)
			}
		})
	}
}

func TestAClockThatIsSetBackHoldsNothingUp(t *testing.T) {
	b := newBench(t, 1)
	b.server.lag = 1
	b.taken()
	earlier := clock.NewVirtual(b.clock.Now().Add(-24 * time.Hour))
	b.Gauge = backlog.New(b.server, earlier, "s", 1, nil)
	b.server.lag = 0
	if ok, err := b.Take(t.Context(), 1); !ok || err != nil {
		t.Error(ok, err)
	}
}

// TestOneNeverExceedsTheLimitAndManyByHalvesOfIt lets any number of processes take what they
// may, at any times, and compares with the promised bound.
func TestOneNeverExceedsTheLimitAndManyByHalvesOfIt(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		limit := rapid.Int64Range(1, 2000).Draw(t, "limit")
		n := rapid.IntRange(1, 6).Draw(t, "processes")
		srv, c := &server{}, clock.NewVirtual(time.UnixMilli(0))
		gauges := make([]*backlog.Gauge, n)
		for i := range gauges {
			gauges[i] = backlog.New(srv, c, "s", limit, nil)
		}
		for range rapid.IntRange(1, 200).Draw(t, "steps") {
			g := gauges[rapid.IntRange(0, n-1).Draw(t, "process")]
			if ok, err := g.Take(context.Background(), 1); err != nil {
				t.Fatal(err)
			} else if ok {
				srv.lag++
			}
			if rapid.Bool().Draw(t, "reads") {
				srv.lag = max(0, srv.lag-rapid.Int64Range(0, 20).Draw(t, "acknowledged"))
			}
			c.Advance(time.Duration(rapid.IntRange(0, 400).Draw(t, "ms")) * time.Millisecond)
		}
		// Each holds at most half of the limit, rounded up, from any look.
		if most := limit + int64(max(0, n-1))*(limit+1)/2; srv.lag > most || n == 1 && srv.lag > limit {
			t.Fatalf("backlog %d with limit %d and %d processes", srv.lag, limit, n)
		}
	})
}

func TestManyAskAtOnce(t *testing.T) {
	b := newBench(t, 1000)
	var all sync.WaitGroup
	var mu sync.Mutex
	taken := 0
	for range 8 {
		all.Go(func() {
			for range 200 {
				if ok, err := b.Take(t.Context(), 1); err != nil {
					t.Error(err)
				} else if ok {
					mu.Lock()
					taken++
					mu.Unlock()
				}
			}
		})
	}
	all.Wait()
	if taken != 500 || b.server.looks != 1 {
		t.Errorf("%d taken in %d looks, want 500 in 1", taken, b.server.looks)
	}
}
