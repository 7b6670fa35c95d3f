package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// dryRun is a dry-run of two subscriptions of one stream and one that only
// takes over.
func dryRun(t *testing.T, handle function) (*engine.DryRun, *spec.Stream) {
	t.Helper()
	s := subscription()
	second, only := *s, *s
	second.Label, only.Label = "second", "only"
	only.Claim = &spec.Claim{Only: true}
	s.Group.Subscriptions = []*spec.Subscription{s, &second, &only}
	d, err := engine.NewDryRun(engine.Config{
		Pipeline: &spec.Pipeline{Groups: []*spec.Group{s.Group}}, Handlers: map[string]sandbox.Handler{"h": handle},
	})
	if err != nil {
		t.Fatal(err)
	}
	return d, s.Group.Stream
}

// entries yields n entries of a stream and one of a stream that nobody reads.
func entries(s *spec.Stream, n int) func(func(engine.DryEntry) bool) {
	return func(yield func(engine.DryEntry) bool) {
		for i := range n {
			fields := []broker.Field{{Name: "_payload", Value: fmt.Sprintf(`{"n":%d}`, i)}}
			if !yield(engine.DryEntry{Stream: s, ID: broker.ID{Ms: uint64(i + 1)}, Fields: fields}) {
				return
			}
		}
		yield(engine.DryEntry{Stream: &spec.Stream{}, ID: broker.ID{Ms: uint64(n + 1)}})
	}
}

func TestADryRunEmitsInTheOrderOfTheEntriesAndTheFile(t *testing.T) {
	const n = 2000
	d, stream := dryRun(t, ack)
	var got []string
	err := d.Run(t.Context(), entries(stream, n), func(d *engine.DryOutcome) error {
		got = append(got, fmt.Sprintf("%d %s %s", d.Outcome.ID.Ms, d.Subscription.Label, d.Outcome.Result))
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	var want []string
	for i := 1; i <= n; i++ {
		want = append(want, fmt.Sprintf("%d s ack", i), fmt.Sprintf("%d second ack", i))
	}
	if !slices.Equal(got, want) {
		t.Fatalf("%d outcomes, want %d; first: %q", len(got), len(want), got[:min(4, len(got))])
	}
	if left := d.NotRun(); len(left) != 1 || left[0].Subscription.Label != "only" || left[0].Reason == "" {
		t.Errorf("not run: %+v", left)
	}
}

func TestADryRunTriesEachEntryOnceAndSaysWhatWouldFollow(t *testing.T) {
	calls := 0
	d, stream := dryRun(t, func(x *sandbox.Delivery) outcome.Outcome {
		calls++
		return broken(x)
	})
	err := d.Run(t.Context(), entries(stream, 1), func(d *engine.DryOutcome) error {
		o := d.Outcome
		if o.Result != observe.ResultFailed || !o.HasAfter || o.Error != "boom" || o.Dead {
			t.Errorf("got %+v", o)
		}
		return nil
	})
	if err != nil || calls != 2 {
		t.Fatalf("%d calls, %v; want one for each subscription", calls, err)
	}
}

func TestADryRunEndsWithItsOutputAndItsContext(t *testing.T) {
	d, stream := dryRun(t, ack)
	full := errors.New("the disk is full")
	err := d.Run(t.Context(), entries(stream, 100_000), func(*engine.DryOutcome) error { return full })
	if !errors.Is(err, full) {
		t.Errorf("got %v, want the error of the output", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err = d.Run(ctx, entries(stream, 100_000), func(*engine.DryOutcome) error {
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
}
