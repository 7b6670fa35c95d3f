package harness_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// passes gives the lanes the member "k" of bodies as the key; holds has it held
// as well.
func passes(s *spec.Subscription) {
	s.Workers = spec.Workers{Count: 2, Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}}
}

func holds(s *spec.Subscription) { passes(s); s.Workers.Hold = true }

// unclaimed holds where nobody claims, byAutoclaim where claims are made beside
// the reads.
func unclaimed(s *spec.Subscription)   { holds(s); s.Claim = nil }
func byAutoclaim(s *spec.Subscription) { holds(s); s.Claim.Using = spec.UsingAutoclaim }

// at says something at the first attempts at entries, by their names and how
// many, and acknowledges everything else.
func at(say outcome.Outcome, times map[string]int) harness.Func {
	return func(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
		name := d.Body.Get("k").Text() + d.Body.Get("n").Text()
		if times[name] > 0 {
			times[name]--
			return say
		}
		return outcome.Outcome{Kind: outcome.Ack}
	}
}

// bare is retry() without a time, boom a failed attempt.
var (
	bare = outcome.Outcome{Kind: outcome.Retry}
	boom = outcome.Fail(outcome.FailError, "boom")
)

func retryIn(d time.Duration) outcome.Outcome {
	return outcome.Outcome{Kind: outcome.Retry, After: d, HasAfter: true}
}

// ran are the calls of the handler in order: the entry, what came of it, and when
// in seconds since the start.
func (b *bench) ran() string {
	var all []string
	for _, c := range b.Calls("s") {
		if c.Ran {
			name := c.Entry.Get("k").Text() + c.Entry.Get("n").Text()
			all = append(all, fmt.Sprintf("%s:%s@%.0f", name, c.Outcome, c.Time.Sub(harness.DefaultStart).Seconds()))
		}
	}
	return strings.Join(all, " ")
}

// rows are bodies: "a1" is entry 1 of key a.
func rows(names ...string) []string {
	bodies := make([]string, len(names))
	for i, name := range names {
		bodies[i] = fmt.Sprintf(`{"k":%q,"n":%s}`, name[:1], name[1:])
	}
	return bodies
}

// done fails the test unless everything ran in that order and nothing is left.
func (b *bench) done(want string) {
	b.t.Helper()
	if got := b.ran(); got != want {
		b.t.Errorf("ran\n%s, want\n%s", got, want)
	}
	if p := b.Pending("g"); len(p) > 0 {
		b.t.Errorf("pending %v", p)
	}
	for _, w := range b.Workers() {
		for _, s := range w.Snapshot().Subscriptions {
			if s.HeldBack != 0 || s.HeldKeys != 0 || s.HoldFull {
				b.t.Errorf("%s still holds: %+v", w.Name(), s)
			}
		}
	}
}

// TestLaterEntriesOfAKeyRunAfterTheOneThatIsRetried: the rest of the key waits
// however the retry comes about, other keys do not.
func TestLaterEntriesOfAKeyRunAfterTheOneThatIsRetried(t *testing.T) {
	tests := []struct {
		name   string
		change func(*spec.Subscription)
		say    outcome.Outcome
		times  int
		want   string
	}{
		{"passed", passes, bare, 1, "a1:retry@0 a2:ack@0 a3:ack@0 b1:ack@0 b2:ack@0 a1:ack@30"},
		{"retry", holds, bare, 1, "a1:retry@0 b1:ack@0 b2:ack@0 a1:ack@30 a2:ack@30 a3:ack@30"},
		{"retry after", holds, retryIn(7 * time.Second), 2, "a1:retry@0 b1:ack@0 b2:ack@0 a1:retry@7 a1:ack@14 a2:ack@14 a3:ack@14"},
		{"longer than min_idle", holds, retryIn(100 * time.Second), 1, "a1:retry@0 b1:ack@0 b2:ack@0 a1:ack@100 a2:ack@100 a3:ack@100"},
		{"failed", holds, boom, 3, "a1:failed@0 b1:ack@0 b2:ack@0 a1:failed@1 a1:failed@5 a1:ack@21 a2:ack@21 a3:ack@21"},
		{"dead letter", holds, boom, 9, "a1:failed@0 b1:ack@0 b2:ack@0 a1:failed@1 a1:failed@5 a1:failed@21 a1:failed@85 a2:ack@85 a3:ack@85"},
		{"retry, XAUTOCLAIM", byAutoclaim, bare, 1, "a1:retry@0 b1:ack@0 b2:ack@0 a1:ack@30 a2:ack@30 a3:ack@30"},
		{"retry, nobody claims", unclaimed, bare, 2, "a1:retry@0 b1:ack@0 b2:ack@0 a1:retry@1 a1:ack@5 a2:ack@5 a3:ack@5"},
		{"failed, nobody claims", unclaimed, boom, 2, "a1:failed@0 b1:ack@0 b2:ack@0 a1:failed@1 a1:ack@5 a2:ack@5 a3:ack@5"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			b := one(t, at(test.say, map[string]int{"a1": test.times}), test.change)
			b.publish("in", rows("a1", "a2", "a3", "b1", "b2")...)
			b.advance(5 * time.Minute)
			b.done(test.want)
			if n := len(b.Entries("in")); n != 5 {
				t.Errorf("%d entries in the stream: a retry must not append a copy", n)
			}
		})
	}
}

// TestWhatIsRetriedAgainBehindOneThatWasKeepsItsPlace: each retry closes the key
// for what comes later, also for what came while it was closed.
func TestWhatIsRetriedAgainBehindOneThatWasKeepsItsPlace(t *testing.T) {
	b := one(t, at(retryIn(10*time.Second), map[string]int{"a1": 1, "a2": 2, "a4": 1}), holds)
	b.publish("in", rows("a1", "a2", "a3")...)
	b.advance(5 * time.Second)
	b.publish("in", rows("a4", "a5")...)
	b.advance(10 * time.Second)
	b.publish("in", rows("a6")...)
	b.advance(time.Minute)
	b.done("a1:retry@0 a1:ack@10 a2:retry@10 a2:retry@20 a2:ack@30 a3:ack@30 a4:retry@30 a4:ack@40 a5:ack@40 a6:ack@40")
}

// TestBeingHeldCostsNoAttempt: however often entries are fetched and held again
// behind one that fails, each has all its attempts when its turn comes.
func TestBeingHeldCostsNoAttempt(t *testing.T) {
	times := map[string]int{}
	var names []string
	for n := 1; n <= 40; n++ {
		names = append(names, fmt.Sprintf("a%d", n))
		times[names[n-1]] = 4 // and the fifth, the last one, goes well
	}
	b := one(t, at(boom, times), holds)
	b.publish("in", rows(names...)...)
	b.advance(2 * time.Hour)
	last := ""
	for _, c := range b.Calls("s") {
		name := c.Entry.Get("n").Text()
		want := int64(c.Attempt - 1)
		if name != last && c.Attempt != 1 || c.Deliveries != want || c.Dead {
			t.Fatalf("call of a%s: attempt %d, %d deliveries, dead %v", name, c.Attempt, c.Deliveries, c.Dead)
		}
		last = name
	}
	if n := len(b.Calls("s")); n != 200 || len(b.Pending("g")) != 0 {
		t.Errorf("%d calls, pending %v", n, b.Pending("g"))
	}
}

// TestEntriesWithoutAKeyHaveNoOrder: they neither wait for each other nor hold
// anything, and are retried as everywhere.
func TestEntriesWithoutAKeyHaveNoOrder(t *testing.T) {
	for name, claims := range map[string]bool{"claimed": true, "nobody claims": false} {
		t.Run(name, func(t *testing.T) {
			times := map[string]int{"a1": 1}
			b := one(t, at(bare, times), func(s *spec.Subscription) {
				s.Workers = spec.Workers{Count: 1, Hold: true} // the key is that of a header, which no entry has
				if !claims {
					s.Claim = nil
				}
			})
			b.publish("in", rows("a1", "a2")...)
			b.advance(time.Minute)
			want := "a1:retry@0 a2:ack@0 a1:ack@30"
			if !claims {
				want = "a1:retry@0 a2:ack@0 a1:ack@1" // a copy
			}
			b.done(want)
		})
	}
}

// TestAnEntryThatCannotBeDecodedHoldsNothing: its key is not known.
func TestAnEntryThatCannotBeDecodedHoldsNothing(t *testing.T) {
	b := one(t, at(retryIn(10*time.Second), map[string]int{"a1": 1}), func(s *spec.Subscription) {
		holds(s)
		s.OnInvalid = spec.PolicyRetry
	})
	b.publish("in", rows("a1")...)
	b.publish("in", `{"k":`)
	b.publish("in", rows("a2")...)
	b.advance(10 * time.Minute)
	b.done("a1:retry@0 a1:ack@10 a2:ack@10")
	if len(b.Entries("dead")) != 1 {
		t.Errorf("dead letters %v", b.Entries("dead"))
	}
}

// TestAnOlderEntryRunsBeforeTheOneThatIsRetried: one that another consumer held
// goes first, and its own retry holds the other back.
func TestAnOlderEntryRunsBeforeTheOneThatIsRetried(t *testing.T) {
	b := open(t, harness.Config{Pipeline: single(holds), Handlers: map[string]sandbox.Handler{
		"s": at(retryIn(40*time.Second), map[string]int{"a1": 1, "a2": 1}),
	}})
	b.start()
	if err := b.Arm(harness.Fault{Kind: harness.Crash, At: harness.BeforeRun}); err != nil {
		t.Fatal(err)
	}
	b.publish("in", rows("a1")...) // its worker dies with it
	b.start()
	b.publish("in", rows("a2", "a3")...)
	b.advance(5 * time.Minute)
	b.done("a2:retry@0 a1:retry@30 a1:ack@70 a2:ack@70 a3:ack@70")
}
