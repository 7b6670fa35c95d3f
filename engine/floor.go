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
// is lost is read again from its floor, so this bounds what is repeated then. Where
// there are more than five hundred groups it is less often: not more than
// floorsPerSecond, which would be asked of the server though nothing moves.
// floorsTogether are asked for at once, which a broker may send as one.
const (
	floorEvery      = 5 * time.Second
	floorsPerSecond = 100
	floorsTogether  = 64
)

// betweenFloors is how long it is between two rounds through all groups.
func betweenFloors(groups int) time.Duration {
	return max(floorEvery, time.Duration(groups)*time.Second/floorsPerSecond)
}

// keepFloors writes down from where each group would have to be read again if
// it were lost. For a group whose subscriptions have all failed nothing is
// written any more: it does not move by this process, and what ended them, a
// right that is missing above all, would be refused again each time.
func (e *Engine) keepFloors(ctx context.Context) {
	for clock.Sleep(ctx, e.cfg.Clock, betweenFloors(len(e.cfg.Pipeline.Groups))) == nil {
		for groups := range slices.Chunk(e.cfg.Pipeline.Groups, floorsTogether) {
			var all clock.Group
			for _, g := range groups {
				if !e.server.Down() && e.works(g) {
					all.Go(ctx, "floor of "+g.Label, func() { e.keepFloor(ctx, g) })
				}
			}
			all.Wait(ctx)
		}
	}
}

// keepFloor writes down one. An error leaves the floor further back than it could be:
// a lost group would repeat more. The readers tell of the server; that the floor alone
// cannot be written, now or ever, nobody else would.
func (e *Engine) keepFloor(ctx context.Context, g *spec.Group) {
	err := e.cfg.Broker.SaveFloor(ctx, g.Stream.Name, g.Name)
	if errors.Is(err, broker.ErrNoPermission) || errors.Is(err, broker.ErrWrongType) {
		e.failGroup(g.Label, err)
	}
}

// works reports whether a subscription of the group has not failed.
func (e *Engine) works(g *spec.Group) bool {
	return slices.ContainsFunc(e.subs, func(s *subscription) bool { return s.spec.Group == g && s.failure() == nil })
}
