package health_test

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/retry"
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
		b := retry.NewBackoff()
		for range tries {
			s.Failed(broker.ErrUnavailable)
			if err := s.Wait(t.Context(), b); err != nil {
				t.Error(err)
			}
		}
	})
	done := make(chan struct{})
	go func() {
		defer close(done)
		trying.Wait()
	}()
	// Somebody else succeeds once a millisecond.
	for ended := false; !ended; {
		select {
		case <-done:
			ended = true
		default:
			s.OK()
			for range 100 {
				runtime.Gosched()
			}
			v.Advance(time.Millisecond)
		}
	}
	// Every other wait is a whole one, of 30 s and less; all seven together are
	// never below a second but by a chance of one in a million.
	if took := v.Now().Sub(time.Unix(0, 0)); took < time.Second {
		t.Errorf("%d attempts within %v, told %d times", tries, took, told)
	}
}

func TestWhoWaitsIsWokenWhenTheServerIsBack(t *testing.T) {
	v := clock.NewVirtual(time.Unix(0, 0))
	var names []observe.EventName
	s := health.New(v, rand.Float64, func(e observe.Event) { names = append(names, e.Name) })
	s.Failed(broker.ErrUnavailable)
	s.Failed(broker.ErrUnavailable)
	if !s.Down() {
		t.Fatal("a server that fails is up")
	}
	waited := make(chan error)
	go func() { waited <- s.Wait(t.Context(), &retry.Backoff{Min: time.Hour, Max: time.Hour}) }()
	for _, armed := v.Next(); !armed; _, armed = v.Next() {
		runtime.Gosched()
	}
	s.OK()
	if err := <-waited; err != nil || s.Down() {
		t.Fatalf("got %v, down %v", err, s.Down())
	}
	s.OK()
	if want := []observe.EventName{observe.EventServerLost, observe.EventServerBack}; len(names) != 2 || names[0] != want[0] || names[1] != want[1] {
		t.Errorf("told %v, want %v", names, want)
	}
}
