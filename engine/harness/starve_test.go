package harness_test

import (
	"context"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Entries that come back sooner than all of them can be worked on fill every read
// that claims, and every page of XAUTOCLAIM. New ones get their part all the same.
func TestEntriesThatAlwaysComeBackLeaveHalfOfTheWorkToNewOnes(t *testing.T) {
	retry := outcome.Outcome{Kind: outcome.Retry}
	parked := outcome.Outcome{Kind: outcome.Retry, After: 100 * time.Millisecond, HasAfter: true}
	for _, test := range []struct {
		name  string
		using spec.Using
		said  outcome.Outcome
	}{
		{"by claiming reads", spec.UsingRead, retry},
		{"by XAUTOCLAIM", spec.UsingAutoclaim, retry},
		{"at a time, beside claiming reads", spec.UsingRead, parked},
		{"at a time, beside XAUTOCLAIM", spec.UsingAutoclaim, parked},
	} {
		t.Run(test.name, func(t *testing.T) {
			const takes, again, fresh = 200 * time.Millisecond, 40, 20
			b := one(t, func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
				if harness.Sleep(ctx, takes) != nil {
					return outcome.Fail(outcome.FailCanceled, "called off")
				}
				if d.Body.Get("again") != nil {
					return test.said
				}
				return ack(ctx, d)
			}, func(s *spec.Subscription) {
				s.Batch, s.Claim = 4, &spec.Claim{MinIdle: 700 * time.Millisecond, Using: test.using}
			})
			for range again {
				b.publish("in", `{"again":true}`)
			}
			b.advance(20 * time.Second) // each came back several times
			for range fresh {
				b.publish("in", `{}`)
			}
			began := b.Now()
			done := func() (n int) {
				for _, c := range b.Calls("s") {
					if c.Outcome == "ack" {
						n++
					}
				}
				return n
			}
			// Two workers have half of their time for them, and as much again for the start.
			for done() < fresh && b.Now().Sub(began) < 4*fresh*takes/2+4*time.Second {
				b.advance(takes)
			}
			if done() < fresh {
				t.Errorf("%d of %d new entries were done within %v", done(), fresh, b.Now().Sub(began))
			}
		})
	}
}
