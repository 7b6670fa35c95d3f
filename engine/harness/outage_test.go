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

// busy starts workers that each have one entry at work, for half an hour.
func busy(t *testing.T, version string, seed uint64, minIdle time.Duration) (b *bench, workers int) {
	b = open(t, harness.Config{
		Version: version, Random: rand.New(rand.NewPCG(seed, 0)).Float64, Pipeline: single(func(s *spec.Subscription) { s.Claim.MinIdle = minIdle }),
		Handlers: map[string]sandbox.Handler{"s": harness.Func(func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
			if harness.Sleep(ctx, 30*time.Minute) != nil {
				return outcome.Fail(outcome.FailCanceled, "called off")
			}
			return outcome.Outcome{Kind: outcome.Ack}
		})},
	})
	const n = 4
	for range n {
		b.start()
	}
	for range n {
		b.publish("in", `{}`)
		b.advance(time.Second)
	}
	return b, n
}

// robbed asserts that nobody ran what a living worker runs.
func (b *bench) robbed(minIdle time.Duration, seed uint64, workers int) {
	b.t.Helper()
	b.advance(6 * time.Minute)
	if n := len(b.Calls("s")); n != workers {
		b.t.Errorf("min_idle %v, seed %d: %d calls of %d entries: an entry of a living worker was taken", minIdle, seed, n, workers)
	}
}

var idles = []time.Duration{2 * time.Second, 30 * time.Second, 2 * time.Minute}

// After an outage everything has been idle for long, whoever is alive. Who reaches
// the server first waits until the others have renewed what they run, and they ask for
// the server often enough to be in time.
func TestNobodyIsRobbedAfterALongOutage(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		for _, minIdle := range idles {
			for seed := range uint64(12) {
				b, workers := busy(t, version, seed, minIdle)
				b.start() // one that has nothing in hand
				b.arm(harness.Fault{Kind: harness.ServerDown, For: 7*time.Minute + time.Duration(seed)*time.Second})
				b.settle()
				b.robbed(minIdle, seed, workers)
			}
		}
	})
}

// A process that starts when the server is back has seen no outage, nor has one that
// starts a little later: both wait all the same, because there are others.
func TestNobodyIsRobbedByAProcessThatStartsWhereAnOutageEnds(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		for _, minIdle := range idles {
			for _, away := range []time.Duration{minIdle, minIdle + 3*time.Second, 7 * time.Minute} {
				for seed := range uint64(2) {
					b, workers := busy(t, version, seed, minIdle)
					b.arm(harness.Fault{Kind: harness.ServerDown, For: away})
					b.settle()
					b.advance(away + time.Millisecond)
					first := b.start()
					b.advance(time.Duration(seed) * 100 * time.Millisecond)
					if seed%2 == 0 {
						b.start()
					}
					if err := first.Stop(t.Context()); err != nil {
						t.Errorf("min_idle %v, seed %d, away for %v: the first to start took something: %v", minIdle, seed, away, err)
					}
					b.start()
					b.robbed(minIdle, seed, workers)
				}
			}
		}
	})
}
