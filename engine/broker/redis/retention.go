package redis

import (
	"context"
	_ "embed"
	"time"

	"pipeline/engine/broker"
)

//go:embed scripts/trim.lua
var trimText string

//go:embed scripts/floor.lua
var floorText string

//go:embed scripts/remove.lua
var removeText string

var (
	trimmer      = newScript(trimText)
	floorScript  = newScript(floorText)
	removeScript = newScript(removeText)
)

// Trim implements broker.Broker. With Protect a script works out what every
// group has acknowledged among the oldest entries. Without it, whole nodes go
// first, which is cheap, up to 10,000 entries a step; the rest of less than a
// node goes exactly.
func (b *Broker) Trim(ctx context.Context, r broker.TrimRequest) (int64, error) {
	op := operation{name: "trim", stream: r.Stream}
	if r.MaxAge > 0 {
		least, err := b.before(ctx, r.Stream, r.MaxAge)
		if err != nil {
			return 0, b.fail(op, err)
		}
		if r.MinID.Less(least) {
			r.MinID = least
		}
	}
	if r.Protect {
		n, err := b.trimScript(ctx, &r)
		return n, b.fail(op, err)
	}
	var removed int64
	for _, how := range []string{"~", "="} {
		if r.MaxLen > 0 {
			n, err := b.xtrim(ctx, &r, "MAXLEN", how, r.MaxLen)
			if err != nil {
				return removed, b.fail(op, err)
			}
			removed += n
		}
		if !r.MinID.IsZero() {
			n, err := b.xtrim(ctx, &r, "MINID", how, r.MinID.String())
			if err != nil {
				return removed, b.fail(op, err)
			}
			removed += n
		}
		if removed > 0 {
			break
		}
	}
	return removed, nil
}

// before is the first id that an entry of less than an age can have, by the clock
// of the server that the stream is on.
func (b *Broker) before(ctx context.Context, stream string, age time.Duration) (broker.ID, error) {
	server, err := b.node(ctx, []Need{{Key: stream}})
	if err != nil {
		return broker.ID{}, err
	}
	now, err := server.Time(ctx).Result()
	if err != nil {
		return broker.ID{}, err
	}
	return broker.ID{Ms: uint64(max(0, now.Add(-age).UnixMilli()))}, nil
}

func (b *Broker) xtrim(ctx context.Context, r *broker.TrimRequest, what, how string, bound any) (int64, error) {
	return b.settle.Do(ctx, "XTRIM", r.Stream, what, how, bound).Int64()
}

func (b *Broker) trimScript(ctx context.Context, r *broker.TrimRequest) (int64, error) {
	a := newArgs()
	defer a.release()
	trimmer.call(a, 1)
	a.add(r.Stream)
	a.int(r.MaxLen)
	a.id(r.MinID)
	v, err := b.run(ctx, trimmer, a.since(0))
	n, _ := v.(int64)
	return n, err
}

// SaveFloor implements broker.Broker. It also sweeps a few records that a
// crash left behind.
func (b *Broker) SaveFloor(ctx context.Context, stream, group string) error {
	id := [2]string{stream, group}
	cursor := "0"
	if v, ok := b.sweeps.Load(id); ok {
		cursor = v.(string)
	}
	keys := b.keys.of(stream, group)
	a := ownArgs()
	floorScript.call(a, 3)
	a.add(stream, keys.floor, keys.records, group, cursor)
	v, err := b.background.run(ctx, floorScript, a.since(0))
	if next, ok := v.(string); ok {
		b.sweeps.Store(id, next)
	}
	return b.fail(operation{name: "save floor of", stream: stream, group: group}, err)
}

// RemoveConsumer implements broker.Broker.
func (b *Broker) RemoveConsumer(ctx context.Context, o broker.Owner) (bool, error) {
	a := newArgs()
	defer a.release()
	removeScript.call(a, 1)
	a.add(o.Stream, o.Group, o.Consumer)
	v, err := b.run(ctx, removeScript, a.since(0))
	if refusal, ok := v.(string); ok && err == nil && kindOf(clean(refusal)) != broker.ErrNoPermission { //nolint:errorlint // kinds are not wrapped
		err = serverError(refusal)
	}
	return v == int64(1), b.fail(on(o, "remove consumer "+o.Consumer+" of"), err)
}
