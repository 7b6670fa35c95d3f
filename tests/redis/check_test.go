package redis_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// check ends the test of a service, which has stopped: what it counted has to add
// up, be what it told, and agree with the pending lists and the records that are
// on the server.
func (v *service) check() {
	v.t.Helper()
	for _, s := range v.engine.Snapshot().Subscriptions {
		if n := s.Unaccounted(); n != 0 || s.Held != 0 {
			v.t.Errorf("subscription %s has stopped, of %d deliveries %d are unaccounted for and %d held: %+v, settled %v",
				s.Label, s.Deliveries.Received, n, s.Held, s.Deliveries, s.Settled)
		}
		told, dead := map[observe.Result]int64{}, int64(0)
		for _, o := range v.record.of(s.Label) {
			if told[o.Result]++; o.Dead {
				dead++
			}
		}
		if !maps.Equal(told, s.Settled) || dead != s.Dead {
			v.t.Errorf("subscription %s counted %v, %d of them dead, and told %v, %d of them dead", s.Label, s.Settled, s.Dead, told, dead)
		}
	}
	b, err := redis.Open(v.reached)
	if err != nil {
		v.t.Fatal(err)
	}
	defer func() { _ = b.Close() }() // nothing was written
	for _, g := range v.pipeline.Groups {
		var wrong error
		settled := eventuallyHolds(func() bool {
			wrong = v.compare(b, g)
			return wrong == nil
		})
		if settled {
			continue
		}
		v.t.Errorf("at the end: %v", wrong)
	}
}

// compare compares the pending list and the records of a group with each other
// and with what the service has settled. Others may be at work in the group: what
// does not agree for a moment is looked at again.
func (v *service) compare(b broker.Broker, g *spec.Group) error {
	ctx, stream := context.Background(), g.Stream.Name
	const all = 1 << 20
	list, err := b.Pending(ctx, stream, g.Name, "", broker.ID{}, all)
	if errors.Is(err, broker.ErrNoGroup) || errors.Is(err, broker.ErrWrongType) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at what is pending: %w", err)
	}
	pending := map[broker.ID]bool{}
	for _, p := range list {
		pending[p.ID] = true
	}
	var ids []broker.ID
	if !v.record.told(observe.EventGroupRestored) {
		for _, s := range g.Subscriptions {
			for _, o := range v.record.of(s.Label) {
				if ends(&o) && pending[o.ID] {
					return fmt.Errorf("group %s: entry %v is settled (%s) and still pending", g.Label, o.ID, o.Result)
				}
				ids = append(ids, o.ID)
			}
		}
	}
	slices.SortFunc(ids, broker.ID.Compare)
	ids = slices.Compact(ids)
	records, err := b.Records(ctx, stream, g.Name, ids)
	if err != nil {
		return err
	}
	for i, r := range records {
		if r != (broker.Record{}) && !pending[ids[i]] {
			return fmt.Errorf("group %s: entry %v is not pending and has a record: %+v", g.Label, ids[i], r)
		}
	}
	return nil
}

// ends reports whether an entry is out of the pending list by an outcome.
func ends(o *observe.Outcome) bool {
	switch o.Result {
	case observe.ResultAck, observe.ResultDrop, observe.ResultReply, observe.ResultDead, observe.ResultForeignRetry, observe.ResultDuplicate:
		return true
	}
	return o.Dead
}

// of are the outcomes of a subscription.
func (r *recorder) of(sub string) []observe.Outcome {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.outcomes[sub])
}

// told reports whether there was such an event.
func (r *recorder) told(name observe.EventName) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.ContainsFunc(r.events, func(e observe.Event) bool { return e.Name == name })
}
