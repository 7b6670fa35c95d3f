package engine_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// version is a version of a pipeline with one subscription, which change may
// alter.
func version(handle function, change func(*spec.Subscription)) engine.Config {
	s := subscription()
	if change != nil {
		change(s)
	}
	return engine.Config{
		Pipeline: &spec.Pipeline{Groups: []*spec.Group{s.Group}}, Handlers: map[string]sandbox.Handler{"h": handle},
	}
}

func compare(t *testing.T, old, recent engine.Config) *engine.Comparison {
	t.Helper()
	c, err := engine.NewComparison(old, recent)
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// judged runs n entries and returns one word for each.
func judged(t *testing.T, c *engine.Comparison, n int) []string {
	t.Helper()
	var got []string
	err := c.Run(t.Context(), entries(&spec.Stream{Name: "in"}, n), func(x *engine.Compared) error {
		word := "differs"
		switch {
		case x.Same:
			word = "same"
		case x.OldVaries && x.NewVaries:
			word = "both vary"
		case x.OldVaries:
			word = "old varies"
		case x.NewVaries:
			word = "new varies"
		}
		if want := uint64(len(got) + 1); x.New.Outcome.ID.Ms != want || x.Old.Outcome.ID != x.New.Outcome.ID {
			t.Errorf("%v and %v came instead of entry %d", x.Old.Outcome.ID, x.New.Outcome.ID, want)
		}
		got = append(got, word)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func reasoned(kind outcome.Kind, reason string) function {
	return func(*sandbox.Delivery) outcome.Outcome { return outcome.Outcome{Kind: kind, Reason: reason} }
}

func failing(message string) function {
	return func(*sandbox.Delivery) outcome.Outcome { return outcome.Fail(outcome.FailError, message) }
}

func TestWhatCountsAsADifference(t *testing.T) {
	var calls atomic.Int64
	counts := func(*sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Drop, Reason: fmt.Sprint(calls.Add(1))}
	}
	timed := func(d *sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Drop, Reason: d.Now.String()}
	}
	for _, c := range []struct {
		name        string
		old, recent engine.Config
		want        string
	}{
		{"nothing", version(ack, nil), version(ack, nil), "same"},
		{"the outcome", version(ack, nil), version(broken, nil), "differs"},
		{"the reason", version(reasoned(outcome.Drop, "a"), nil), version(reasoned(outcome.Drop, "b"), nil), "differs"},
		{"the error", version(failing("h.lua:2: a"), nil), version(failing("h.lua:2: b"), nil), "differs"},
		{"only the line of the error", version(failing("h.lua:2: a"), nil), version(failing("h.lua:31: a"), nil), "same"},
		{"the delay of a retry", version(broken, nil), version(broken, func(s *spec.Subscription) { s.Retry.Delay *= 2 }), "differs"},
		{"the spread of retries, which is chance", version(broken, func(s *spec.Subscription) { s.Retry.Jitter = 0.5 }), version(broken, func(s *spec.Subscription) { s.Retry.Jitter = 0.5 }), "same"},
		{"where dead letters go", version(reasoned(outcome.Dead, ""), nil), version(reasoned(outcome.Dead, ""), func(s *spec.Subscription) {
			s.Group.DeadLetter = &spec.Stream{Name: "elsewhere"}
		}), "differs"},
		{"the declared type", version(ack, nil), version(ack, func(s *spec.Subscription) {
			s.Group.Stream.Entry = &spec.Type{Kind: spec.TypeString}
		}), "differs"},
		{"the key", version(ack, nil), version(ack, func(s *spec.Subscription) {
			s.Workers.Key = &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "n"}}}
		}), "differs"},
		{"the moment", version(timed, nil), version(timed, nil), "same"},
		{"an old version that varies", version(counts, nil), version(ack, nil), "old varies"},
		{"a new version that varies", version(ack, nil), version(counts, nil), "new varies"},
		{"two versions that vary", version(counts, nil), version(counts, nil), "both vary"},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := judged(t, compare(t, c.old, c.recent), 600)
			if len(got) != 600 || slices.ContainsFunc(got, func(word string) bool { return word != c.want }) {
				t.Errorf("%d results, the first %q, want %q for each", len(got), got[:min(3, len(got))], c.want)
			}
		})
	}
}

// some differ: only those are run a second time.
func TestOnlyWhatDiffersRunsTwice(t *testing.T) {
	var calls atomic.Int64
	some := func(d *sandbox.Delivery) outcome.Outcome {
		calls.Add(1)
		if strings.HasSuffix(d.ID, "7-0") {
			return outcome.Outcome{Kind: outcome.Drop}
		}
		return outcome.Outcome{Kind: outcome.Ack}
	}
	const n = 1000
	got := judged(t, compare(t, version(ack, nil), version(some, nil)), n)
	for i, word := range got {
		if want := map[bool]string{true: "differs", false: "same"}[(i+1)%10 == 7]; word != want {
			t.Fatalf("entry %d: %s, want %s", i+1, word, want)
		}
	}
	if calls.Load() != n+n/10 {
		t.Errorf("%d calls of the new handler, want one for each entry and one more for each of the %d that differ", calls.Load(), n/10)
	}
}

func TestSubscriptionsThatDifferAsAWhole(t *testing.T) {
	labeled := func(label, stream string, only bool) *spec.Subscription {
		s := subscription()
		s.Label, s.Group.Stream.Name = label, stream
		if only {
			s.Claim = &spec.Claim{MinIdle: time.Second, Only: true}
		}
		return s
	}
	config := func(subs ...*spec.Subscription) engine.Config {
		p := &spec.Pipeline{}
		for _, s := range subs {
			p.Groups = append(p.Groups, s.Group)
			s.Group.Subscriptions = []*spec.Subscription{s}
		}
		return engine.Config{Pipeline: p, Handlers: map[string]sandbox.Handler{"h": function(ack)}}
	}
	c := compare(t,
		config(labeled("stays", "in", false), labeled("goes", "in", false), labeled("moves", "in", false), labeled("turns", "in", false), labeled("claims", "in", true)),
		config(labeled("comes", "late", false), labeled("stays", "in", false), labeled("moves", "out", false), labeled("turns", "in", true), labeled("claims", "in", true)))
	var got []string
	for _, x := range c.Changes() {
		got = append(got, string(x.Change)+" "+x.Label())
	}
	if want := []string{"added comes", "moved moves", "role turns", "removed goes"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
	if streams := c.Streams(); len(streams) != 1 || streams[0].Name != "in" {
		t.Errorf("the streams are %v", streams)
	}
	if got := judged(t, c, 3); len(got) != 3 {
		t.Errorf("only one subscription can be compared, and %d results came", len(got))
	}
}

func TestRepliesAreCompared(t *testing.T) {
	to := func(name string) func(*spec.Subscription) {
		return func(s *spec.Subscription) {
			s.Reply = &spec.Route{To: &spec.Stream{Label: name, Name: name, Codec: spec.CodecJSON}}
		}
	}
	echo := func(d *sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: *d.Body}}}
	}
	keyed := func(d *sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: *d.Body, Key: "k", HasKey: true}}}
	}
	twice := func(d *sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: *d.Body}, {Body: *d.Body}}}
	}
	for _, c := range []struct {
		name   string
		recent engine.Config
		want   string
	}{
		{"the same", version(echo, to("out")), "same"},
		{"the stream", version(echo, to("other")), "differs"},
		{"the key", version(keyed, to("out")), "differs"},
		{"one more", version(twice, to("out")), "differs"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := judged(t, compare(t, version(echo, to("out")), c.recent), 1); got[0] != c.want {
				t.Errorf("got %q, want %q", got[0], c.want)
			}
		})
	}
}

func TestAComparisonEndsWithItsOutputAndItsContext(t *testing.T) {
	c := compare(t, version(ack, nil), version(broken, nil))
	full := errors.New("the disk is full")
	in := &spec.Stream{Name: "in"}
	if err := c.Run(t.Context(), entries(in, 100_000), func(*engine.Compared) error { return full }); !errors.Is(err, full) {
		t.Errorf("got %v, want the error of the output", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	err := c.Run(ctx, entries(in, 100_000), func(x *engine.Compared) error {
		if x.New.Outcome.Result != observe.ResultFailed {
			t.Errorf("a result of a handler that was called off came: %+v", x.New.Outcome)
		}
		cancel()
		return nil
	})
	if !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context canceled", err)
	}
}

func TestAComparisonNeedsTwoVersionsThatRun(t *testing.T) {
	lacking := version(ack, nil)
	lacking.Handlers = nil
	if _, err := engine.NewComparison(lacking, version(ack, nil)); err == nil || !strings.Contains(err.Error(), "the old version") {
		t.Errorf("got %v", err)
	}
	if _, err := engine.NewComparison(version(ack, nil), lacking); err == nil || strings.Contains(err.Error(), "the old version") {
		t.Errorf("got %v", err)
	}
}

// A copy that a retry has just made is shown with what it comes to: in a dry-run
// nothing waits.
func TestADryRunTriesACopyThatWouldWait(t *testing.T) {
	s := subscription()
	s.Claim = nil
	d, err := engine.NewDryRun(engine.Config{
		Pipeline: &spec.Pipeline{Groups: []*spec.Group{s.Group}}, Handlers: map[string]sandbox.Handler{"h": function(ack)},
	})
	if err != nil {
		t.Fatal(err)
	}
	fields := codec.RetryCopy([]broker.Field{{Name: "_payload", Value: "1"}}, 1, s.Group.Name)
	entry := engine.DryEntry{Stream: s.Group.Stream, ID: broker.ID{Ms: uint64(time.Now().UnixMilli())}, Fields: fields}
	var got []observe.Result
	err = d.Run(t.Context(), slices.Values([]engine.DryEntry{entry}), func(o *engine.DryOutcome) error {
		got = append(got, o.Outcome.Result)
		return nil
	})
	if err != nil || !slices.Equal(got, []observe.Result{observe.ResultAck}) {
		t.Errorf("got %v, %v", got, err)
	}
}

// Entries of a megabyte are handed over one by one, so that few are in memory.
func TestLargeEntriesAreCutByTheirBytes(t *testing.T) {
	d, stream := dryRun(t, ack)
	large := strings.Repeat("x", 1<<20)
	const n = 100
	var outcomes atomic.Int64
	most := int64(0)
	in := func(yield func(engine.DryEntry) bool) {
		for i := range n {
			most = max(most, int64(i)-outcomes.Load()/2)
			if !yield(engine.DryEntry{Stream: stream, ID: broker.ID{Ms: uint64(i + 1)}, Fields: []broker.Field{{Name: "f", Value: large}}}) {
				return
			}
		}
	}
	err := d.Run(t.Context(), in, func(*engine.DryOutcome) error {
		outcomes.Add(1)
		return nil
	})
	if room := int64(4*runtime.GOMAXPROCS(0) + 4); err != nil || outcomes.Load() != 2*n || most > room {
		t.Errorf("%d outcomes, %v; %d entries were on their way at once, want at most %d", outcomes.Load(), err, most, room)
	}
}

func TestSameError(t *testing.T) {
	for _, c := range []struct {
		a, b string
		want bool
	}{
		{"", "", true},
		{"a.lua:1: x", "a.lua:22: x", true},
		{"a.lua:1: x in b.lua:3", "a.lua:2: x in b.lua:4", true},
		{"a.lua:1: x", "b.lua:1: x", false},
		{"code 1", "code 2", false},
		{"a.lua:1: 5", "a.lua:1: 6", false},
		{"a.lua:", "a.lua:9", true},
	} {
		if got := engine.SameError(c.a, c.b); got != c.want {
			t.Errorf("%q and %q: %v", c.a, c.b, got)
		}
	}
}
