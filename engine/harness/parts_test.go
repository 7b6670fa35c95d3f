package harness_test

import (
	"context"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// inParts sends the first step of a settlement by itself. A thief acknowledges its
// entry without what it publishes, and says that all was done.
type inParts struct {
	broker.Broker

	thief bool
}

func (b inParts) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	if len(s.Steps) == 0 {
		return b.Broker.Settle(ctx, s)
	}
	first, rest := *s, *s
	first.Steps, rest.Steps, rest.Acks = []broker.Step{s.Steps[0]}, s.Steps[1:], nil
	first.Waits = nil
	if b.thief {
		first.Steps[0].Publish = nil
	}
	before, err := b.Broker.Settle(ctx, &first)
	if err != nil {
		return before, err
	}
	after, err := b.Broker.Settle(ctx, &rest)
	after.Steps = append(before.Steps, after.Steps...)
	return after, err
}

// What its last settlement wrote of a worker that died is known, whether it was sent
// in one part or in two; that an entry came to nothing is found all the same.
func TestASettlementInPartsIsKnownWholeWhereItsWorkerDies(t *testing.T) {
	for _, thief := range []bool{false, true} {
		b := disagreeing(t, answer, func(b broker.Broker) broker.Broker { return inParts{b, thief} })
		b.arm(harness.Fault{Kind: harness.Crash, At: harness.AfterAck, Nth: 1})
		if thief {
			b.Disarm()
			b.arm(harness.Fault{Kind: harness.LostReply, At: harness.AtSettle})
		}
		ids := b.publish("in", `no JSON`, `{}`)
		if thief {
			if err := b.Workers()[0].Kill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		if n := len(b.Entries("dead")); (n == 1) == thief {
			t.Fatalf("%d dead letters", n)
		}
		b.revive()
		b.advance(time.Minute)
		if thief {
			b.says(ids[0].String() + " was delivered, is not pending, and nothing came of it")
			continue
		}
		if c := b.LastCall("s", ids[0]); !c.Dead || !c.Settled || c.Outcome != observe.ResultInvalid {
			t.Errorf("the call of the letter is %+v", c)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	}
}

// A letter that was written stands for its entry, though its worker died before it
// heard of it.
func TestALetterOfWhichItsWorkerNeverHeard(t *testing.T) {
	b := one(t, func(context.Context, *sandbox.Delivery) outcome.Outcome {
		return outcome.Fail(outcome.FailError, "bank is closed")
	}, func(s *spec.Subscription) { s.OnFailure = spec.PolicyDead })
	b.arm(harness.Fault{Kind: harness.LostReply, At: harness.AtSettle})
	b.publish("in", `{}`)
	if err := b.Workers()[0].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.revive()
	b.advance(time.Minute)
	if n := len(b.Entries("dead")); n != 1 {
		t.Errorf("%d dead letters", n)
	}
	if err := b.Check(); err != nil {
		t.Error(err)
	}
}

// unheard has the first settlement of a worker written and its answer lost, and
// the worker stand still for a while.
type unheard struct {
	broker.Broker

	pause time.Duration
	bench *bench
	lost  *bool
}

func (b unheard) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	res, err := b.Broker.Settle(ctx, s)
	if err != nil || *b.lost || len(s.Steps) == 0 {
		return res, err
	}
	*b.lost = true
	b.bench.Workers()[0].Pause(b.pause)
	return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrUnavailable, Detail: "the answer was lost"}
}

// An entry whose reply was written, and the answer lost until its key was free and
// taken by another entry, is no duplicate of that one.
func TestAReplyIsNoDuplicateOfWhatWasSettledAfterItsWindow(t *testing.T) {
	const window = 3 * time.Second
	for _, c := range []struct {
		stands time.Duration
		again  time.Duration
	}{{window + 500*time.Millisecond, window + 100*time.Millisecond}, {time.Second, window + time.Second}} {
		var b *bench
		lost := false
		p := single(func(s *spec.Subscription) {
			s.Idempotency = &spec.Idempotency{Key: by(spec.RootEntry, "n"), Window: window}
			s.Reply = &spec.Route{To: stream("out")}
		})
		b = open(t, harness.Config{
			Pipeline: p, Handlers: map[string]sandbox.Handler{"s": harness.Func(answer)},
			Wrap: func(worker string, server broker.Broker) broker.Broker {
				if worker != "worker1" {
					return server
				}
				return unheard{server, c.stands, b, &lost}
			},
		})
		b.start()
		b.publish("in", `{"n":1}`)
		b.start()
		b.advance(c.again)
		b.publish("in", `{"n":1}`)
		b.advance(10 * time.Second)
		if n := len(b.Entries("out")); n != 2 || !lost {
			t.Fatalf("%d replies, the answer was lost: %v", n, lost)
		}
		replies := int64(0)
		for _, w := range b.Workers() {
			s := w.Snapshot().Subscriptions[0]
			replies += s.Settled[observe.ResultReply]
			if n := s.Settled[observe.ResultDuplicate]; n != 0 {
				t.Errorf("%s counts %d duplicates: each entry was answered", w.Name(), n)
			}
		}
		if replies != 2 {
			t.Errorf("%d replies are counted", replies)
		}
		if err := b.Stop(t.Context()); err != nil {
			t.Error(err)
		}
	}
}
