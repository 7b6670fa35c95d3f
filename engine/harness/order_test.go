package harness_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// An entry that comes back from elsewhere while later ones of its key are queued
// here runs before them.
func TestAnOlderEntryRunsBeforeTheLaterOnesOfItsKeyThatAreQueued(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		var ran []int
		b := open(t, harness.Config{
			Version:  version,
			Pipeline: single(func(s *spec.Subscription) { s.Workers.Count = 3 }),
			Handlers: map[string]sandbox.Handler{"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
				switch n := number(d, "n"); {
				case harness.WorkerOf(ctx).Name() == "worker1":
					_ = harness.Sleep(ctx, time.Hour) // it dies of it
				case n == 1:
					_ = harness.Sleep(ctx, 45*time.Second)
					ran = append(ran, n)
				default:
					ran = append(ran, n)
				}
				return outcome.Outcome{Kind: outcome.Ack}
			})},
		})
		first := b.start()
		b.keyed("k", `{"n":0}`)
		if err := first.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.start()
		b.keyed("k", `{"n":1}`, `{"n":2}`, `{"n":3}`)
		b.advance(time.Minute)
		if !slices.Equal(ran, []int{1, 0, 2, 3}) {
			t.Errorf("ran %v: entry 0 came back while 1 ran and 2 and 3 were queued", ran)
		}
	})
}

// A name whose lease ran out while the server was away is still the process's own
// where nobody else has taken it.
func TestAnOutageThatOutlastsTheLeaseCallsNothingOff(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		b := open(t, harness.Config{
			Version: version, Pipeline: single(nil),
			Handlers: map[string]sandbox.Handler{"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
				if number(d, "n") == 0 && harness.Sleep(ctx, 3*time.Minute) != nil { // longer than drain_timeout
					return outcome.Fail(outcome.FailCanceled, "called off")
				}
				return outcome.Outcome{Kind: outcome.Ack}
			})},
		})
		w := b.start()
		name := w.Consumer("s")
		b.publish("in", `{"n":0}`, `{"n":1}`)
		b.arm(harness.Fault{Kind: harness.ServerDown, For: 20 * time.Second})
		b.settle()
		b.advance(4 * time.Minute)
		b.publish("in", `{"n":2}`)
		if got := w.Consumer("s"); got != name {
			t.Errorf("it goes on as %s, was %s", got, name)
		}
		if got := b.outcomes("s"); !slices.Equal(got, []string{"ack", "ack", "ack"}) {
			t.Errorf("outcomes %v, want three acknowledgements", got)
		}
		for _, e := range b.Events() {
			if e.Name == observe.EventSlotLost {
				t.Error(e.Message)
			}
		}
	})
}

// What came to an outcome that a full server does not take is settled again after
// an outage, and not run again.
func TestAFullServerThatWasAwayIsWaitedForWithWhatIsFinished(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		p := single(nil)
		p.Groups[0].Subscriptions[0].Reply = &spec.Route{To: stream("out")}
		b := open(t, harness.Config{Version: version, Pipeline: p, Handlers: map[string]sandbox.Handler{
			"s": harness.Func(func(_ context.Context, d *sandbox.Delivery) outcome.Outcome { return replyWith(d.Raw) }),
		}})
		b.start()
		b.arm(harness.Fault{Kind: harness.Slow, Nth: 1, For: time.Second})
		b.publish("in", `{"n":0}`)
		b.Server().SetFull(true)
		b.advance(5 * time.Second) // its reply is refused by now
		b.arm(harness.Fault{Kind: harness.ServerDown, For: 20 * time.Second})
		b.settle()
		b.advance(5 * time.Minute)
		b.Server().SetFull(false)
		b.advance(time.Minute)
		if calls := b.Calls("s"); len(calls) != 1 || calls[0].Outcome != observe.ResultReply {
			t.Errorf("calls %+v, want one that replied", calls)
		}
		if n := len(b.Entries("out")); n != 1 {
			t.Errorf("%d replies, want 1", n)
		}
	})
}

// A group that is lost and read again from its floor brings entries again that
// this process holds: they are run once.
func TestWhatIsHeldWhenItsGroupIsLostRunsOnce(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		b := open(t, harness.Config{
			Version:  version,
			Pipeline: single(func(s *spec.Subscription) { s.Workers.Count = 8 }),
			Handlers: map[string]sandbox.Handler{"s": harness.Func(func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
				_ = harness.Sleep(ctx, 6*time.Second)
				return outcome.Outcome{Kind: outcome.Ack}
			})},
		})
		b.start()
		b.keyed("k", `{"n":0}`, `{"n":1}`, `{"n":2}`)
		b.Server().DestroyGroup("in", "g")
		b.settle()
		b.keyed("k", `{"n":3}`)
		b.advance(time.Minute)
		if calls := b.Calls("s"); len(calls) != 4 {
			t.Errorf("%d calls, want one of each of 4 entries:\n%s", len(calls), b.Harness)
		}
	})
}

// Where nobody claims, what a process left whose slot nobody takes again is taken
// over by another one of its machine; not what a living one holds.
func TestWhereNobodyClaimsTheSlotsThatAreGivenUpAreLookedAfter(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		b := open(t, harness.Config{
			Version: version, Pipeline: single(func(s *spec.Subscription) { s.Claim = nil }),
			Handlers: map[string]sandbox.Handler{"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
				switch harness.WorkerOf(ctx).Name() {
				case "worker2":
					_ = harness.Sleep(ctx, time.Hour) // it dies of it
				case "worker3":
					_ = harness.Sleep(ctx, 4*time.Minute) // it lives
				}
				return outcome.Outcome{Kind: outcome.Ack}
			})},
		})
		var all []*harness.Worker
		for range 3 {
			w, err := b.StartOn(t.Context(), "machine")
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, w)
		}
		for range 12 {
			b.publish("in", `{}`)
		}
		if n := len(b.Pending("g")); n < 2 {
			t.Fatalf("%d entries are pending, want some of two workers", n)
		}
		held := 0
		for _, p := range b.Pending("g") {
			if p.Consumer == all[2].Consumer("s") {
				held++
			}
		}
		if err := all[1].Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.advance(2 * time.Minute)
		for _, p := range b.Pending("g") {
			if p.Consumer != all[2].Consumer("s") {
				t.Errorf("entry %v is still %s's", p.ID, p.Consumer)
			}
		}
		if n := len(b.Pending("g")); n != held {
			t.Errorf("%d entries are pending, want the %d that a living worker holds", n, held)
		}
		b.advance(time.Hour)
	})
}
