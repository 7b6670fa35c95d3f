package harness_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/codec"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

func TestNewRefusesWhatCannotRun(t *testing.T) {
	handlers := map[string]sandbox.Handler{"s": harness.Func(ack)}
	for _, c := range []struct {
		name string
		cfg  harness.Config
		want string
	}{
		{"no pipeline", harness.Config{Handlers: handlers}, "no pipeline"},
		{"no handler", harness.Config{Pipeline: single(nil)}, "handler s was not given"},
		{"a nil handler", harness.Config{Pipeline: single(nil), Handlers: map[string]sandbox.Handler{"s": nil}}, "handler s was not given"},
		{"a version", harness.Config{Pipeline: single(nil), Handlers: handlers, Version: "new"}, `version "new"`},
		{"a codec", harness.Config{Pipeline: single(func(s *spec.Subscription) { s.Group.Stream.Codec = "xml" }), Handlers: handlers}, `no codec "xml"`},
		{"what the engine lacks", harness.Config{Pipeline: single(func(s *spec.Subscription) { s.Idempotency = &spec.Idempotency{Window: time.Hour} }), Handlers: handlers}, "idempotency"},
	} {
		t.Run(c.name, func(t *testing.T) {
			if _, err := harness.New(c.cfg); err == nil || !strings.Contains(err.Error(), c.want) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestAnUnsuitableServerIsTheErrorOfStart(t *testing.T) {
	for version, code := range map[string]string{"8.2.0": "claiming_read_unsupported", "8.4.0": ""} {
		h := open(t, harness.Config{
			Pipeline: single(func(s *spec.Subscription) { s.Claim.Using = spec.UsingRead }), Version: version,
			Handlers: map[string]sandbox.Handler{"s": harness.Func(ack)},
		})
		w, err := h.Start(t.Context())
		unsuitable, ok := errors.AsType[*engine.UnsuitableError](err)
		if ok != (code != "") || ok && (unsuitable.Code != code || w != nil) {
			t.Errorf("on %s: %v, %v", version, w, err)
		}
		if ok {
			for _, mention := range []string{"subscription s", "8.4.0", "8.2.0"} {
				if !strings.Contains(err.Error(), mention) {
					t.Errorf("%v does not mention %s", err, mention)
				}
			}
		}
	}
}

func TestSeveralWorkersShareTheWork(t *testing.T) {
	b := open(t, harness.Config{
		Pipeline: single(func(s *spec.Subscription) { s.Workers.Count = 1 }),
		Handlers: map[string]sandbox.Handler{"s": harness.Func(func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
			if err := harness.Sleep(ctx, time.Second); err != nil {
				return outcome.Fail(outcome.FailCanceled, "")
			}
			return outcome.Outcome{Kind: outcome.Ack}
		})},
	})
	b.start()
	b.start()
	for range 6 {
		b.publish("in", `{}`)
	}
	b.advance(3 * time.Second)
	by := map[string]int{}
	for _, c := range b.Calls("s") {
		by[c.Worker]++
	}
	if len(b.Pending("g")) != 0 || by["worker1"] != 3 || by["worker2"] != 3 {
		t.Errorf("pending %v, calls %v", b.Pending("g"), by)
	}
}

func TestCallsShowWhatWasDeliveredAndWhatCameOfIt(t *testing.T) {
	keeper := &engine.LogKeeper{}
	b := open(t, harness.Config{
		Pipeline: single(func(s *spec.Subscription) {
			s.Reply = &spec.Route{To: stream("out"), Key: &spec.Path{Root: spec.RootReply, Steps: []spec.Step{{Name: "k"}}}}
			s.Retry.MaxAttempts = 3
		}),
		KeepLogs: keeper,
		Handlers: map[string]sandbox.Handler{"s": harness.Func(func(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
			keeper.Log(d, sandbox.LogLine{Level: sandbox.Info, Message: "at work"})
			switch number(d, "n") {
			case 1:
				return replyWith(`{"k":"key","big":18446744073709551615}`)
			case 2:
				return outcome.Outcome{Kind: outcome.Retry, After: 5 * time.Second, HasAfter: true, Reason: "busy"}
			case 3:
				return outcome.Outcome{Kind: outcome.Drop, Reason: "old"}
			case 4:
				return outcome.Outcome{Kind: outcome.Dead, Reason: "bad"}
			case 5:
				panic("oops")
			}
			return outcome.Outcome{Kind: outcome.Ack}
		})},
	})
	b.start()
	add := broker.Add{Stream: "in", Fields: []broker.Field{{Name: "_payload", Value: `{"n":1}`}, {Name: "h:correlation-id", Value: "c-1"}}}
	if _, err := b.Publish(add); err != nil {
		t.Fatal(err)
	}
	b.publish("in", `{"n":2}`, `{"n":3}`, `{"n":4}`, `{"n":5}`, `{"n":`)
	b.advance(6 * time.Second)
	type seen struct {
		Deliveries int64
		Attempt    int
		Ran, Dead  bool
		Outcome    observe.Result
		Said       string
		After      time.Duration
		Reason     string
		Logs       int
	}
	var got []seen
	for _, c := range b.Calls("s") {
		if !c.Settled || c.Worker != "worker1" || c.Consumer != "s-worker1-0.1" || c.Subscription != "s" {
			t.Errorf("%+v", c)
		}
		got = append(got, seen{c.Deliveries, c.Attempt, c.Ran, c.Dead, c.Outcome, c.Said, c.After, c.Reason, len(c.Logs)})
	}
	want := []seen{
		{0, 1, true, false, "reply", "reply", 0, "", 1},
		{0, 1, true, false, "retry", "retry", 5 * time.Second, "busy", 1},
		{0, 1, true, false, "drop", "drop", 0, "old", 1},
		{0, 1, true, true, "dead", "dead", 0, "bad", 1},
		{0, 1, true, false, "failed", "failed", time.Second, "", 1},
		{0, 1, false, true, "invalid", "", 0, "invalid", 0},
		{1, 2, true, false, "failed", "failed", 4 * time.Second, "", 1},
		{1, 1, true, false, "retry", "retry", 5 * time.Second, "busy", 1},
		{2, 3, true, true, "failed", "failed", 0, "failed", 1},
	}
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || got[i] != want[i] {
			t.Fatalf("call %d: got\n%+v\nwant\n%+v", i, got[min(i, len(got)):], want[min(i, len(want)):])
		}
	}
	first := b.Calls("s")[0]
	if r := first.Replies; len(r) != 1 || r[0].Stream != "out" || r[0].Key != "key" || r[0].Body.Get("big").Text() != "18446744073709551615" ||
		!slices.Equal(r[0].Headers, []outcome.Header{{Name: "correlation-id", Value: "c-1"}}) {
		t.Errorf("replies %+v", first.Replies)
	}
	if !slices.Equal(first.Headers, []outcome.Header{{Name: "correlation-id", Value: "c-1"}}) || first.Entry.Get("n").Text() != "1" {
		t.Errorf("headers %v, entry %v", first.Headers, first.Entry)
	}
	if c := b.Calls("s")[4]; c.Kind != outcome.FailCrash || !strings.Contains(c.Error, "oops") {
		t.Errorf("a panic is %s: %q", c.Kind, c.Error)
	}
	if len(b.Calls("none")) != 0 {
		t.Error("a subscription that is absent has calls")
	}
}

func TestEntriesAreDecodedAndLettersAsWhatTheyWere(t *testing.T) {
	b := one(t, func(context.Context, *sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Dead, Reason: "no"}
	}, func(s *spec.Subscription) {
		s.Group.Stream.Codec, s.Group.Stream.Name = spec.CodecFields, "the in"
		s.Group.DeadLetter.Name = "the dead"
	})
	if _, err := b.Publish(broker.Add{Stream: "the in", Fields: []broker.Field{{Name: "n", Value: "1"}, {Name: "h:a", Value: "b"}}}); err != nil {
		t.Fatal(err)
	}
	b.settle()
	for _, name := range []string{"dead", "the dead"} {
		letters := b.Entries(name)
		if len(letters) != 1 || letters[0].Letter == nil || letters[0].Letter.Reason != codec.ReasonRejected ||
			letters[0].Letter.Error != "no" || letters[0].Body.Get("n").Text() != "1" {
			t.Errorf("%s: %+v", name, letters)
		}
	}
	if in := b.Entries("in"); len(in) != 1 || in[0].Letter != nil || !slices.Equal(in[0].Headers, []outcome.Header{{Name: "a", Value: "b"}}) {
		t.Errorf("in: %+v", in)
	}
	b.Server().SetString("the in")
	if len(b.Entries("in")) != 0 || len(b.Entries("nowhere")) != 0 || len(b.Pending("nowhere")) != 0 || b.Pending("g") != nil {
		t.Error("what is no stream has entries")
	}
}

func TestEncodeMakesWhatAPublisherWrites(t *testing.T) {
	b := one(t, ack, func(s *spec.Subscription) {
		s.Group.Stream.Name = "the in"
		s.Group.Stream.Key = &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}
		s.Group.Stream.Entry = &spec.Type{Kind: spec.TypeObject, Attrs: []spec.Attr{{Name: "k", Type: &spec.Type{Kind: spec.TypeString}}}}
	})
	body, wrong := replyWith(`{"k":"a"}`).Replies[0].Body, replyWith(`{"k":1}`).Replies[0].Body
	add, err := b.Encode("in", codec.Message{Body: &body, Headers: []codec.Field{{Name: "x", Value: "y"}}})
	if err != nil {
		t.Fatal(err)
	}
	want := []broker.Field{{Name: "_payload", Value: `{"k":"a"}`}, {Name: "h:redis-partition-key", Value: "a"}, {Name: "h:x", Value: "y"}}
	if add.Stream != "the in" || !slices.Equal(add.Fields, want) {
		t.Errorf("%+v", add)
	}
	if _, err := b.Encode("in", codec.Message{Body: &wrong}); err == nil {
		t.Error("a body of another type was taken")
	}
	if _, err := b.Encode("nowhere", codec.Message{Body: &body}); err == nil || !strings.Contains(err.Error(), `"nowhere"`) {
		t.Errorf("an unknown stream: %v", err)
	}
}

func TestPendingEntriesShowTheirRecord(t *testing.T) {
	b := one(t, func(context.Context, *sandbox.Delivery) outcome.Outcome {
		return outcome.Outcome{Kind: outcome.Retry, After: 10 * time.Second, HasAfter: true, Reason: "busy"}
	}, nil)
	b.publish("in", `{}`)
	ps := b.Pending("g")
	if len(ps) != 1 || ps[0].Deliveries != 1 || ps[0].Idle != 20*time.Second || ps[0].Record.Asked != 1 || ps[0].Record.Error != "busy" ||
		ps[0].Record.Due.Sub(harness.DefaultStart) != 10*time.Second {
		t.Errorf("pending %+v", ps)
	}
}

func TestStopDrainsAndSaysWhatWasLeft(t *testing.T) {
	for _, c := range []struct {
		takes time.Duration
		left  bool
		want  observe.Result
	}{{10 * time.Second, false, "ack"}, {time.Hour, true, harness.Canceled}} {
		b := one(t, func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
			if err := harness.Sleep(ctx, c.takes); err != nil {
				return outcome.Fail(outcome.FailCanceled, "")
			}
			return outcome.Outcome{Kind: outcome.Ack}
		}, nil)
		b.publish("in", `{}`)
		err := b.Stop(t.Context())
		left, ok := errors.AsType[*engine.LeftError](err)
		if ok != c.left || ok && left.Left[0].Count != 1 || !ok && err != nil {
			t.Errorf("after %v: %v", c.takes, err)
		}
		if got := b.Calls("s")[0]; got.Outcome != c.want || got.Settled == c.left {
			t.Errorf("after %v: %+v", c.takes, got)
		}
		if took := b.Now().Sub(harness.DefaultStart); took != min(c.takes, 20*time.Second) {
			t.Errorf("stopping took %v", took)
		}
		if w := b.Workers()[0]; w.Alive() || w.Crashed() {
			t.Errorf("alive %v, crashed %v", w.Alive(), w.Crashed())
		}
	}
}

func TestAWorkerThatIsStoppedHandsItsWorkToTheOther(t *testing.T) {
	b := open(t, harness.Config{Pipeline: single(nil), Handlers: map[string]sandbox.Handler{"s": harness.Func(ack)}})
	first := b.start()
	b.start()
	if err := first.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.publish("in", `{}`, `{}`)
	for _, c := range b.Calls("s") {
		if c.Worker != "worker2" || c.Outcome != "ack" {
			t.Errorf("%+v", c)
		}
	}
	if len(b.Calls("s")) != 2 || b.Now() != harness.DefaultStart {
		t.Errorf("calls %v at %v", b.Calls("s"), b.Now())
	}
}

func TestReplaceGivesAWorkerNewCode(t *testing.T) {
	b := one(t, ack, nil)
	b.publish("in", `{}`)
	w := b.Workers()[0]
	drop := harness.Func(func(context.Context, *sandbox.Delivery) outcome.Outcome { return outcome.Outcome{Kind: outcome.Drop} })
	if err := w.Replace("s", drop); err != nil {
		t.Fatal(err)
	}
	b.publish("in", `{}`)
	if got := b.outcomes("s"); !slices.Equal(got, []string{"ack", "drop"}) {
		t.Errorf("outcomes %v", got)
	}
	if w.Replace("z", drop) == nil {
		t.Error("an unknown handler was replaced")
	}
	if snap := w.Snapshot(); !snap.ServerUp || snap.Subscriptions[0].Settled["ack"] != 1 || w.Consumer("s") != snap.Subscriptions[0].Consumer {
		t.Errorf("snapshot %+v, consumer %s", snap, w.Consumer("s"))
	}
}

func TestAHandlerThatNeverReturnsIsAnErrorThatNamesIt(t *testing.T) {
	free := make(chan struct{})
	h, err := harness.New(harness.Config{
		Pipeline: single(nil), Patience: 2 * time.Second,
		Handlers: map[string]sandbox.Handler{"s": harness.Func(func(context.Context, *sandbox.Delivery) outcome.Outcome {
			<-free
			return outcome.Outcome{Kind: outcome.Ack}
		})},
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{h, t}
	b.start()
	if _, err := h.Publish(broker.Add{Stream: "in", Fields: []broker.Field{{Name: "_payload", Value: `{}`}}}); err != nil {
		t.Fatal(err)
	}
	if err := h.Settle(t.Context()); !errors.Is(err, clock.ErrBusy) || !strings.Contains(err.Error(), "worker1/s/lane") {
		t.Errorf("settle: %v", err)
	}
	canceled, cancel := context.WithCancel(t.Context())
	cancel()
	if err := h.Advance(canceled, time.Second); !errors.Is(err, context.Canceled) {
		t.Errorf("advance: %v", err)
	}
	close(free)
	if err := h.Close(); err != nil {
		t.Errorf("close: %v", err)
	}
}

func TestSleepNeedsAHarness(t *testing.T) {
	if err := harness.Sleep(t.Context(), time.Second); err == nil {
		t.Error("it slept without a harness")
	}
}

func TestALostGroupIsRestoredAndNothingOfItIsLost(t *testing.T) {
	b := one(t, ack, nil)
	b.publish("in", `{"n":1}`)
	b.advance(10 * time.Second)
	b.Server().DestroyGroup("in", "g")
	b.publish("in", `{"n":2}`)
	b.advance(5 * time.Second)
	if got := fmt.Sprint(b.outcomes("s")); got != "[ack ack]" {
		t.Errorf("outcomes %s", got)
	}
	if !slices.ContainsFunc(b.Events(), func(e harness.Event) bool { return e.Name == observe.EventGroupRestored && e.Worker == "worker1" }) {
		t.Errorf("events %+v", b.Events())
	}
}

// TestOneKeyOneOrder: entries of a key run in their order however long each
// takes, those of other keys meanwhile.
func TestOneKeyOneOrder(t *testing.T) {
	running, most := 0, 0
	b := one(t, func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
		running++
		most = max(most, running)
		defer func() { running-- }()
		if err := harness.Sleep(ctx, time.Duration(10-number(d, "n"))*time.Second); err != nil {
			return outcome.Fail(outcome.FailCanceled, "")
		}
		return outcome.Outcome{Kind: outcome.Ack}
	}, func(s *spec.Subscription) {
		s.Workers = spec.Workers{Count: 8, Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}}
	})
	var bodies []string
	for n := range 9 {
		bodies = append(bodies, fmt.Sprintf(`{"n":%d,"k":"%d"}`, n, n%3))
	}
	b.publish("in", bodies...)
	b.advance(time.Minute)
	last := map[string]time.Time{}
	for _, c := range b.Calls("s") {
		if c.Time.Before(last[c.Key]) {
			t.Errorf("%s of key %s began while the one before it ran", c.ID, c.Key)
		}
		last[c.Key] = c.Time.Add(c.Elapsed)
	}
	if most < 2 || len(b.Calls("s")) != 9 || len(b.Pending("g")) != 0 {
		t.Errorf("%d at once, %d calls, pending %v", most, len(b.Calls("s")), b.Pending("g"))
	}
}
