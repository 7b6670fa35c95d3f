package harness_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// while takes the milliseconds that an entry says.
func while(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
	if harness.Sleep(ctx, time.Duration(number(d, "ms"))*time.Millisecond) != nil {
		return outcome.Fail(outcome.FailCanceled, "called off")
	}
	return ack(ctx, d)
}

// kills has an entry kill its worker whenever it comes to a point.
func (b *bench) kills(id broker.ID, at harness.Point) {
	for n := range 20 {
		b.arm(harness.Fault{Kind: harness.Crash, At: at, Entry: id, Nth: n + 1})
	}
}

// killed is what has become of the one of some entries that kills.
func (b *bench) killed(killer broker.ID, most, all int) {
	b.t.Helper()
	starts := map[string]int{}
	letters := map[string]bool{}
	settled := map[string]int{}
	for _, e := range b.Entries("dead") {
		letters[e.Letter.ID] = true
		if e.Letter.ID != killer.String() {
			b.t.Errorf("%s was dead-lettered though it does no harm: %s %s", e.Letter.ID, e.Letter.Reason, e.Letter.Error)
		}
		if e.Letter.Attempts != most {
			b.t.Errorf("%s is dead after %d attempts, want %d", e.Letter.ID, e.Letter.Attempts, most)
		}
	}
	for _, c := range b.Calls("s") {
		if c.Ran {
			starts[c.ID.String()]++
		}
		if c.Settled && c.Outcome == observe.ResultAck {
			settled[c.ID.String()]++
		}
	}
	if n := starts[killer.String()]; n > most {
		b.t.Errorf("the one that kills was started %d times, want %d", n, most)
	}
	if len(letters) != 1 || len(settled) != all-1 || len(b.Pending("g")) != 0 {
		b.t.Errorf("%d dead letters, want 1; %d processed, want %d; %d pending", len(letters), len(settled), all-1, len(b.Pending("g")))
	}
}

func TestWhatIsFetchedBesideAnEntryThatKillsItsProcessIsProcessed(t *testing.T) {
	for _, version := range []string{"8.6.3", "7.0.15"} {
		for _, at := range []harness.Point{harness.BeforeRun, harness.AfterRun} {
			for _, workers := range []int{1, 2, 8} {
				t.Run(fmt.Sprintf("%s/%s/%d workers", version, at, workers), func(t *testing.T) {
					b := open(t, harness.Config{
						Pipeline: single(func(s *spec.Subscription) { s.Workers.Count, s.Retry.MaxAttempts = workers, 4 }),
						Handlers: map[string]sandbox.Handler{"s": harness.Func(while)}, Version: version,
					})
					var bodies []string
					for i := range 30 {
						bodies = append(bodies, fmt.Sprintf(`{"ms":"%d"}`, i%5))
					}
					killer := b.publish("in", bodies...)[2]
					b.kills(killer, at)
					b.start()
					for range 12 {
						b.advance(40 * time.Second)
						b.revive()
					}
					b.killed(killer, 4, 30)
				})
			}
		}
	}
}

func TestNothingHarmlessDiesOfAnEntryThatKills(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		workers := rapid.IntRange(1, 4).Draw(rt, "workers")
		h, err := harness.New(harness.Config{
			Pipeline: single(func(s *spec.Subscription) { s.Workers.Count, s.Retry.MaxAttempts = workers, 3 }),
			Handlers: map[string]sandbox.Handler{"s": harness.Func(while)},
		})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := h.Close(); err != nil {
				rt.Error(err)
			}
		}()
		b := &bench{h, t}
		n := rapid.IntRange(2, 12).Draw(rt, "entries")
		var bodies []string
		for range n {
			bodies = append(bodies, fmt.Sprintf(`{"ms":"%d"}`, rapid.IntRange(0, 3).Draw(rt, "ms")))
		}
		killer := b.publish("in", bodies...)[rapid.IntRange(0, n-1).Draw(rt, "killer")]
		b.kills(killer, rapid.SampledFrom([]harness.Point{harness.BeforeRun, harness.AfterRun, harness.BeforeAck}).Draw(rt, "at"))
		for range rapid.IntRange(1, 2).Draw(rt, "processes") {
			b.start()
		}
		for range 20 {
			b.advance(time.Duration(rapid.IntRange(20_000, 60_000).Draw(rt, "wait")) * time.Millisecond)
			b.revive()
		}
		b.killed(killer, 3, n)
		if t.Failed() {
			rt.Fatal("see above")
		}
	})
}

// A copy of a failing entry is not taken for one that kills: both run at once.
func TestWhatOnlyFailsRunsBesideOthers(t *testing.T) {
	b := one(t, func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
		if harness.Sleep(ctx, 10*time.Second) != nil {
			return outcome.Fail(outcome.FailCanceled, "called off")
		}
		if d.Attempt < 5 {
			return outcome.Fail(outcome.FailError, "boom")
		}
		return ack(ctx, d)
	}, func(s *spec.Subscription) { s.Retry.Delay, s.Retry.Multiplier = time.Second, 1 })
	b.publish("in", `{"k":"1"}`, `{"k":"2"}`)
	b.advance(5 * time.Minute)
	for _, c := range b.Calls("s") {
		if c.Attempt == 5 && c.Time.Sub(harness.DefaultStart) > 200*time.Second {
			t.Errorf("%v: attempt 5 began after %v", c.ID, c.Time.Sub(harness.DefaultStart))
		}
	}
	if n := len(b.Calls("s")); n != 10 {
		t.Errorf("%d calls, want 5 for each", n)
	}
	calls := b.Calls("s")
	if last := calls[8:]; !last[0].Time.Equal(last[1].Time) {
		t.Errorf("the last attempts began at %v and %v, want both at once", last[0].Time, last[1].Time)
	}
}

// The first delivery stands in the letter where its outcome was written.
func TestALetterTellsTheFirstDelivery(t *testing.T) {
	b := one(t, func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
		_ = harness.Sleep(ctx, 7*time.Second)
		return outcome.Fail(outcome.FailError, "boom")
	}, func(s *spec.Subscription) { s.Retry.MaxAttempts = 4 })
	b.publish("in", `{}`)
	b.advance(5 * time.Minute)
	letters := b.Entries("dead")
	if len(letters) != 1 {
		t.Fatalf("%d letters", len(letters))
	}
	if first := letters[0].Letter.FirstDelivery; first.Sub(harness.DefaultStart).Abs() > 10*time.Millisecond {
		t.Errorf("first delivered %v after the start, want at once", first.Sub(harness.DefaultStart))
	}
}
