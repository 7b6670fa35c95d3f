// Package consumers looks at the consumers of a pipeline's groups, whoever made
// them, and removes those that nobody is behind. A consumer is a name in a group that
// entries are pending under; the server keeps it until somebody removes it, and what
// is pending under it with it.
package consumers

import (
	"context"
	"errors"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
)

// Server is what of a server is needed; *redis.Broker is one.
type Server interface {
	Consumers(ctx context.Context, stream, group string) ([]redis.Consumer, time.Time, error)
	PruneConsumers(ctx context.Context, stream, group string, names []string, idle time.Duration) ([]redis.Prune, error)
}

// Consumer is one consumer as it was seen.
type Consumer struct {
	redis.Consumer
	Group *spec.Group
	// OldestAge is how long ago its oldest pending entry was added; 0 without one.
	OldestAge time.Duration
}

// Stale reports whether nobody is behind the consumer any more: no process holds or
// announces its lease, and it has neither read nor claimed for that long. One whose
// lease cannot be looked at, and one of another program, counts by its idle time alone.
func (c *Consumer) Stale(after time.Duration) bool {
	return c.Lease != redis.LeaseHeld && c.Idle >= after
}

// Look lists the consumers of a group. exists is false where the server has no such
// group.
func Look(ctx context.Context, s Server, g *spec.Group) (list []Consumer, exists bool, err error) {
	found, now, err := s.Consumers(ctx, g.Stream.Name, g.Name)
	if errors.Is(err, broker.ErrNoGroup) {
		return nil, false, nil
	}
	if err != nil {
		return nil, false, err
	}
	list = make([]Consumer, len(found))
	for i := range found {
		list[i] = Consumer{Consumer: found[i], Group: g, OldestAge: ageOf(found[i].Oldest, now)}
	}
	return list, true, nil
}

// ageOf is how long ago an entry was added by its id, 0 for none and for one from the
// future. Ids that were given by hand may be as old as can be told.
func ageOf(id broker.ID, now time.Time) time.Duration {
	ms := uint64(max(0, now.UnixMilli()))
	if id.IsZero() || id.Ms >= ms {
		return 0
	}
	const oldest = uint64(1<<63-1) / uint64(time.Millisecond)
	return time.Duration(min(ms-id.Ms, oldest)) * time.Millisecond
}
