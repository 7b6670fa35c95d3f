package engine_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// versions are the servers that the memory broker plays in these tests: with
// claiming reads and without.
var versions = []string{"8.6.0", "7.0.15"}

func onEach(t *testing.T, handle function, change func(*spec.Subscription), test func(t *testing.T, b *bench)) {
	for _, v := range versions {
		t.Run(v, func(t *testing.T) { test(t, newBench(t, memory.Options{Version: v}, handle, change)) })
	}
}

func expect(t *testing.T, what string, got, want []string) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s:\n  %s\nwant:\n  %s", what, strings.Join(got, "\n  "), strings.Join(want, "\n  "))
	}
}

func TestFailedAttemptsAreSpacedByThePolicyAndThenDead(t *testing.T) {
	// 1 s, 4 s and 16 s are within min_idle and exact but for what a claim adds;
	// 64 s is longer: the entry is put back when it comes too early.
	b := newBench(t, memory.Options{}, broken, nil)
	b.publish(`{}`)
	b.advance(3 * time.Minute)
	var at []time.Duration
	for _, line := range b.log.all() {
		d, err := time.ParseDuration(strings.Fields(line)[0])
		if err != nil {
			t.Fatal(err)
		}
		at = append(at, d)
	}
	earliest := []time.Duration{0, time.Second, 4 * time.Second, 16 * time.Second, 64 * time.Second}
	if len(at) != len(earliest) {
		t.Fatalf("attempts: %v", b.log.all())
	}
	for i := 1; i < len(at); i++ {
		if wait := at[i] - at[i-1]; wait < earliest[i] || wait > earliest[i]+b.sub.Block {
			t.Errorf("attempt %d came %v after the one before, want %v and at most one block more", i+1, wait, earliest[i])
		}
	}
	if last := b.log.all()[4]; !strings.HasSuffix(last, "failed #5 dead") {
		t.Errorf("the last attempt: %s", last)
	}
	expect(t, "dead letters", b.bodies("dead"), []string{`{}`})
	expect(t, "pending", b.pending(), nil)
}

func TestABareRetryComesBackUnderItsIDAfterMinIdle(t *testing.T) {
	handle := func(d *sandbox.Delivery) outcome.Outcome {
		if d.Deliveries < 2 {
			return outcome.Outcome{Kind: outcome.Retry}
		}
		return ack(d)
	}
	onEach(t, handle, nil, func(t *testing.T, b *bench) {
		id := b.publish(`{}`)
		b.advance(29 * time.Second)
		expect(t, "after 29 s", b.log.all(), []string{"0s retry #1"})
		expect(t, "pending", b.pending(), []string{id.String() + " 1"})
		b.advance(2 * time.Second)
		expect(t, "pending", b.pending(), []string{id.String() + " 2"})
		b.advance(32 * time.Second)
		if got := b.log.all(); len(got) != 3 || !strings.HasSuffix(got[2], "ack #1") {
			t.Errorf("outcomes: %q", got)
		}
		expect(t, "stream", b.bodies("in"), []string{`{}`})
		expect(t, "pending", b.pending(), nil)
	})
}

func TestWithoutAClaimABareRetryAppendsACopyAndATimedOneWaitsInPlace(t *testing.T) {
	handle := func(d *sandbox.Delivery) outcome.Outcome {
		switch {
		case d.Body.Get("after") != nil && d.Deliveries == 0:
			return outcome.Outcome{Kind: outcome.Retry, After: 7 * time.Second, HasAfter: true}
		case d.Body.Get("copy") != nil && len(d.Headers) == 0:
			return outcome.Outcome{Kind: outcome.Retry}
		}
		return ack(d)
	}
	onEach(t, handle, func(s *spec.Subscription) { s.Claim = nil }, func(t *testing.T, b *bench) {
		b.publish(`{"copy":1}`)
		expect(t, "stream", b.bodies("in"), []string{`{"copy":1}`, `{"copy":1}`})
		b.advance(2 * time.Second)
		expect(t, "outcomes", b.log.all(), []string{"0s retry #1", "1s ack #2"})
		b.publish(`{"after":1}`)
		b.advance(10 * time.Second)
		expect(t, "outcomes", b.log.all()[2:], []string{"2s retry #1", "9s ack #1"})
		expect(t, "pending", b.pending(), nil)
	})
}

func TestCopiesOfAnEntryThatAlwaysAsksForAnotherAreSpacedByThePolicy(t *testing.T) {
	always := func(*sandbox.Delivery) outcome.Outcome { return outcome.Outcome{Kind: outcome.Retry} }
	onEach(t, always, func(s *spec.Subscription) { s.Claim = nil }, func(t *testing.T, b *bench) {
		b.publish(`{}`)
		b.advance(30 * time.Second)
		expect(t, "outcomes", b.log.all(), []string{"0s retry #1", "1s retry #2", "5s retry #3", "21s retry #4"})
		expect(t, "pending", b.pending(), []string{b.lastID() + " 0"})
	})
}

func TestWhatWaitsInPlaceIsRunByTheNextHolderOfTheSlot(t *testing.T) {
	handle := func(d *sandbox.Delivery) outcome.Outcome {
		if d.Deliveries == 0 {
			return outcome.Outcome{Kind: outcome.Retry, After: time.Minute, HasAfter: true}
		}
		return ack(d)
	}
	onEach(t, handle, func(s *spec.Subscription) { s.Claim = nil }, func(t *testing.T, b *bench) {
		b.publish(`{}`)
		if err := b.stop(); err != nil {
			t.Fatal(err)
		}
		b.start(handle)
		b.advance(59 * time.Second)
		expect(t, "before it is due", b.log.all(), []string{"0s retry #1"})
		b.advance(2 * time.Second)
		expect(t, "when it is due", b.log.all(), []string{"0s retry #1", "1m0s ack #1"})
	})
}

func TestOneKeyKeepsItsOrderAndKeysRunBesideEachOther(t *testing.T) {
	var mu sync.Mutex
	seen := map[string][]string{}
	handle := func(d *sandbox.Delivery) outcome.Outcome {
		mu.Lock()
		defer mu.Unlock()
		seen[d.Key] = append(seen[d.Key], d.Body.Get("n").Text())
		return ack(d)
	}
	key := &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}
	b := newBench(t, memory.Options{}, handle, func(s *spec.Subscription) { s.Workers = spec.Workers{Count: 8, Key: key} })
	var adds []broker.Add
	want := map[string][]string{}
	for i := range 500 {
		k := fmt.Sprint("key-", i%13)
		want[k] = append(want[k], fmt.Sprint(i))
		body := fmt.Sprintf(`{"k":%q,"n":%d}`, k, i)
		adds = append(adds, broker.Add{Stream: "in", Fields: []broker.Field{{Name: "_payload", Value: body}}})
	}
	if _, err := b.broker.Add(t.Context(), adds); err != nil {
		t.Fatal(err)
	}
	b.settle()
	for k := range want {
		expect(t, k, seen[k], want[k])
	}
}

func TestAnEntryThatEndsItsProcessIsNotRunForEver(t *testing.T) {
	// A crash: the entry stays pending under a name that nobody holds any more,
	// with its delivery counted. Five of them, and it is not run a sixth time.
	for _, v := range versions {
		t.Run(v, func(t *testing.T) {
			runs := 0
			b := newBench(t, memory.Options{Version: v}, func(d *sandbox.Delivery) outcome.Outcome {
				runs++
				return ack(d)
			}, func(s *spec.Subscription) { s.Retry.MaxAttempts = 3 })
			if err := b.stop(); err != nil {
				t.Fatal(err)
			}
			add(t, b.broker, "in", `{}`)
			crash(t, b, "gone-1")
			for i := 2; i <= 4; i++ {
				crashAgain(t, b, fmt.Sprint("gone-", i))
			}
			b.start(broken)
			b.advance(5 * time.Minute)
			if runs != 0 || !slices.ContainsFunc(b.log.all(), func(s string) bool { return strings.HasSuffix(s, "dead") }) {
				t.Errorf("outcomes %q", b.log.all())
			}
			expect(t, "pending", b.pending(), nil)
			expect(t, "dead letters", b.bodies("dead"), []string{`{}`})
		})
	}
}

func add(t *testing.T, b *memory.Broker, stream, body string) {
	t.Helper()
	if _, err := b.Add(t.Context(), []broker.Add{{Stream: stream, Fields: []broker.Field{{Name: "_payload", Value: body}}}}); err != nil {
		t.Fatal(err)
	}
}

// crash reads everything new as a consumer that is never heard of again.
func crash(t *testing.T, b *bench, consumer string) {
	t.Helper()
	_, err := b.broker.Read(t.Context(), broker.ReadRequest{Owner: broker.Owner{Stream: "in", Group: "g", Consumer: consumer}, Count: 10})
	if err != nil {
		t.Fatal(err)
	}
}

// crashAgain claims what is pending, is admitted to run it, and is never heard
// of again.
func crashAgain(t *testing.T, b *bench, consumer string) {
	t.Helper()
	owner := broker.Owner{Stream: "in", Group: "g", Consumer: consumer}
	ps, err := b.broker.Pending(t.Context(), "in", "g", "", broker.ID{}, 10)
	if err != nil || len(ps) != 1 {
		t.Fatal(ps, err)
	}
	taken, err := b.broker.TakeOver(t.Context(), owner, ps[0].Consumer, []broker.ID{ps[0].ID})
	if err != nil || len(taken.Deliveries) != 1 {
		t.Fatal(taken, err)
	}
	_, err = b.broker.Admit(t.Context(), broker.AdmitRequest{
		Owner: owner, MinIdle: 30 * time.Second, MaxAttempts: 3,
		Entries: []broker.Redelivery{{ID: ps[0].ID, Deliveries: taken.Deliveries[0].Deliveries}},
	})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := b.broker.Begin(t.Context(), owner, []broker.ID{ps[0].ID}); err != nil {
		t.Fatal(err)
	}
}

func TestPolicies(t *testing.T) {
	bad := func(d *sandbox.Delivery) outcome.Outcome {
		if d.Body.Get("bad") != nil {
			return broken(d)
		}
		return ack(d)
	}
	for _, c := range []struct {
		name   string
		change func(*spec.Subscription)
		body   string
		want   []string
		dead   int
	}{
		{"invalid is dead", nil, `{`, []string{"0s invalid #1 dead"}, 1},
		{"invalid is dropped", func(s *spec.Subscription) { s.OnInvalid = spec.PolicyDrop }, `{`, []string{"0s invalid #1"}, 0},
		{
			"invalid is retried", func(s *spec.Subscription) {
				s.OnInvalid, s.Retry = spec.PolicyRetry, spec.Retry{MaxAttempts: 3, Delay: time.Second, Multiplier: 1}
			},
			`{`, []string{"0s invalid #1", "1s invalid #2", "2s invalid #3 dead"}, 1,
		},
		{"a failure is dead at once", func(s *spec.Subscription) { s.OnFailure = spec.PolicyDead }, `{"bad":1}`, []string{"0s failed #1 dead"}, 1},
		{"too old is dead", func(s *spec.Subscription) { s.Retry.MaxAge = 3 * time.Second }, `{"bad":1}`, []string{"0s failed #1", "1s failed #2", "5s failed #3 dead"}, 1},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(t, memory.Options{}, bad, c.change)
			b.publish(c.body)
			b.advance(10 * time.Second)
			expect(t, "outcomes", b.log.all(), c.want)
			if got := len(b.bodies("dead")); got != c.dead {
				t.Errorf("%d dead letters, want %d", got, c.dead)
			}
			b.publish(`{}`)
			if last := b.log.all(); !strings.HasSuffix(last[len(last)-1], "ack #1") {
				t.Errorf("the rest of the stream does not go on: %q", last)
			}
		})
	}
}

func TestStopEndsTheSubscriptionAndKeepsItsEntry(t *testing.T) {
	b := newBench(t, memory.Options{}, broken, func(s *spec.Subscription) { s.OnFailure = spec.PolicyStop })
	fields := []broker.Field{{Name: "_payload", Value: `{}`}}
	ids, err := b.broker.Add(t.Context(), []broker.Add{{Stream: "in", Fields: fields}})
	if err != nil {
		t.Fatal(err)
	}
	b.ran.Wait()
	var failed *engine.FailedError
	if !errors.As(b.err, &failed) || !strings.Contains(b.err.Error(), ids[0].String()) || !strings.Contains(b.err.Error(), "boom") {
		t.Fatalf("Run returned %v", b.err)
	}
	expect(t, "pending", b.pending(), []string{ids[0].String() + " 1"})
}

func TestALostAnswerNeverPublishesTwice(t *testing.T) {
	reply := func(*sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: value.NewString("r")}}}
	}
	b := newBench(t, memory.Options{}, reply, func(s *spec.Subscription) {
		s.Reply = &spec.Route{To: &spec.Stream{Label: "out", Name: "out", Codec: spec.CodecJSON, Body: spec.DefaultBody}}
	})
	var mu sync.Mutex
	lost := 0
	b.broker.SetFault(func(c memory.Call) memory.Effect {
		mu.Lock()
		defer mu.Unlock()
		if c.Op == "settle" && lost < 3 {
			lost++
			return memory.Effect{Err: broker.ErrUnavailable}
		}
		return memory.Effect{}
	})
	fields := []broker.Field{{Name: "_payload", Value: `{}`}}
	if _, err := b.broker.Add(t.Context(), []broker.Add{{Stream: "in", Fields: fields}}); err != nil {
		t.Fatal(err)
	}
	// The pauses between the attempts: the clock goes on, but no faster than the
	// engine can follow.
	for len(b.log.all()) == 0 {
		b.clock.Advance(10 * time.Millisecond)
		time.Sleep(time.Millisecond)
	}
	b.settle()
	expect(t, "replies", b.bodies("out"), []string{`"r"`})
	expect(t, "pending", b.pending(), nil)
}

func TestAnOldServerIsRefusedByName(t *testing.T) {
	s := subscription()
	s.Claim.Using = spec.UsingRead
	br := memory.New(newClock(), memory.Options{Version: "7.0.15"})
	e, err := engine.New(engine.Config{
		Pipeline: &spec.Pipeline{Groups: []*spec.Group{s.Group}}, Broker: br, Host: "h",
		Handlers: map[string]sandbox.Handler{"h": function(ack)},
	})
	if err != nil {
		t.Fatal(err)
	}
	err = e.Run(t.Context())
	var unsuitable *engine.UnsuitableError
	if !errors.As(err, &unsuitable) || unsuitable.Code != engine.CodeClaimingRead {
		t.Fatalf("got %v", err)
	}
	for _, word := range []string{"subscription s", "8.4.0", "7.0.15"} {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("%q does not mention %s", err, word)
		}
	}
	if infos, _ := br.GroupInfos(t.Context(), "in"); len(infos) != 0 {
		t.Errorf("groups were created: %v", infos)
	}
}

func TestNewHandlerCodeIsTakenWithoutAStop(t *testing.T) {
	b := newBench(t, memory.Options{}, ack, nil)
	b.publish(`{}`)
	drop := function(func(*sandbox.Delivery) outcome.Outcome { return outcome.Outcome{Kind: outcome.Drop} })
	if err := b.engine.Replace("h", drop); err != nil {
		t.Fatal(err)
	}
	b.publish(`{}`)
	expect(t, "outcomes", b.log.all(), []string{"0s ack #1", "0s drop #1"})
	if err := b.engine.Replace("nobody", drop); err == nil {
		t.Error("an unknown handler was replaced")
	}
}

func TestWhatTheEngineDoesNotDoIsRefused(t *testing.T) {
	for name, change := range map[string]func(*spec.Subscription){
		"idempotency": func(s *spec.Subscription) { s.Idempotency = &spec.Idempotency{Window: time.Hour} }, // no key
		"window":      func(s *spec.Subscription) { s.Idempotency = &spec.Idempotency{Key: &spec.Literal{JSON: "1"}} },
	} {
		s := subscription()
		change(s)
		_, err := engine.New(engine.Config{
			Pipeline: &spec.Pipeline{Groups: []*spec.Group{s.Group}}, Broker: memory.New(newClock(), memory.Options{}), Host: "h",
			Handlers: map[string]sandbox.Handler{"h": function(ack)},
		})
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: got %v", name, err)
		}
	}
}

func TestAnEngineWithNothingToDoIsReadyAndEnds(t *testing.T) {
	e, err := engine.New(engine.Config{Pipeline: &spec.Pipeline{}, Broker: memory.New(newClock(), memory.Options{}), Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	<-e.Ready()
	if err := e.Run(t.Context()); err != nil {
		t.Fatal(err)
	}
}
