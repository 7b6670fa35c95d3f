package clock_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pipeline/engine/clock"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func TestVirtualFiresInOrderOfDueTimeThenOfArming(t *testing.T) {
	v := clock.NewVirtual(epoch)
	var got []string
	for _, w := range []struct {
		name string
		d    time.Duration
	}{{"c", 3 * time.Second}, {"a1", time.Second}, {"b", 2 * time.Second}, {"a2", time.Second}} {
		v.AfterFunc(w.d, func() { got = append(got, w.name+v.Now().Sub(epoch).String()) })
	}
	v.Advance(2 * time.Second)
	if want := []string{"a11s", "a21s", "b2s"}; !slices.Equal(got, want) {
		t.Fatalf("fired %v, want %v", got, want)
	}
	if due, ok := v.Next(); !ok || due.Sub(epoch) != 3*time.Second {
		t.Fatalf("next is %v %v, want 3s", due.Sub(epoch), ok)
	}
}

func TestVirtualFiresTimersArmedWhileMoving(t *testing.T) {
	v := clock.NewVirtual(epoch)
	ticks := 0
	var tick func()
	tick = func() {
		ticks++
		v.AfterFunc(time.Second, tick)
	}
	v.AfterFunc(time.Second, tick)
	v.Advance(10 * time.Second)
	if ticks != 10 {
		t.Fatalf("%d ticks, want 10", ticks)
	}
}

func TestVirtualStopAndResetLeaveNoStaleValue(t *testing.T) {
	v := clock.NewVirtual(epoch)
	timer := v.NewTimer(time.Second)
	v.Advance(time.Second)
	if timer.Stop() {
		t.Error("Stop of a fired timer reports that it was pending")
	}
	select {
	case <-timer.C():
		t.Error("a stopped timer still delivers")
	default:
	}
	timer.Reset(time.Second)
	if !timer.Stop() {
		t.Error("Stop of a pending timer reports that it was not")
	}
	v.Advance(time.Hour)
	select {
	case <-timer.C():
		t.Error("a stopped timer fired")
	default:
	}
}

func TestVirtualNeverGoesBack(t *testing.T) {
	v := clock.NewVirtual(epoch)
	v.Advance(time.Minute)
	v.AdvanceToNext(epoch)
	if got := v.Now().Sub(epoch); got != time.Minute {
		t.Fatalf("the clock stands at %v, want 1m", got)
	}
}

func TestSleepEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := clock.Sleep(ctx, clock.NewVirtual(epoch), time.Hour); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v, want context canceled", err)
	}
	if err := clock.Sleep(t.Context(), clock.Real(), time.Nanosecond); err != nil {
		t.Fatal(err)
	}
}
