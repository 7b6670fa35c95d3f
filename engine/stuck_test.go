package engine_test

import (
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// holder is the consumer name of an earlier holder of the first slot.
const holder = "s-host-0.00000000"

func noClaim(s *spec.Subscription) { s.Claim = nil }

func TestWhatAPredecessorLeftIsTakenOverThoughTheServerFailsAtFirst(t *testing.T) {
	b := newBench(t, memory.Options{}, ack, noClaim)
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	add(t, b.broker, "in", `{}`)
	crash(t, b, holder)
	var failed atomic.Int32
	b.broker.SetFault(func(c memory.Call) memory.Effect {
		if strings.HasPrefix(c.Op, "inspect consumers") && failed.Add(1) <= 2 {
			return memory.Effect{Err: broker.ErrUnavailable, Skip: true}
		}
		return memory.Effect{}
	})
	b.start(ack)
	b.advance(5 * time.Second)
	if failed.Load() == 0 {
		t.Fatal("the fault never hit: the operation has another name")
	}
	expect(t, "pending", b.pending(), nil)
}

// A stalled process still reads under its old name after its slot was lost, or
// hands back under it what it had not started. Nobody claims here, so only the
// slot's holder can find that.
func TestWhatALateReadOfAPredecessorLeavesIsFound(t *testing.T) {
	b := newBench(t, memory.Options{}, ack, noClaim)
	old := broker.Owner{Stream: "in", Group: "g", Consumer: holder}
	leaveBehind(t, b, old)
	b.advance(2 * time.Minute)
	expect(t, "pending", b.pending(), nil)
}

// A server may serve a read whose connection is dead already, after this
// consumer looked for what such reads left.
func TestWhatWasDeliveredToADeadConnectionIsFound(t *testing.T) {
	b := newBench(t, memory.Options{}, ack, noClaim)
	consumer := b.engine.Snapshot().Subscriptions[0].Consumer
	leaveBehind(t, b, broker.Owner{Stream: "in", Group: "g", Consumer: consumer})
	b.advance(2 * time.Minute)
	expect(t, "pending", b.pending(), nil)
}

// leaveBehind adds an entry that is delivered to the owner and to nobody else.
func leaveBehind(t *testing.T, b *bench, o broker.Owner) {
	t.Helper()
	done := make(chan []broker.Delivery)
	go func() {
		// Reads that wait are served in turn: the engine's own came first.
		ds, err := b.broker.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 10, Block: time.Hour})
		if err != nil {
			t.Error(err)
		}
		done <- ds
	}()
	for b.broker.Blocked() < 2 {
		time.Sleep(time.Millisecond)
	}
	for n := 0; ; n++ {
		add(t, b.broker, "in", fmt.Sprintf(`{"n":%d}`, n))
		select {
		case ds := <-done:
			if len(ds) == 0 {
				t.Fatal("nothing was delivered")
			}
			b.settle()
			return
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// While a backlog keeps the window full, what waits for its time must still get
// its turn.
func TestRetriesAreNotStarvedByABacklog(t *testing.T) {
	var retried atomic.Int64
	var b *bench
	handle := func(d *sandbox.Delivery) outcome.Outcome {
		if d.Body.Get("retry") == nil {
			return ack(d)
		}
		if d.Deliveries == 0 {
			return outcome.Outcome{Kind: outcome.Retry, After: time.Second, HasAfter: true}
		}
		retried.Store(int64(d.Now.Sub(epoch)))
		return ack(d)
	}
	b = newBench(t, memory.Options{}, handle, noClaim)
	b.publish(`{"retry":1}`)
	b.advance(3 * time.Second)
	if got := time.Duration(retried.Load()); got != time.Second {
		t.Errorf("run again at %v, want 1s", got)
	}
}

// A claimed page and a page of new entries take turns; where nothing is new,
// the turn of the new ones must not cost a whole block.
func TestABacklogOfPendingEntriesIsClaimedWithoutWaitingForNewOnes(t *testing.T) {
	b := newBench(t, memory.Options{}, ack, func(s *spec.Subscription) { s.Batch, s.Block = 10, 5*time.Second })
	if err := b.stop(); err != nil {
		t.Fatal(err)
	}
	const entries = 400
	for range entries {
		add(t, b.broker, "in", `{}`)
	}
	for range entries / 10 {
		crash(t, b, "gone")
	}
	b.start(ack)
	b.advance(45 * time.Second)
	if left := len(b.pending()); left != 0 {
		t.Errorf("%d of %d entries of a dead worker are still pending 15 s after they could be claimed", left, entries)
	}
}
