package harness_test

import (
	"context"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// acknowledged is how many calls ended with an acknowledgement.
func (b *bench) acknowledged() (n int) {
	for _, c := range b.Calls("s") {
		if c.Outcome == observe.ResultAck {
			n++
		}
	}
	return n
}

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
			// Two workers have half of their time for them, and as much again for the start.
			for b.acknowledged() < fresh && b.Now().Sub(began) < 4*fresh*takes/2+4*time.Second {
				b.advance(takes)
			}
			if done := b.acknowledged(); done < fresh {
				t.Errorf("%d of %d new entries were done within %v", done, fresh, b.Now().Sub(began))
			}
		})
	}
}

// Entries that may have killed their process run one at a time. Those that wait for
// it take neither a worker nor room from new ones, and nor does an entry that hangs
// from those without a key.
func TestNewEntriesPassWhatWaitsToRunAlone(t *testing.T) {
	for _, using := range []spec.Using{spec.UsingRead, spec.UsingAutoclaim} {
		t.Run(string(using), func(t *testing.T) {
			const workers, suspects, fresh = 3, 6, 20
			b := open(t, harness.Config{
				Pipeline: single(func(s *spec.Subscription) {
					s.Batch, s.Workers.Count, s.Claim.Using = suspects, workers, using
				}),
				Handlers: map[string]sandbox.Handler{"s": harness.Func(while)},
			})
			for range suspects {
				b.publish("in", `{"ms":"3600000"}`)
			}
			for range 2 { // delivered twice, and not for long enough to come to anything
				w := b.start()
				b.advance(50 * time.Second)
				b.kill(w)
			}
			before := len(b.Calls("s"))
			b.start()
			b.advance(50 * time.Second)
			if n := len(b.Calls("s")) - before; n != 1 {
				t.Fatalf("%d of those that may have killed run at once, want 1", n)
			}
			for range fresh {
				b.publish("in", `{"ms":"0"}`)
				b.advance(100 * time.Millisecond)
			}
			if done := b.acknowledged(); done != fresh {
				t.Errorf("%d of %d new entries are done", done, fresh)
			}
		})
	}
}

// What has no key is not bound to a worker: all that comes after an entry that
// hangs is done by the other one.
func TestEntriesWithoutAKeyPassOneThatHangs(t *testing.T) {
	const fresh = 30
	b := one(t, while, func(s *spec.Subscription) { s.Batch = 4 })
	b.publish("in", `{"ms":"3600000"}`)
	b.advance(time.Second)
	for range fresh {
		b.publish("in", `{"ms":"0"}`)
	}
	b.advance(5 * time.Second)
	if done := b.acknowledged(); done != fresh {
		t.Errorf("%d of %d new entries are done", done, fresh)
	}
}
