package engine_test

import (
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

// once asks for a retry the first time and is done the second.
func once(d *sandbox.Delivery) outcome.Outcome {
	if d.Deliveries == 0 {
		return outcome.Outcome{Kind: outcome.Retry, After: time.Second, HasAfter: true}
	}
	return ack(d)
}

// A stalled process still reads under its old name after its slot was lost, and
// hands back under it what it had not started. Nobody claims here, so only the
// slot's holder can find that.
func TestWhatAPredecessorLeavesLateIsFound(t *testing.T) {
	b := newBench(t, memory.Options{}, once, noClaim)
	leaveBehind(t, b, holder)
	b.advance(2 * time.Minute)
	expect(t, "pending", b.pending(), nil)
}

// A server may serve a read whose connection is dead already, after this
// consumer looked for what such reads left.
func TestWhatWasDeliveredToADeadConnectionIsFound(t *testing.T) {
	b := newBench(t, memory.Options{}, once, noClaim)
	leaveBehind(t, b, b.engine.Snapshot().Subscriptions[0].Consumer)
	b.advance(2 * time.Minute)
	expect(t, "pending", b.pending(), nil)
}

// leaveBehind leaves an entry pending under a consumer, and nobody here knows
// of it.
func leaveBehind(t *testing.T, b *bench, consumer string) {
	t.Helper()
	ids := []broker.ID{b.publish(`{}`)}
	move := func(from, to string) {
		t.Helper()
		taken, err := b.broker.TakeOver(t.Context(), broker.Owner{Stream: "in", Group: "g", Consumer: to}, from, ids)
		if err != nil || len(taken.Deliveries) != 1 {
			t.Fatal(taken, err)
		}
	}
	own := b.engine.Snapshot().Subscriptions[0].Consumer
	move(own, "elsewhere") // while it waits for its time here
	b.advance(5 * time.Second)
	move("elsewhere", consumer)
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
