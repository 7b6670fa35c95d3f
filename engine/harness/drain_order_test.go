package harness_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// refusing is a server that is full from the first read on and has room again after
// some settlements of a drain,
// and writes down in which order outcomes are written and entries handed back.
type refusing struct {
	broker.Broker

	server   func() *memory.Broker
	draining *bool
	left     int
	log      []string
}

func (r *refusing) Read(ctx context.Context, q broker.ReadRequest) ([]broker.Delivery, error) {
	r.server().SetFull(r.left > 0)
	return r.Broker.Read(ctx, q)
}

func (r *refusing) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	if *r.draining && len(s.Steps) > 0 {
		if r.left--; r.left == 0 {
			r.server().SetFull(false)
		}
	}
	res, err := r.Broker.Settle(ctx, s)
	for i := range res.Steps {
		if res.Steps[i].Status == broker.Done {
			r.log = append(r.log, "written")
		}
	}
	for i := range s.Waits {
		if *r.draining && s.Waits[i].Delivery == 0 {
			r.log = append(r.log, "handed back")
		}
	}
	return res, err
}

func (r *refusing) Release(ctx context.Context, o broker.Owner, ids []broker.ID, idle time.Duration) error {
	for range ids {
		r.log = append(r.log, "handed back")
	}
	return r.Broker.Release(ctx, o, ids, idle)
}

// TestADrainKeepsTheOrderOfAKeyBehindWhatIsRefused: the server refuses what the
// first entry of a key came to. The later ones, which wait behind a retry or have
// not started, are handed back after it is written.
func TestADrainKeepsTheOrderOfAKeyBehindWhatIsRefused(t *testing.T) {
	draining := false
	r := &refusing{draining: &draining, left: 3}
	p := single(func(s *spec.Subscription) {
		holds(s)
		s.Workers.Count, s.Reply = 1, &spec.Route{To: stream("out")}
	})
	b := open(t, harness.Config{
		Pipeline: p,
		Wrap: func(_ string, server broker.Broker) broker.Broker {
			r.Broker = server
			return r
		},
		Handlers: map[string]sandbox.Handler{"s": harness.Func(func(_ context.Context, d *sandbox.Delivery) outcome.Outcome {
			if d.Body.Get("n").Text() == "2" {
				return retryIn(time.Minute)
			}
			return replyWith(`{"n":1}`)
		})},
	})
	r.server = b.Server
	b.publish("in", rows("a1", "a2", "a3")...)
	w := b.start()
	draining = true
	if err := w.Stop(t.Context()); err != nil {
		t.Log(err) // what was handed back is left
	}
	if want := []string{"written", "handed back", "handed back"}; !slices.Equal(r.log, want) {
		t.Errorf("%v, want %v\n%s", r.log, want, b)
	}
}
