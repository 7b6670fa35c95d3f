package lease_test

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/internal/lease"
)

// noted notes when slots were renewed.
type noted struct {
	*server
	at []time.Duration
}

func (n *noted) RenewSlot(ctx context.Context, r broker.SlotRequest, slot int) (broker.SlotLease, error) {
	n.mu.Lock()
	n.at = append(n.at, n.clock.Now().Sub(time.Unix(0, 0)))
	n.mu.Unlock()
	return n.server.RenewSlot(ctx, r, slot)
}

// renewals runs a keeper that was opened after some time for a minute, and returns
// when it renewed its slot.
func renewals(t *testing.T, opened time.Duration) []time.Duration {
	t.Helper()
	b := newBench(30 * time.Second)
	origin := b.clock.Now()
	b.clock.Advance(opened)
	n := &noted{server: b.server}
	b.keeper.Broker, b.keeper.Origin = n, origin
	if err := b.keeper.Open(t.Context()); err != nil {
		t.Fatal(err)
	}
	n.at = nil
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.keeper.Run(ctx) })
	for began := b.clock.Now(); b.clock.Now().Sub(began) < time.Minute; {
		at, armed := b.clock.Next()
		for ; !armed; at, armed = b.clock.Next() {
			runtime.Gosched()
		}
		b.clock.AdvanceToNext(at)
	}
	cancel()
	running.Wait()
	return n.at
}

// TestSlotsOfAProcessAreRenewedAtTheSameTimes, never later than they have to be,
// whenever their consumers began: what comes at the same time is sent together.
func TestSlotsOfAProcessAreRenewedAtTheSameTimes(t *testing.T) {
	every := lease.TTL(time.Second) / 3
	step := every / 16
	for _, opened := range []time.Duration{0, 70 * time.Millisecond, 1234 * time.Millisecond, 10 * time.Second} {
		last := opened
		at := renewals(t, opened)
		if len(at) < 20 {
			t.Fatalf("opened after %v: renewed at %v within a minute, want every three seconds", opened, at)
		}
		for _, now := range at {
			if now%step > time.Millisecond {
				t.Errorf("opened after %v: renewed at %v, which is not a multiple of %v", opened, now, step)
			}
			if d := now - last; d > every || d < every-2*step {
				t.Errorf("opened after %v: renewed at %v, %v after the last time, want %v or a little less", opened, now, d, every)
			}
			last = now
		}
	}
}
