package begin_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/begin"
	"pipeline/engine/internal/health"
	"pipeline/engine/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

var me = broker.Owner{Stream: "in", Group: "g", Consumer: "me"}

// bench is a beginner on a broker in memory, with three entries that were
// delivered twice before.
type bench struct {
	broker   *memory.Broker
	begin    *begin.Beginner
	ids      []broker.ID
	items    []*batch.Item
	draining atomic.Bool
	fatal    []error
}

func newBench(t *testing.T) *bench {
	b := &bench{broker: memory.New(clock.NewVirtual(time.UnixMilli(1_700_000_000_000)), memory.Options{})}
	b.begin = &begin.Beginner{
		Broker: b.broker, Owner: me, Draining: &b.draining, Fatal: func(err error) { b.fatal = append(b.fatal, err) },
		// The server's pauses pass in real time, a few milliseconds each.
		Server: health.New(clock.Real(), func() float64 { return 0 }, func(observe.Event) {}),
	}
	ctx := t.Context()
	if _, err := b.broker.CreateGroup(ctx, "in", "g", "0"); err != nil {
		t.Fatal(err)
	}
	add := broker.Add{Stream: "in", Fields: []broker.Field{{Name: "a", Value: "b"}}}
	var err error
	if b.ids, err = b.broker.Add(ctx, []broker.Add{add, add, add}); err != nil {
		t.Fatal(err)
	}
	if _, err := b.broker.Read(ctx, broker.ReadRequest{Owner: me, Count: 3}); err != nil {
		t.Fatal(err)
	}
	held := batch.Get(3)
	for range 2 {
		if _, err := b.broker.TakeOver(ctx, me, "me", b.ids); err != nil {
			t.Fatal(err)
		}
	}
	for _, id := range b.ids {
		it := held.Grow()
		it.Delivery.ID, it.Delivery.Deliveries = id, 2
		b.items = append(b.items, it)
	}
	return b
}

func (b *bench) starts(t *testing.T, i int) int64 {
	t.Helper()
	rs, err := b.broker.Records(context.Background(), "in", "g", b.ids[i:i+1])
	if err != nil {
		t.Fatal(err)
	}
	return rs[0].Starts
}

func TestALostAnswerCountsOneStart(t *testing.T) {
	b := newBench(t)
	lost := 3
	b.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "begin" && lost > 0 {
			lost--
			return memory.Effect{Err: broker.ErrUnavailable}
		}
		return memory.Effect{}
	})
	if !b.begin.Begin(t.Context(), b.items[0]) || lost != 0 {
		t.Fatal("it did not begin")
	}
	if n := b.starts(t, 0); n != 1 {
		t.Errorf("%d starts are written down, want 1", n)
	}
}

func TestOnlyOneHasThePlaceUntilItIsSettled(t *testing.T) {
	b := newBench(t)
	freed := 0
	alone := begin.Alone{Freed: func() { freed++ }}
	if !alone.Free() || !alone.Enter(b.items[0]) || !alone.Enter(b.items[0]) { // once more after it was called off
		t.Fatal("nothing has the place, and it is refused")
	}
	alone.Settled(b.items[2:]) // another
	if alone.Free() || alone.Enter(b.items[1]) || freed != 0 {
		t.Error("a second one runs beside it")
	}
	alone.Settled(b.items[:1])
	if !alone.Free() || freed != 1 || !alone.Enter(b.items[1]) {
		t.Error("the place was not given up when the first one was settled")
	}
}

func TestStartsAreWrittenDownFromTheThirdDeliveryOn(t *testing.T) {
	b := newBench(t)
	b.items[2].Delivery.Deliveries = 1
	for i, want := range []int64{1, 1, 0} {
		if !b.begin.Begin(t.Context(), b.items[i]) || b.starts(t, i) != want {
			t.Errorf("entry %d: %d starts are written down, want %d", i, b.starts(t, i), want)
		}
	}
}

func TestADrainAndALostLeaseEndTheWaitForAServer(t *testing.T) {
	for name, end := range map[string]func(*bench, context.CancelFunc){
		"drain":      func(b *bench, _ context.CancelFunc) { b.draining.Store(true) },
		"called off": func(_ *bench, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t)
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			asked := 0
			b.broker.SetFault(func(memory.Call) memory.Effect {
				if asked++; asked == 2 {
					end(b, cancel)
				}
				return memory.Effect{Err: broker.ErrUnavailable, Skip: true}
			})
			if b.begin.Begin(ctx, b.items[1]) || b.items[1].Lease() != batch.Ours {
				t.Error("it began")
			}
			b.broker.SetFault(nil)
			if n := b.starts(t, 1); n != 0 {
				t.Errorf("%d starts are written down", n)
			}
		})
	}
}

func TestWhatIsNotHeldAnyMoreDoesNotBegin(t *testing.T) {
	b := newBench(t)
	other := me
	other.Consumer = "other"
	if _, err := b.broker.TakeOver(t.Context(), other, "me", b.ids[:1]); err != nil {
		t.Fatal(err)
	}
	b.broker.DeleteEntries("in", b.ids[1])
	if b.begin.Begin(t.Context(), b.items[0]) || b.items[0].Lease() != batch.Taken || b.starts(t, 0) != 0 {
		t.Error("what another has begins here")
	}
	if !b.begin.Begin(t.Context(), b.items[1]) || b.items[1].Lease() != batch.BodyGone {
		t.Error("what was delivered before its body was deleted does not run")
	}
}

func TestAnErrorThatDoesNotPassEndsTheSubscription(t *testing.T) {
	for kind, fatal := range map[error]int{broker.ErrNoPermission: 1, broker.ErrNoGroup: 0} {
		b := newBench(t)
		b.broker.SetFault(func(memory.Call) memory.Effect { return memory.Effect{Err: kind, Skip: true} })
		if b.begin.Begin(t.Context(), b.items[0]) || len(b.fatal) != fatal || b.items[0].Lease() != batch.Taken {
			t.Errorf("%v: fatal %v, lease %v", kind, b.fatal, b.items[0].Lease())
		}
	}
}
