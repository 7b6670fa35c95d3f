package health_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/health"
	"pipeline/engine/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// One part of the server fails while another works, as half a cluster does, or
// one user's new connections after a change of password. Whoever fails must not
// try again whenever somebody else succeeds.
func TestWhatFailsWhileOthersSucceedIsNotTriedAgainAtTheirPace(t *testing.T) {
	v := clock.NewVirtual(time.Unix(0, 0))
	var mu sync.Mutex
	told := 0
	s := health.New(v, rand.Float64, func(observe.Event) {
		mu.Lock()
		defer mu.Unlock()
		told++
	})
	const tries = 14
	var trying sync.WaitGroup
	trying.Go(func() {
		p := s.Part()
		for range tries {
			p.Failed(broker.ErrUnavailable)
			if err := p.Wait(t.Context()); err != nil {
				t.Error(err)
			}
		}
		p.OK()
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		trying.Wait()
	}()
	// Somebody else succeeds once a millisecond.
	other := s.Part()
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
			other.OK()
			for range 100 {
				runtime.Gosched()
			}
			v.Advance(time.Millisecond)
		}
	}
	// Every other wait is a whole one, of 30 s and less; all seven together are
	// never below a second but by a chance of one in a million.
	if took := v.Now().Sub(time.Unix(0, 0)); took < time.Second {
		t.Errorf("%d attempts within %v", tries, took)
	}
	if told != 2 {
		t.Errorf("told %d times, want twice: when the first failed and when none did", told)
	}
}

func TestWhoWaitsIsWokenWhenTheServerIsBack(t *testing.T) {
	v := clock.NewVirtual(time.Unix(0, 0))
	var names []observe.EventName
	s := health.New(v, rand.Float64, func(e observe.Event) { names = append(names, e.Name) })
	p, other := s.Part(), s.Part()
	p.Failed(broker.ErrUnavailable)
	p.Failed(broker.ErrUnavailable)
	if !s.Down() {
		t.Fatal("a server that fails is up")
	}
	waited := make(chan error)
	go func() { waited <- p.Wait(t.Context()) }()
	for _, armed := v.Next(); !armed; _, armed = v.Next() {
		runtime.Gosched()
	}
	other.OK()
	if err := <-waited; err != nil || !s.Down() {
		t.Fatalf("got %v, down %v: one of them still fails", err, s.Down())
	}
	p.OK()
	other.OK()
	if s.Down() {
		t.Error("all succeed and the server is down")
	}
	if want := []observe.EventName{observe.EventServerLost, observe.EventServerBack}; !slices.Equal(names, want) {
		t.Errorf("told %v, want %v", names, want)
	}
}

func TestEachKindOfTroubleIsToldOnceUntilItIsOver(t *testing.T) {
	var told []string
	s := health.New(clock.NewVirtual(time.Unix(0, 0)), rand.Float64, func(e observe.Event) {
		told = append(told, string(e.Name)+": "+e.Message)
	})
	p, other := s.Part(), s.Part()
	for range 2 {
		for range 3 {
			p.Failed(&broker.Error{Op: "read", Kind: broker.ErrUnavailable})
			other.Failed(&broker.Error{Op: "read", Kind: broker.ErrAuth})
		}
		p.OK()
		other.OK()
	}
	want := []string{
		"redis.lost: the server is away; waiting for it",
		"redis.lost: the server refuses the credentials; they may be changing, so they are tried again",
		"redis.back: the server is back after 0s",
	}
	if want = append(want, want...); !slices.Equal(told, want) {
		t.Errorf("told %q, want %q", told, want)
	}
}

func TestWhoAsksNoMoreDoesNotKeepTheServerDown(t *testing.T) {
	s := health.New(clock.NewVirtual(time.Unix(0, 0)), rand.Float64, func(observe.Event) {})
	p, other := s.Part(), s.Part()
	p.Failed(broker.ErrUnavailable)
	p.Leave()
	p.Leave()
	if !s.Down() {
		t.Error("nobody has succeeded since and the server is up")
	}
	other.OK()
	if s.Down() {
		t.Error("one has left, one has succeeded, and the server is down")
	}
}

// However many parts wait for a server, together they ask for it as often as one
// would: with pauses that grow to 30 s, 15 s on average.
func TestManyPartsAskAsOftenAsOne(t *testing.T) {
	const parts, outage = 30, 10 * time.Minute
	v := clock.NewVirtual(time.Unix(0, 0))
	s := health.New(v, rand.Float64, func(observe.Event) {})
	turns := clock.NewTurns()
	ctx, stop := context.WithCancel(turns.Context(t.Context()))
	var asked []time.Time
	for i := range parts {
		turns.Go(fmt.Sprint("part ", i), func() {
			for p := s.Part(); ; {
				asked = append(asked, v.Now())
				p.Failed(broker.ErrUnavailable)
				if p.Wait(ctx) != nil {
					return
				}
			}
		})
	}
	end := v.Now().Add(outage)
	if err := turns.Run(t.Context(), time.Minute, func() bool { return v.AdvanceToNext(end) }); err != nil {
		t.Fatal(err)
	}
	stop()
	if err := turns.Run(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	// Each finds out for itself first. Ten pauses until they are as long as they
	// get, and forty of 15 s: that it were twice as many is a chance of one in a
	// million.
	if n := len(asked) - parts; n > 100 || n < 25 {
		t.Errorf("asked %d times in %v, want about 50", n, outage)
	}
}
