package harness_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Where a key is held, what came to an outcome behind a reply that waits for room
// waits with it: a drain that hands the one back hands back the others, and the
// key runs again in its order.
func TestADrainHandsBackWhatCameBehindAWithheldReplyOfItsKey(t *testing.T) {
	for _, said := range []string{"ack", "drop", "dead"} {
		t.Run(said, func(t *testing.T) {
			in, out := stream("in"), stream("out")
			out.MaxBacklog = 1
			g := group("g", in, stream("dead"))
			subscribe(g, "s", func(s *spec.Subscription) {
				s.Workers = spec.Workers{Count: 4, Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "k"}}}, Hold: true, HoldLimit: 100}
				s.Reply = &spec.Route{To: out}
			})
			p := pipeline(g)
			p.Streams = []*spec.Stream{in, out}
			var runs []string
			b := open(t, harness.Config{Pipeline: p, Handlers: map[string]sandbox.Handler{
				"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
					runs = append(runs, d.Body.Get("k").Text()+d.Body.Get("n").Text())
					switch does := d.Body.Get("does"); {
					case does == nil:
						return replyWith(`{}`)
					case does.Text() == "drop":
						return outcome.Outcome{Kind: outcome.Drop}
					case does.Text() == "dead":
						return outcome.Outcome{Kind: outcome.Dead, Reason: "so it is"}
					}
					return ack(ctx, d)
				}),
			}})
			b.publish("out", `{}`) // it is full
			b.start()
			b.publish("in", `{"k":"a","n":1}`, `{"k":"a","n":2,"does":"`+said+`"}`, `{"k":"b","n":3,"does":"ack"}`)
			b.advance(2 * time.Second)
			if left := b.Pending("g"); len(left) != 2 {
				t.Errorf("pending are %+v, want the reply that is withheld and what came behind it under its key", left)
			}
			if err := b.Stop(t.Context()); err == nil {
				t.Error("the drain left nothing")
			}
			for _, e := range b.Pending("g") {
				if c := b.LastCall("s", e.ID); c.Settled || c.Said == "" {
					t.Errorf("%v is pending, and the call counts as settled: %+v", e.ID, c)
				}
				if e.Record.Starts != 0 || e.Record.Asked != 1 {
					t.Errorf("%v: an attempt is used up: %+v", e.ID, e.Record)
				}
			}
			runs = nil
			b.Server().Delete("out")
			b.start()
			b.advance(5 * time.Second)
			if !slices.Equal(runs, []string{"a1", "a2"}) {
				t.Errorf("ran again %q, want both entries of the key in their order", runs)
			}
			if left := b.Pending("g"); len(left) != 0 {
				t.Errorf("still pending: %+v", left)
			}
			if letters := len(b.Entries("dead")); (letters == 1) != (said == "dead") {
				t.Errorf("%d dead letters", letters)
			}
		})
	}
}
