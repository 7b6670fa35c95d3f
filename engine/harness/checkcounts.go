package harness

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/observe"
)

// counter counts the deliveries that reach a worker, and knows its settlements whole.
type counter struct {
	broker.Broker

	worker *Worker
}

func (c counter) delivered(o broker.Owner, n int) {
	c.worker.received[c.worker.harness.subscription(o.Consumer)] += int64(n)
}

// Read implements broker.Broker.
func (c counter) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	ds, err := c.Broker.Read(ctx, r)
	c.delivered(r.Owner, len(ds))
	return ds, err
}

// AutoClaim implements broker.Broker.
func (c counter) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	res, err := c.Broker.AutoClaim(ctx, r)
	c.delivered(r.Owner, len(res.Deliveries))
	return res, err
}

// TakeOver implements broker.Broker.
func (c counter) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	res, err := c.Broker.TakeOver(ctx, o, from, ids)
	c.delivered(o, len(res.Deliveries))
	return res, err
}

// Settle implements broker.Broker.
func (c counter) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	c.worker.settles(c.worker.harness.subscription(s.Consumer))
	return c.Broker.Settle(ctx, s)
}

// published notes that a step wrote n messages for an entry.
func (w *Worker) published(subscription string, id broker.ID, n int) {
	w.messages += int64(n)
	for _, s := range w.harness.cfg.Pipeline.Subscriptions() {
		if s.Label != subscription {
			continue
		}
		ids := w.harness.published[s.Group]
		if ids == nil {
			ids = map[broker.ID]int{}
			w.harness.published[s.Group] = ids
		}
		ids[id]++
	}
}

// checkCounts compares what a worker counted with what it was given and what came
// of that.
func (h *Harness) checkCounts(w *Worker) (errs []error) {
	published, stale := int64(0), int64(0)
	for _, s := range w.Snapshot().Subscriptions {
		published, stale = published+s.Deliveries.Published, stale+s.Settled[observe.ResultStale]
		for _, err := range h.disagreements(w, &s) {
			errs = append(errs, fmt.Errorf("%s: subscription %s: %w", w.name, s.Label, err))
		}
	}
	// After a lost answer it may not be known that something was written; what lies
	// between a worker and the server may lose any.
	if published > w.messages || stale == 0 && h.cfg.Wrap == nil && published != w.messages {
		errs = append(errs, fmt.Errorf("%s: published messages are counted as %d and were %d", w.name, published, w.messages))
	}
	return errs
}

func (h *Harness) disagreements(w *Worker, s *engine.SubscriptionSnapshot) (errs []error) {
	differ := func(what string, counted, really int64) {
		if counted != really {
			errs = append(errs, fmt.Errorf("%s are counted as %d and were %d", what, counted, really))
		}
	}
	if n := s.Unaccounted(); n != 0 {
		errs = append(errs, fmt.Errorf("of %d deliveries %d are unaccounted for: %+v, held %d, settled %v",
			s.Deliveries.Received, n, s.Deliveries, s.Held, s.Settled))
	}
	differ("deliveries", s.Deliveries.Received, w.received[s.Label])
	results, ran, dead := map[observe.Result]int64{}, int64(0), int64(0)
	for _, c := range h.calls[s.Label] {
		if c.Worker != w.name {
			continue
		}
		results[c.Outcome]++
		if c.Ran && !c.calledOff {
			ran++
		}
		if c.Dead {
			dead++
		}
	}
	differ("handlers that ran", s.Deliveries.Started-s.Deliveries.CalledOff, ran)
	differ("dead letters", s.Dead, dead)
	for _, result := range slices.Sorted(maps.Keys(results)) {
		if result != Running && result != Unsettled && result != Canceled {
			differ(fmt.Sprintf("outcomes %q", result), s.Settled[result], results[result])
		}
	}
	return errs
}
