package waiting

import (
	"context"
	"errors"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// One looks for an entry in a group's pending list; nil without one.
func One(ctx context.Context, b broker.Broker, g *spec.Group, id broker.ID, now time.Time) (*view.PendingDetail, error) {
	list, err := b.Pending(ctx, g.Stream.Name, g.Name, "", id.Prev(), 1)
	if errors.Is(err, broker.ErrNoGroup) || err == nil && (len(list) == 0 || list[0].ID != id) {
		return nil, nil //nolint:nilnil // no entry is no error
	}
	if err != nil {
		return nil, err
	}
	records, err := b.Records(ctx, g.Stream.Name, g.Name, []broker.ID{id})
	if err != nil {
		return nil, err
	}
	e := &view.PendingDetail{PendingEntry: entryOf(g, list[0], records[0], now), Record: records[0], Now: now, MinIdle: MinIdle(g)}
	for _, s := range g.Subscriptions {
		if e.MaxAttempts == 0 || s.Retry.MaxAttempts < e.MaxAttempts {
			e.MaxAttempts = s.Retry.MaxAttempts
		}
	}
	return e, nil
}

// Body reads the entry itself; nil where it is gone or may not be read.
func Body(ctx context.Context, b broker.Broker, g *spec.Group, id broker.ID, e *view.PendingDetail) (*deadletters.Letter, error) {
	entries, err := b.Range(ctx, g.Stream.Name, id, id, 1)
	switch {
	case errors.Is(err, broker.ErrNoPermission):
		e.NoBody = "the login may not read it: " + err.Error()
		return nil, nil //nolint:nilnil // it is shown without
	case err != nil:
		return nil, err
	case len(entries) == 0:
		e.NoBody = "it was deleted or trimmed; the entry cannot be run any more"
		return nil, nil //nolint:nilnil // it is shown without
	}
	l := deadletters.Waiting(g, entries[0])
	return &l, nil
}
