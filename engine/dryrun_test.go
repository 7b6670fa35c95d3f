package engine_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

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

// Duplicates are found in the order of the entries, over all cores, within the
// window by the time of their ids.
func TestADryRunFindsDuplicates(t *testing.T) {
	s := subscription()
	s.Idempotency = &spec.Idempotency{Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}, Window: time.Second}
	cfg := engine.Config{
		Pipeline: &spec.Pipeline{Groups: []*spec.Group{s.Group}},
		Handlers: map[string]sandbox.Handler{"h": function(func(d *sandbox.Delivery) outcome.Outcome {
			return outcome.Outcome{Kind: map[string]outcome.Kind{"dead": outcome.Dead, "drop": outcome.Drop, "ack": outcome.Ack}[d.Body.Get("say").Text()]}
		})},
	}
	const n = 3000 // one each millisecond, a third of the keys dead-lettered at first
	in := func(yield func(engine.DryEntry) bool) {
		for i := range n {
			say := []string{"dead", "ack", "drop"}[i%3]
			fields := []broker.Field{{Name: "_payload", Value: fmt.Sprintf(`{"k":%d,"say":%q}`, i%700/2, say)}}
			if !yield(engine.DryEntry{Stream: s.Group.Stream, ID: broker.ID{Ms: uint64(i + 1)}, Fields: fields}) {
				return
			}
		}
	}
	d, err := engine.NewDryRun(cfg)
	if err != nil {
		t.Fatal(err)
	}
	marked, i, found := map[int]int{}, 0, 0
	err = d.Run(t.Context(), in, func(d *engine.DryOutcome) error {
		want, key := observe.Result([]string{"dead", "ack", "drop"}[i%3]), i%700/2
		at, ok := marked[key]
		switch {
		case ok && i-at < 1000:
			want = observe.ResultDuplicate
			found++
			if d.Outcome.Reason != fmt.Sprintf("of %d-0", at+1) {
				t.Errorf("entry %d: %s", i, d.Outcome.Reason)
			}
		case i%3 > 0:
			marked[key] = i
		}
		if d.Outcome.Result != want {
			t.Errorf("entry %d with key %d: %s, want %s", i, key, d.Outcome.Result, want)
		}
		i++
		return nil
	})
	if err != nil || i != n || found < n/4 {
		t.Errorf("%d entries, %d duplicates, %v", i, found, err)
	}
	compareDuplicates(t, cfg, in)
}

// compareDuplicates compares a version that deduplicates with one that does not:
// they differ in the duplicates alone.
func compareDuplicates(t *testing.T, cfg engine.Config, in func(func(engine.DryEntry) bool)) {
	t.Helper()
	old := *cfg.Pipeline.Groups[0].Subscriptions[0]
	group := *old.Group
	group.Subscriptions = []*spec.Subscription{&old}
	old.Group, old.Idempotency = &group, nil
	before := cfg
	before.Pipeline = &spec.Pipeline{Groups: []*spec.Group{&group}}
	for name, was := range map[string]engine.Config{"without": before, "with": cfg} {
		c, err := engine.NewComparison(was, cfg)
		if err != nil {
			t.Fatal(err)
		}
		differ, duplicates := 0, 0
		if err := c.Run(t.Context(), in, func(c *engine.Compared) error {
			if c.New.Outcome.Result == observe.ResultDuplicate {
				duplicates++
			}
			if !c.Same {
				differ++
				if c.New.Outcome.Result != observe.ResultDuplicate || c.OldVaries || c.NewVaries {
					t.Errorf("%s: %s became %s", name, c.Old.Outcome.Result, c.New.Outcome.Result)
				}
			}
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		if want := map[string]int{"without": duplicates, "with": 0}[name]; differ != want || duplicates == 0 {
			t.Errorf("%s: %d differ of %d duplicates", name, differ, duplicates)
		}
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
