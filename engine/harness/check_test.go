package harness_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// disagreeing is a bench whose Close must say what; it is closed by the test.
func disagreeing(t *testing.T, handle harness.Func, wrap func(broker.Broker) broker.Broker) *bench {
	t.Helper()
	p := single(func(s *spec.Subscription) { s.Claim, s.Reply = nil, &spec.Route{To: stream("out")} })
	p.Streams = append(p.Streams, p.Groups[0].Stream, p.Groups[0].Subscriptions[0].Reply.To)
	h, err := harness.New(harness.Config{
		Pipeline: p, Handlers: map[string]sandbox.Handler{"s": handle},
		Wrap: func(_ string, server broker.Broker) broker.Broker { return wrap(server) },
	})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{h, t}
	b.start()
	return b
}

// says closes the bench, which must find what is wrong.
func (b *bench) says(want ...string) {
	b.t.Helper()
	err := b.Close()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			b.t.Errorf("close: %v\nwant %q", err, w)
		}
	}
}

func asIs(b broker.Broker) broker.Broker { return b }

func answer(context.Context, *sandbox.Delivery) outcome.Outcome { return replyWith(`{"n":1}`) }

func TestTheCheckFindsWhatDoesNotAgree(t *testing.T) {
	b := disagreeing(t, func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
		if d.Body.Get("done") != nil {
			return ack(ctx, d)
		}
		return outcome.Outcome{Kind: outcome.Retry, After: 5 * time.Second, HasAfter: true}
	}, asIs)
	ids := b.publish("in", `{"done":true}`, `{}`)
	if err := b.Check(); err != nil {
		t.Fatalf("without cause: %v", err)
	}
	// Somebody acknowledges an entry that waits for a retry, behind everyone's back.
	owner := broker.Owner{Stream: "in", Group: "g", Consumer: "nobody"}
	if _, err := b.Server().Settle(t.Context(), &broker.Settlement{Owner: owner, Acks: ids[1:]}); err != nil {
		t.Fatal(err)
	}
	if err := b.Check(); err == nil || !strings.Contains(err.Error(), ids[1].String()+" is not pending and has a record") {
		t.Errorf("a record without a pending entry: %v", err)
	}
	b.advance(10 * time.Second) // the record is swept
	b.says(ids[1].String() + " was delivered, is not pending, and nothing came of it")
}

func TestTheCheckIsLeftOutForAReason(t *testing.T) {
	for _, reason := range []string{"", "the entry was acknowledged behind everyone's back"} {
		b := disagreeing(t, func(context.Context, *sandbox.Delivery) outcome.Outcome {
			return outcome.Outcome{Kind: outcome.Retry, After: time.Hour, HasAfter: true}
		}, asIs)
		ids := b.publish("in", `{}`)
		owner := broker.Owner{Stream: "in", Group: "g", Consumer: "nobody"}
		if _, err := b.Server().Settle(t.Context(), &broker.Settlement{Owner: owner, Acks: ids}); err != nil {
			t.Fatal(err)
		}
		b.Unchecked(reason)
		if err := b.Close(); (err == nil) != (reason != "") {
			t.Errorf("with the reason %q: %v", reason, err)
		}
	}
}

// swallow loses the last entry of each read between the server and the worker.
type swallow struct{ broker.Broker }

func (s swallow) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	ds, err := s.Broker.Read(ctx, r)
	return ds[:max(0, len(ds)-1)], err
}

// pretend says that all of a settlement was written.
type pretend struct{ broker.Broker }

func (pretend) Settle(_ context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	return broker.SettleResult{Steps: make([]broker.StepResult, len(s.Steps)), Waits: make([]broker.Status, len(s.Waits))}, nil
}

func TestTheCheckFindsWhatIsCountedWrongly(t *testing.T) {
	t.Run("a delivery that is lost on its way", func(t *testing.T) {
		b := disagreeing(t, answer, func(server broker.Broker) broker.Broker { return swallow{server} })
		b.publish("in", `{}`, `{}`)
		b.says("subscription s knows of 0 entries and 1 are pending")
	})
	t.Run("a reply that is not there", func(t *testing.T) {
		b := disagreeing(t, answer, func(server broker.Broker) broker.Broker { return pretend{server} })
		b.publish("in", `{}`)
		b.says("published messages are counted as 1 and were 0")
	})
	t.Run("a second answer", func(t *testing.T) {
		b := disagreeing(t, answer, asIs)
		ids := b.publish("in", `{}`)
		if !b.Server().DestroyGroup("in", "g") {
			t.Fatal("there was no group")
		}
		if _, err := b.Server().CreateGroup(t.Context(), "in", "g", "0"); err != nil {
			t.Fatal(err)
		}
		b.advance(3 * time.Second)
		b.says("entry " + ids[0].String() + " was answered or buried 2 times")
	})
}
