package engine

import (
	"context"
	"fmt"
	"slices"

	"pipeline/engine/broker"
	"pipeline/engine/internal/hold"
	"pipeline/engine/internal/lane"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// newKeys returns where the keys of a session are held; nil where later entries
// pass one that is retried.
func (s *subscription) newKeys() *hold.Keys {
	if !s.spec.Workers.Hold {
		return nil
	}
	return hold.NewKeys(s.spec.Workers.HoldLimit, func(full bool, held int) {
		ev := observe.Event{
			Name: observe.EventHoldRoom, Level: sandbox.Info, Count: held,
			Message: fmt.Sprintf("reading again: %d entries are retried or held behind one that is", held),
		}
		if full {
			ev.Name, ev.Level = observe.EventHoldFull, sandbox.Warn
			ev.Message = fmt.Sprintf(
				"stopped reading: %d entries are retried or held behind one that is, as many as hold_limit allows; it goes on when there is room. "+
					"`pipeline pending` shows why they wait", held)
		}
		s.event(ev)
	})
}

// runnerOf is what a lane of the session runs entries with.
func (n *session) runnerOf() lane.Runner {
	r := n.sub.runner(n.owner.Consumer)
	r.OnBegin(n.beginner.Begin)
	r.OnTally(&n.sub.tally)
	r.OnServerTime(n.time.Now)
	r.OnTrace(n.sub.engine.cfg.Tracer)
	if c := n.sub.spec.Claim; c != nil && !n.sub.claimsWithReads() {
		r.OnPark(func() bool { return n.parked.Len() < mostParked })
	}
	if n.keys == nil {
		return r
	}
	return &hold.Runner{Worker: r, Keys: n.keys}
}

// mostParked bounds the waits of which an id and a time stay in memory where
// nobody claims with reads. A blocking read wakes when an entry is idle for long
// enough; XAUTOCLAIM looks once a block, and would bring a retry that much late.
const mostParked = 10_000

// handBackKeys hands back what waits under closed keys: what is retried keeps
// its time and its record, and no attempt is counted. All of it can be claimed at
// once, the lower ids first, so that whoever comes next can keep the order.
// Without all, keys of which something still runs here are left for later.
// Where nobody claims, everything stays for the slot's next holder.
func (n *session) handBackKeys(ctx context.Context, all bool) {
	if n.keys.Count() == 0 || n.sub.minIdle == 0 {
		return
	}
	n.waits.Lock(ctx) // a renewal after it would undo it
	defer n.waits.Unlock()
	left := n.keys.Leave(all)
	if len(left) == 0 {
		return
	}
	call, cancel := context.WithTimeout(ctx, settleGrace)
	defer cancel()
	err := n.handBack(call, left)
	n.sub.event(observe.Event{
		Name: observe.EventHandedBack, Level: sandbox.Info, Count: len(left), Err: err,
		Message: "handed back what waited for a retry and what was held behind it",
	})
}

// chunk is how many entries are handed back in one step.
const chunk = 250

func (n *session) handBack(ctx context.Context, left []hold.Left) error {
	var counted []hold.Left
	var others []broker.ID
	for _, l := range left {
		if l.Counted {
			counted = append(counted, l)
		} else {
			others = append(others, l.ID)
		}
	}
	for part := range slices.Chunk(counted, chunk) {
		if err := n.handBackCounted(ctx, part); err != nil {
			return err
		}
	}
	if len(others) == 0 {
		return nil
	}
	return n.sub.engine.cfg.Broker.Release(ctx, n.owner, others, n.sub.claimable)
}

// handBackCounted hands back entries of which there may be records, which would
// be written anew without what they say.
func (n *session) handBackCounted(ctx context.Context, left []hold.Left) error {
	b := n.sub.engine.cfg.Broker
	ids := make([]broker.ID, len(left))
	for i := range left {
		ids[i] = left[i].ID
	}
	records, err := b.Records(ctx, n.owner.Stream, n.owner.Group, ids)
	if err != nil {
		return err
	}
	now := n.sub.engine.cfg.Clock.Now()
	set := broker.Settlement{Owner: n.owner}
	for i, l := range left {
		after := max(0, l.Due.Sub(now))
		set.Waits = append(set.Waits, broker.Wait{
			ID: l.ID, Timed: true, After: after, MinIdle: n.sub.claimable + after, Error: records[i].Error,
		})
	}
	_, err = b.Settle(ctx, &set)
	return err
}

// paused reports whether the subscription reads nothing because too much is
// held.
func (s *subscription) paused() bool {
	n := s.session.Load()
	return n != nil && n.reader != nil && (n.reader.Paused() || n.crowded())
}
