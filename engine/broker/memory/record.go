package memory

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// beside is what is kept beside a group and outlives it, as keys of their own
// do on a server: the records of its entries, its floor, its consumers' leases,
// the keys that its entries marked.
type beside struct {
	records  list[broker.Record]
	floor    broker.ID
	hasFloor bool
	leases   map[string][]lease
	alive    map[string]announcement
	marks    map[string]*markSet
}

// besideOf returns what stands beside a group, whether that exists or not.
func (b *Broker) besideOf(stream, group string) *beside {
	name := groupName{stream, group}
	x := b.beside[name]
	if x == nil {
		x = &beside{leases: map[string][]lease{}, alive: map[string]announcement{}}
		b.beside[name] = x
	}
	return x
}

// Records implements broker.Broker.
func (b *Broker) Records(ctx context.Context, stream, group string, ids []broker.ID) ([]broker.Record, error) {
	op := operation{name: "read records", stream: stream, group: group}
	out := make([]broker.Record, len(ids))
	err := b.do(ctx, op, func(int64) error {
		records := &b.besideOf(stream, group).records
		for i, id := range ids {
			out[i], _ = records.get(byID(id))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// sweep drops records from before the oldest pending entry, which a crash left
// behind: a record belongs to a pending entry.
func (x *beside) sweep(g *group) {
	oldest, _, found := g.pending.first()
	for {
		k, _, ok := x.records.first()
		if !ok || found && !k.less(oldest) {
			return
		}
		x.records.remove(k)
	}
}

// instant is a time of the broker's clock, as precise as a server's records.
func instant(ms int64) time.Time { return time.UnixMilli(ms) }
