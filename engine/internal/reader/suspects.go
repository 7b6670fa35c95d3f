package reader

import (
	"context"
	"slices"

	"pipeline/engine/broker"
	"pipeline/engine/internal/tally"
)

// suspects parts what may run from what may run alone. Those that run alone take no
// room from new entries, however long they wait for one another, but there is a
// bound on them: what is beyond it is put back, uncounted, and comes again when it
// has been idle for min_idle, so that other processes may have it. Where keys are
// held it must not be put back, since later entries of its key would pass it; it
// takes the room of others there. ds are sorted by id.
func (d *Dispatcher) suspects(ctx context.Context, ds []candidate) (others, alone []candidate, err error) {
	if !slices.ContainsFunc(ds, func(c candidate) bool { return c.alone }) {
		return ds, nil, nil
	}
	room := d.Suspects - d.Held.Alone()
	back := broker.Settlement{Owner: d.Owner}
	for _, c := range ds {
		switch {
		case !c.alone, d.Keys != nil && len(alone) >= room:
			others = append(others, c)
		case len(alone) < room:
			alone = append(alone, c)
		default:
			back.Waits = append(back.Waits, broker.Wait{ID: c.delivery.ID, Uncount: true})
			if d.Park {
				d.Parked.Add(c.delivery.ID, d.Clock.Now().Add(again))
			}
		}
	}
	d.Tally.Count(tally.NotDue, len(back.Waits))
	return others, alone, d.settle(ctx, &back)
}
