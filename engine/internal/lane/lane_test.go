package lane_test

import (
	"context"
	"slices"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/lane"
	"pipeline/engine/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(n int) broker.ID { return broker.ID{Ms: uint64(n)} }

// runner is a handler under the test's control.
type runner struct {
	ran  []broker.ID
	body func(ctx context.Context, it *batch.Item) bool
}

func (r *runner) Run(ctx context.Context, it *batch.Item) bool {
	r.ran = append(r.ran, it.Delivery.ID)
	it.Action = batch.Action{Verb: batch.Ack}
	return r.body == nil || r.body(ctx, it)
}

func (r *runner) Close() {}

// bench is one lane on a clock that stands still.
type bench struct {
	clock    *clock.Virtual
	runner   *runner
	out      chan batch.Share
	draining atomic.Bool
	lane     *lane.Lane
	batch    *batch.Batch
}

// newBench has a share of n entries.
func newBench(n int) *bench {
	b := &bench{clock: clock.NewVirtual(time.Unix(0, 0)), runner: &runner{}, out: make(chan batch.Share, 100), batch: batch.Get(n)}
	for i := range n {
		b.batch.Grow().Delivery.ID = id(i + 1)
	}
	b.lane = lane.New(b.clock, b.runner, b.out, &b.draining)
	return b
}

// run sends the batch, lets the lane work until it is done, and returns the
// lengths of the shares that it handed on.
func (b *bench) run(ctx context.Context) []int {
	b.batch.Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
	b.lane.Close()
	b.lane.Run(ctx)
	close(b.out)
	var sizes []int
	for s := range b.out {
		sizes = append(sizes, s.Len())
	}
	return sizes
}

func (b *bench) verbs() []batch.Verb {
	var verbs []batch.Verb
	for i := range b.batch.Items {
		verbs = append(verbs, b.batch.Items[i].Action.Verb)
	}
	return verbs
}

func TestAShareIsRunInOrderAndHandedOnWhole(t *testing.T) {
	b := newBench(3)
	if got := b.run(t.Context()); !slices.Equal(got, []int{3}) {
		t.Errorf("handed on %v, want one share of 3", got)
	}
	if want := []broker.ID{id(1), id(2), id(3)}; !slices.Equal(b.runner.ran, want) {
		t.Errorf("ran %v, want %v", b.runner.ran, want)
	}
}

func TestWhatIsFinishedDoesNotWaitForSlowEntriesBehindIt(t *testing.T) {
	b := newBench(4)
	b.runner.body = func(_ context.Context, it *batch.Item) bool {
		if it.Delivery.ID == id(2) {
			b.clock.Advance(lane.Flush)
		}
		return true
	}
	if got := b.run(t.Context()); !slices.Equal(got, []int{1, 3}) {
		t.Errorf("handed on %v, want the first, then the other 3", got)
	}
}

func TestWhatIsFinishedDoesNotWaitForTheEntryThatRunsBehindIt(t *testing.T) {
	b := newBench(2)
	b.runner.body = func(_ context.Context, it *batch.Item) bool {
		if it.Delivery.ID == id(1) {
			return true
		}
		b.clock.Advance(lane.Flush)
		select {
		case s := <-b.out:
			if s.Len() != 1 || s.At(0).Delivery.ID != id(1) {
				t.Errorf("%d entries were handed on, want the first", s.Len())
			}
		default:
			t.Error("the first entry waits for the end of the second")
		}
		return true
	}
	if got := b.run(t.Context()); !slices.Equal(got, []int{1}) {
		t.Errorf("handed on %v at the end, want the second", got)
	}
}

func TestWhatTheSettlerHasNoRoomForIsHandedOnLater(t *testing.T) {
	b := newBench(3)
	full := make(chan batch.Share) // takes nothing by itself
	b.lane = lane.New(b.clock, b.runner, full, &b.draining)
	b.runner.body = func(context.Context, *batch.Item) bool {
		b.clock.Advance(lane.Flush) // finds no room, and must not wait for it
		return true
	}
	var sizes []int
	taken := make(chan struct{})
	go func() {
		defer close(taken)
		for s := range full {
			sizes = append(sizes, s.Len())
		}
	}()
	b.batch.Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
	b.lane.Close()
	b.lane.Run(t.Context())
	close(full)
	<-taken
	total := 0
	for _, n := range sizes {
		total += n
	}
	if total != 3 {
		t.Errorf("handed on %v, want 3 in all", sizes)
	}
}

func TestADrainReleasesWhatWasNotStarted(t *testing.T) {
	b := newBench(3)
	b.runner.body = func(context.Context, *batch.Item) bool {
		b.draining.Store(true)
		return true
	}
	b.run(t.Context())
	if want := []batch.Verb{batch.Ack, batch.Release, batch.Release}; !slices.Equal(b.verbs(), want) {
		t.Errorf("got %v, want %v", b.verbs(), want)
	}
}

// What has finished is on its way to the settler before anything is handed back:
// a later entry of its key must not run elsewhere sooner.
func TestADrainHandsOnWhatHasFinishedBeforeItReleases(t *testing.T) {
	b := newBench(3)
	for i, key := range []string{"a", "b", "a"} {
		b.batch.Items[i].Key = key
	}
	b.runner.body = func(_ context.Context, it *batch.Item) bool {
		if it.Delivery.ID == id(2) {
			b.draining.Store(true)
			b.lane.Drain(context.Background())
			for _, want := range []broker.ID{id(1), id(3)} {
				select {
				case s := <-b.out:
					if s.Len() != 1 || s.At(0).Delivery.ID != want {
						t.Errorf("handed on %d items, the first is %v, want %v", s.Len(), s.At(0).Delivery.ID, want)
					}
				default:
					t.Errorf("%v was not handed on while 2-0 runs", want)
				}
			}
		}
		return true
	}
	b.run(t.Context())
	if want := []batch.Verb{batch.Ack, batch.Ack, batch.Release}; !slices.Equal(b.verbs(), want) {
		t.Errorf("got %v, want %v", b.verbs(), want)
	}
}

func TestALostLeaseCallsOffTheRunningEntryAndNoOther(t *testing.T) {
	b := newBench(3)
	first := true
	b.runner.body = func(ctx context.Context, it *batch.Item) bool {
		if it.Delivery.ID == id(2) && first {
			first = false
			it.SetLease(batch.Taken)
			b.lane.Cancel(id(2))
			<-ctx.Done()
			return false
		}
		return ctx.Err() == nil
	}
	b.run(t.Context())
	if want := []batch.Verb{batch.Ack, batch.Leave, batch.Ack}; !slices.Equal(b.verbs(), want) {
		t.Errorf("got %v, want %v", b.verbs(), want)
	}
	if r := b.batch.Items[1].Outcome.Result; r != observe.ResultStale {
		t.Errorf("the lost entry came to %q, want stale", r)
	}
}

func TestAnEntryCalledOffForAnotherRunsOnceMore(t *testing.T) {
	b := newBench(1)
	b.runner.body = func(ctx context.Context, _ *batch.Item) bool {
		if len(b.runner.ran) == 1 {
			b.lane.Cancel(id(1)) // as if it had been meant for the entry before
			return false
		}
		return ctx.Err() == nil
	}
	b.run(t.Context())
	if len(b.runner.ran) != 2 || b.verbs()[0] != batch.Ack {
		t.Errorf("ran %v and came to %v, want twice and Ack", b.runner.ran, b.verbs())
	}
}

func TestALostEntryThatIsQueuedIsNotStarted(t *testing.T) {
	b := newBench(2)
	b.batch.Items[1].SetLease(batch.Taken)
	b.run(t.Context())
	if !slices.Equal(b.runner.ran, []broker.ID{id(1)}) {
		t.Errorf("ran %v, want only the first", b.runner.ran)
	}
}

func TestTheEndOfTheDrainLeavesTheRestPending(t *testing.T) {
	b := newBench(2)
	ctx, cancel := context.WithCancel(t.Context())
	b.draining.Store(false)
	b.runner.body = func(context.Context, *batch.Item) bool {
		b.draining.Store(true)
		cancel()
		return false
	}
	b.run(ctx)
	if want := []batch.Verb{batch.Leave, batch.Release}; !slices.Equal(b.verbs(), want) {
		t.Errorf("got %v, want %v", b.verbs(), want)
	}
}
