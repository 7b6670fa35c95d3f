package clock_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/clock"
)

const soon = 20 * time.Second

// TestTurnsAreTheSameEveryTime has goroutines that wait in every way there is
// write down what they do, and compares what they wrote over many runs.
func TestTurnsAreTheSameEveryTime(t *testing.T) {
	defer goleak.VerifyNone(t)
	first := scene(t)
	if !strings.Contains(first, "main over") {
		t.Fatalf("the scene did not end:\n%s", first)
	}
	for _, n := range []int{1, 2, 8} {
		before := runtime.GOMAXPROCS(n)
		for range 50 {
			if again := scene(t); again != first {
				t.Fatalf("with %d processors:\n%s\nat first:\n%s", n, again, first)
			}
		}
		runtime.GOMAXPROCS(before)
	}
}

// scene is ten goroutines that sleep, contend for a mutex and hand each other
// values. Nothing in it is guarded: turns are.
func scene(t *testing.T) string {
	v := clock.NewVirtual(epoch)
	turns := clock.NewTurns()
	ctx := turns.Context(t.Context())
	var log strings.Builder
	say := func(format string, args ...any) {
		fmt.Fprintf(&log, "%v %s\n", v.Now().Sub(epoch), fmt.Sprintf(format, args...))
	}
	turns.Go("main", func() {
		var all clock.Group
		var mu clock.Mutex
		queue := make(chan int, 3)
		for i := range 10 {
			all.Go(ctx, fmt.Sprint(i), func() {
				mu.Lock(ctx)
				say("%d sleeps with the lock", i)
				_ = clock.Sleep(ctx, v, time.Duration(1+i%3)*time.Second)
				mu.Unlock()
				clock.TurnsOf(ctx).Yield(clock.Rank{Later: 1, First: uint64(100 - i)})
				clock.Until(ctx, func() bool { return len(queue) < cap(queue) })
				queue <- i
				say("%d sent", i)
			})
		}
		for range 10 {
			clock.Until(ctx, func() bool { return len(queue) > 0 })
			say("got %d", <-queue)
			_ = clock.Sleep(ctx, v, 4*time.Second)
		}
		all.Wait(ctx)
		say("main over")
	})
	if err := turns.Run(t.Context(), soon, func() bool { return v.AdvanceToNext(epoch.Add(time.Hour)) }); err != nil {
		t.Fatal(err)
	}
	return log.String()
}

func TestLaterRanksGoLastAndEqualOnesInTheirOrder(t *testing.T) {
	turns := clock.NewTurns()
	var order []string
	for _, r := range []struct {
		name string
		rank clock.Rank
	}{
		{"settle", clock.Rank{Later: clock.LaterSettle}},
		{"call 2", clock.Rank{Later: clock.LaterCall, First: 2}},
		{"call 1-2", clock.Rank{Later: clock.LaterCall, First: 1, Second: 2}},
		{"call 1-1-3", clock.Rank{Later: clock.LaterCall, First: 1, Second: 1, Third: 3}},
		{"call 1-1-2", clock.Rank{Later: clock.LaterCall, First: 1, Second: 1, Third: 2}},
		{"at once", clock.Rank{}},
	} {
		turns.Go(r.name, func() {
			turns.Yield(r.rank)
			order = append(order, r.name)
		})
	}
	if err := turns.Run(t.Context(), soon, nil); err != nil {
		t.Fatal(err)
	}
	if got, want := strings.Join(order, ", "), "at once, call 1-1-2, call 1-1-3, call 1-2, call 2, settle"; got != want {
		t.Errorf("ran %s, want %s", got, want)
	}
}

func TestANapEndsByItsTimeItsWakeOrItsContext(t *testing.T) {
	for _, watched := range []bool{true, false} {
		for _, c := range []struct {
			name  string
			act   func(wake chan struct{}, cancel func(), v *clock.Virtual)
			woken bool
			err   error
		}{
			{"time", func(_ chan struct{}, _ func(), v *clock.Virtual) { v.Advance(time.Second) }, false, nil},
			{"wake", func(wake chan struct{}, _ func(), _ *clock.Virtual) { close(wake) }, true, nil},
			{"context", func(_ chan struct{}, cancel func(), _ *clock.Virtual) { cancel() }, false, context.Canceled},
		} {
			t.Run(fmt.Sprintf("%s, with turns %v", c.name, watched), func(t *testing.T) {
				v := clock.NewVirtual(epoch)
				ctx, cancel := context.WithCancel(t.Context())
				defer cancel()
				wake, done := make(chan struct{}), make(chan struct{})
				turns := clock.NewTurns()
				nap := func() {
					defer close(done)
					if woken, err := clock.Nap(ctx, v, time.Second, wake); woken != c.woken || !errors.Is(err, c.err) {
						t.Errorf("woken %v, %v", woken, err)
					}
				}
				run := func() {
					if err := turns.Run(t.Context(), soon, nil); err != nil {
						t.Error(err)
					}
				}
				if watched {
					ctx = turns.Context(ctx)
					turns.Go("napper", nap)
					run()
				} else {
					go nap()
				}
				for due, ok := v.Next(); !ok || due.IsZero(); due, ok = v.Next() {
					runtime.Gosched()
				}
				c.act(wake, cancel, v)
				run()
				<-done
			})
		}
	}
}

func TestRunSaysWhoDoesNotRest(t *testing.T) {
	t.Run("one that never waits", func(t *testing.T) {
		turns := clock.NewTurns()
		free := make(chan struct{})
		turns.Go("stuck", func() { <-free })
		err := turns.Run(t.Context(), time.Millisecond, nil)
		if !errors.Is(err, clock.ErrBusy) || !strings.Contains(err.Error(), "stuck") {
			t.Errorf("said %v", err)
		}
		close(free)
		if err := turns.Run(t.Context(), soon, nil); err != nil || len(turns.Names()) != 0 {
			t.Errorf("once it is free: %v, %v take part", err, turns.Names())
		}
	})
	t.Run("a loop without end", func(t *testing.T) {
		turns := clock.NewTurns()
		over := false
		turns.Go("spinning", func() {
			for !over {
				turns.Yield(clock.Rank{})
			}
		})
		err := turns.Run(t.Context(), time.Minute, nil)
		if !errors.Is(err, clock.ErrBusy) || !strings.Contains(err.Error(), "spinning") {
			t.Errorf("said %v", err)
		}
		over = true
		if err := turns.Run(t.Context(), soon, nil); err != nil {
			t.Error(err)
		}
	})
	t.Run("a context that is done", func(t *testing.T) {
		turns := clock.NewTurns()
		ctx, cancel := context.WithCancel(t.Context())
		turns.Go("canceling", func() {
			cancel()
			for range 100 {
				turns.Yield(clock.Rank{})
			}
		})
		if err := turns.Run(ctx, soon, nil); err != nil && !errors.Is(err, context.Canceled) {
			t.Errorf("said %v", err)
		}
		if err := turns.Run(t.Context(), soon, nil); err != nil || len(turns.Names()) != 0 {
			t.Errorf("later: %v, %v take part", err, turns.Names())
		}
	})
}

func TestMoveToFiresNothingAndPassesNoTimer(t *testing.T) {
	v := clock.NewVirtual(epoch)
	fired := 0
	v.AfterFunc(time.Minute, func() { fired++ })
	v.MoveTo(epoch.Add(30 * time.Second))
	v.MoveTo(epoch) // never back
	if got := v.Now().Sub(epoch); got != 30*time.Second {
		t.Errorf("stands at %v", got)
	}
	v.MoveTo(epoch.Add(time.Hour))
	if got := v.Now().Sub(epoch); got != time.Minute || fired != 0 {
		t.Errorf("stands at %v, %d fired", got, fired)
	}
	if v.AdvanceToNext(epoch.Add(time.Hour)); fired != 1 {
		t.Error("the timer is lost")
	}
}
