package reader

import (
	"context"
	"errors"
	"runtime"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
)

// windowBench is a window over a table that a test fills and empties.
type windowBench struct {
	t     *testing.T
	clock *clock.Virtual
	held  *batch.Held
	w     *Window
}

func newWindowBench(t *testing.T, size, workers int) *windowBench {
	b := &windowBench{t: t, clock: clock.NewVirtual(time.Unix(0, 0)), held: batch.NewHeld()}
	b.w = NewWindow(b.clock, b.held, size, workers)
	return b
}

// hold holds n entries and returns how they are settled.
func (b *windowBench) hold(n int) (settle func()) {
	held := batch.Get(n)
	for i := range n {
		held.Grow().Delivery.ID = broker.ID{Ms: uint64(i)}
	}
	b.held.Add(held)
	return func() {
		var items []*batch.Item
		for i := range held.Items {
			items = append(items, &held.Items[i])
		}
		b.held.Settled(held, items)
	}
}

// wait fills the window, settles it after d and returns what may be read then.
func (b *windowBench) wait(want int, d time.Duration) int {
	b.t.Helper()
	settle := b.hold(b.w.limit)
	got := make(chan int)
	// The wait begins at the clock's time when it finds no room; the clock is
	// moved only once somebody waits for a change.
	go func() {
		n, err := b.w.Wait(b.t.Context(), want)
		if err != nil {
			b.t.Error(err)
		}
		got <- n
	}()
	for !b.w.waiting.Load() {
		runtime.Gosched()
	}
	b.clock.Advance(d)
	settle()
	return <-got
}

func TestWindowGrowsWhileRoomIsMadeQuicklyAndShrinksWhileNot(t *testing.T) {
	b := newWindowBench(t, 100, 8)
	if n, _ := b.w.Wait(t.Context(), 100); n != 16 {
		t.Fatalf("a first read may take %d, want two for each worker", n)
	}
	for _, want := range []int{32, 64, 100, 100, 100} {
		if n := b.wait(100, 20*time.Millisecond); n != want {
			t.Fatalf("may read %d, want %d", n, want)
		}
	}
	if b.w.limit != 400 {
		t.Fatalf("the window grew to %d, want four reads", b.w.limit)
	}
	for range 10 {
		b.wait(100, 2*time.Second)
	}
	if b.w.limit != 16 {
		t.Fatalf("the window shrank to %d, want two for each worker", b.w.limit)
	}
	limit := b.w.limit
	b.wait(100, 500*time.Millisecond)
	if b.w.limit != limit {
		t.Fatalf("the window went to %d, want %d: neither quick nor slow", b.w.limit, limit)
	}
}

// A backlog whose entries take next to no time is soon read as much at once as may be.
func TestWindowGrowsTheMoreTheMoreQuicklyRoomIsMade(t *testing.T) {
	for took, want := range map[time.Duration]int{
		0: 128, time.Millisecond: 128, 1600 * time.Microsecond: 112, 3 * time.Millisecond: 64, 7 * time.Millisecond: 32,
		40 * time.Millisecond: 32, 50 * time.Millisecond: 16,
	} {
		b := newWindowBench(t, 1000, 8)
		if n := b.wait(1000, took); n != want {
			t.Errorf("after %v it may read %d, want %d", took, n, want)
		}
	}
	b := newWindowBench(t, 10, 8)
	if n := b.wait(1000, 0); n != 40 {
		t.Errorf("it may read %d, want no more than four reads", n)
	}
}

func TestWindowStaysSmallForAReaderThatNeverWaits(t *testing.T) {
	b := newWindowBench(t, 100, 8)
	for range 10 {
		if _, err := b.w.Wait(t.Context(), 100); err != nil {
			t.Fatal(err)
		}
	}
	if b.w.limit != 16 {
		t.Fatalf("the window grew to %d without need", b.w.limit)
	}
}

func TestWindowEndsWithItsContext(t *testing.T) {
	b := newWindowBench(t, 1, 1)
	b.hold(b.w.limit)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := b.w.Wait(ctx, 1); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %v", err)
	}
}
