package harness_test

import (
	"context"
	"math/rand/v2"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// After an outage everything has been idle for long, whoever is alive. Who reaches
// the server first waits until the others have renewed what they run, and they ask for
// the server often enough to be in time.
func TestNobodyIsRobbedAfterALongOutage(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		for _, minIdle := range []time.Duration{2 * time.Second, 30 * time.Second, 2 * time.Minute} {
			for seed := range uint64(12) {
				b := open(t, harness.Config{
					Version: version, Random: rand.New(rand.NewPCG(seed, 0)).Float64, Pipeline: single(func(s *spec.Subscription) { s.Claim.MinIdle = minIdle }),
					Handlers: map[string]sandbox.Handler{"s": harness.Func(func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
						if harness.Sleep(ctx, 30*time.Minute) != nil {
							return outcome.Fail(outcome.FailCanceled, "called off")
						}
						return outcome.Outcome{Kind: outcome.Ack}
					})},
				})
				const workers = 4 // and one that has nothing in hand
				for range workers + 1 {
					b.start()
				}
				for range workers {
					b.publish("in", `{}`)
					b.advance(time.Second)
				}
				b.arm(harness.Fault{Kind: harness.ServerDown, For: 7*time.Minute + time.Duration(seed)*time.Second})
				b.settle()
				b.advance(12 * time.Minute)
				if n := len(b.Calls("s")); n != workers {
					t.Errorf("min_idle %v, seed %d: %d calls of %d entries: an entry of a living worker was taken", minIdle, seed, n, workers)
				}
			}
		}
	})
}
