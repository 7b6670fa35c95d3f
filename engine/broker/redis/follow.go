package redis

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// Follow returns up to count entries of a stream with ids after the given one, in
// order, and waits up to block for the first: XREAD, which no group sees. It
// returns none, without an error, when none came; an absent stream has none yet. A
// canceled context ends the wait as it ends that of Read.
func (b *Broker) Follow(ctx context.Context, stream string, after broker.ID, count int, block time.Duration) ([]broker.Entry, error) {
	op := operation{name: "follow", stream: stream}
	if count < 1 {
		return nil, b.fail(op, &broker.Error{Detail: "count must be at least 1"})
	}
	if err := ctx.Err(); err != nil {
		return nil, b.fail(op, err)
	}
	a := newArgs()
	defer a.release()
	a.add("XREAD", "COUNT")
	a.int(int64(count))
	if block > 0 {
		a.add("BLOCK")
		a.int(milliseconds(block))
	}
	a.add("STREAMS", stream)
	a.id(after)
	reply, err := b.blocking(ctx, block, a.since(0))
	if err != nil {
		return nil, b.fail(op, err)
	}
	found, err := readGroupReply(reply)
	if err != nil {
		return nil, b.fail(op, err)
	}
	entries := make([]broker.Entry, len(found))
	for i := range found {
		entries[i] = found[i].Entry
	}
	return entries, nil
}
