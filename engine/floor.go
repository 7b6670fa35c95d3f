package engine

import (
	"context"
	"errors"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// floorEvery is how often the floor of each group is written down. A group that
// is lost is read again from its floor, so this bounds what is repeated then.
const floorEvery = 5 * time.Second

// keepFloors writes down from where each group would have to be read again if
// it were lost.
func (e *Engine) keepFloors(ctx context.Context) {
	for clock.Sleep(ctx, e.cfg.Clock, floorEvery) == nil {
		for _, g := range e.cfg.Pipeline.Groups {
			if len(g.Subscriptions) == 0 || e.server.Down() {
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
