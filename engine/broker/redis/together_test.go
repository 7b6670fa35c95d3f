package redis_test

import (
	"context"
	"fmt"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func slotOf(i int) broker.SlotRequest {
	return broker.SlotRequest{
		Stream: "in", Group: "g", Base: fmt.Sprintf("c%d-h", i), Token: fmt.Sprintf("t%d", i), TTL: time.Minute, MinIdle: 30 * time.Second,
	}
}

// TestWhatIsAskedTogetherIsAnsweredEach: renewals that come at the same time go out
// together, and each gets its own answer, also where the server did not know the
// script, or refuses one of them.
func TestWhatIsAskedTogetherIsAnsweredEach(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ctx := t.Context()
		if _, err := b.CreateGroup(ctx, "in", "g", "0"); err != nil {
			t.Fatal(err)
		}
		const n, taken, wrong = 200, 17, 99
		for i := range n {
			if _, err := b.AcquireSlot(ctx, slotOf(i)); err != nil {
				t.Fatal(err)
			}
		}
		if err := s.Client().ScriptFlush(ctx).Err(); err != nil {
			t.Fatal(err)
		}
		before := readsOf(t, s)
		held, errs := make([]bool, n), make([]error, n)
		var all sync.WaitGroup
		for i := range n {
			all.Go(func() {
				r := slotOf(i)
				switch i {
				case taken:
					r.Token = "of somebody else"
				case wrong:
					errs[i] = b.SaveFloor(ctx, "in", "no such group")
					return
				}
				lease, err := b.RenewSlot(ctx, r, 0)
				held[i], errs[i] = lease.Held, err
			})
		}
		all.Wait()
		for i := range n {
			switch {
			case i == wrong:
				wantKind(t, errs[i], broker.ErrNoGroup)
			case errs[i] != nil || held[i] == (i == taken):
				t.Errorf("renewal %d: held %v, %v", i, held[i], errs[i])
			}
		}
		// Reads of a connection: a pipeline is read in a few steps, a call by itself in
		// one of its own.
		if reads := readsOf(t, s) - before; reads > n/2 {
			t.Errorf("the server read %d times for %d renewals", reads, n)
		}
	})
}

// readsOf is how often the server has read from connections.
func readsOf(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	info, err := s.Client().InfoMap(t.Context(), "stats").Result()
	if err != nil {
		t.Fatal(err)
	}
	var n int64
	if _, err := fmt.Sscan(info["Stats"]["total_reads_processed"], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// TestACallThatIsGivenUpIsNotSent: a slot that was given up meanwhile must not be
// taken back by a renewal that was still waiting to be sent.
func TestACallThatIsGivenUpIsNotSent(t *testing.T) {
	everyVersion(t, func(t *testing.T, _ *redistest.Server, b *redis.Broker) {
		r := slotOf(0)
		if _, err := b.AcquireSlot(t.Context(), r); err != nil {
			t.Fatal(err)
		}
		if err := b.ReleaseSlot(t.Context(), r, 0); err != nil {
			t.Fatal(err)
		}
		over, cancel := context.WithCancel(t.Context())
		cancel()
		if _, err := b.RenewSlot(over, r, 0); err == nil {
			t.Error("a renewal that was given up was answered")
		}
		// Another one goes behind it: when that is answered, it would be there.
		if _, err := b.RenewSlot(t.Context(), slotOf(1), 0); err != nil {
			t.Fatal(err)
		}
		other := r
		other.Token = "another"
		if n, err := b.AcquireSlot(t.Context(), other); n != 0 || err != nil {
			t.Errorf("the slot is taken: the next one gets %d, %v", n, err)
		}
	})
}
