package harness_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// An entry that is trimmed while it runs, and whose attempt fails, becomes a whole
// letter: whether a renewal finds out, or its settlement does.
func TestWhatIsTrimmedWhileItRunsAndFailsBecomesALetter(t *testing.T) {
	for name, takes := range map[string]time.Duration{"found by its settlement": time.Second, "found by a renewal": 25 * time.Second} {
		for said, o := range map[string]outcome.Outcome{
			"boom": outcome.Fail(outcome.FailError, "boom"), "later": {Kind: outcome.Retry, Reason: "later"},
		} {
			t.Run(name+", "+said, func(t *testing.T) {
				b := one(t, func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
					_ = harness.Sleep(ctx, takes)
					return o
				}, nil)
				id := b.publish("in", `{"a":1}`)[0]
				b.Server().DeleteEntries("in", id)
				b.advance(time.Minute)
				letters := b.Entries("dead")
				if len(letters) != 1 {
					t.Fatalf("letters %v", letters)
				}
				l := letters[0].Letter
				if l.Reason != "body_missing" || l.ID != id.String() || !strings.HasSuffix(l.Error, said) || l.FirstDelivery.IsZero() {
					t.Errorf("letter %+v", l)
				}
				if letters[0].Fields[0].Value != `{"a":1}` || len(b.Pending("g")) != 0 {
					t.Errorf("fields %q, pending %v", letters[0].Fields, b.Pending("g"))
				}
				if calls := b.Calls("s"); len(calls) != 1 || !calls[0].Dead {
					t.Errorf("calls %+v", calls)
				}
			})
		}
	}
}

// A reply stream, or that of dead letters, of another type ends the subscription
// that needs it: its entry stays pending and the others go on.
func TestAKeyOfAnotherTypeEndsTheSubscriptionThatPublishesToIt(t *testing.T) {
	for _, at := range []string{"out", "dead"} {
		t.Run(at, func(t *testing.T) {
			in, out, dead, other := stream("in"), stream("out"), stream("dead"), stream("other")
			g, h := group("g", in, dead), group("h", in, other)
			subscribe(g, "s", func(s *spec.Subscription) { s.Reply = &spec.Route{Label: "out", To: out} })
			subscribe(h, "t", nil)
			b := open(t, harness.Config{Pipeline: pipeline(g, h), Handlers: map[string]sandbox.Handler{
				"s": harness.Func(func(context.Context, *sandbox.Delivery) outcome.Outcome {
					if at == "dead" {
						return outcome.Outcome{Kind: outcome.Dead, Reason: "no"}
					}
					return replyWith(`{}`)
				}),
				"t": harness.Func(ack),
			}})
			b.Server().SetString(at)
			w := b.start()
			id := b.publish("in", `{}`)[0]
			b.advance(time.Minute)
			b.publish("in", `{}`)
			b.advance(time.Minute)
			s := w.Snapshot().Subscriptions
			if err := s[0].Err; !errors.Is(err, broker.ErrWrongType) || !strings.Contains(err.Error(), at) || !strings.Contains(err.Error(), id.String()) {
				t.Errorf("the subscription: %v", err)
			}
			if s[1].Err != nil || len(b.Calls("t")) != 2 {
				t.Errorf("the other one: %v, %d calls", s[1].Err, len(b.Calls("t")))
			}
			if p := b.Pending("g"); len(p) != 1 || p[0].ID != id {
				t.Errorf("pending %v", p)
			}
			if n := len(b.Calls("s")); n != 1 {
				t.Errorf("%d calls: it is run again and again", n)
			}
		})
	}
}

// A subscription that only takes over has no reader that looks for what was
// delivered to it and not worked on.
func TestWhatWasTakenOverAndNotAdmittedIsLookedForWithoutAReader(t *testing.T) {
	b := open(t, harness.Config{Pipeline: single(func(s *spec.Subscription) {
		s.Claim = &spec.Claim{MinIdle: 30 * time.Second, Using: spec.UsingAuto, Only: true}
	}), Handlers: map[string]sandbox.Handler{"s": harness.Func(ack)}})
	b.start()
	b.publish("in", `{}`, `{}`)
	gone := broker.Owner{Stream: "in", Group: "g", Consumer: "gone"}
	if ds, err := b.Server().Read(t.Context(), broker.ReadRequest{Owner: gone, Count: 2}); err != nil || len(ds) != 2 {
		t.Fatal(ds, err)
	}
	failed := 0
	b.Server().SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "admit" && failed < 2 {
			failed++
			return memory.Effect{Err: broker.ErrUnavailable, Skip: true}
		}
		return memory.Effect{}
	})
	b.advance(40 * time.Second)
	if failed != 2 {
		t.Fatalf("the fault hit %d times", failed)
	}
	if p := b.Pending("g"); len(p) != 0 {
		t.Errorf("still pending 10 s after they could be claimed: %v", p)
	}
}
