package engine

import (
	"context"
	"errors"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// floorEvery is how often the floor of each group is written down. A group that
// is lost is read again from its floor, so this bounds what is repeated then.
const floorEvery = 5 * time.Second

// keepFloors writes down from where each group would have to be read again if
// it were lost. For a group whose subscriptions have all failed nothing is
// written any more: it does not move by this process, and what ended them, a
// right that is missing above all, would be refused again each time.
func (e *Engine) keepFloors(ctx context.Context) {
	for clock.Sleep(ctx, e.cfg.Clock, floorEvery) == nil {
		for _, g := range e.cfg.Pipeline.Groups {
			if e.server.Down() || !e.works(g) {
				continue
			}
			// An error leaves the floor further back than it could be: a lost
			// group would repeat more. The readers tell of the server; that the
			// floor alone cannot be written, now or ever, nobody else would.
			err := e.cfg.Broker.SaveFloor(ctx, g.Stream.Name, g.Name)
			if errors.Is(err, broker.ErrNoPermission) || errors.Is(err, broker.ErrWrongType) {
				e.failGroup(g.Label, err)
			}
		}
	}
}

// works reports whether a subscription of the group has not failed.
func (e *Engine) works(g *spec.Group) bool {
	return slices.ContainsFunc(e.subs, func(s *subscription) bool { return s.spec.Group == g && s.failure() == nil })
}
