package redis

import (
	"context"

	"github.com/redis/go-redis/v9"
)

// holding is a key and what the pipeline keeps in it.
type holding struct{ key, want string }

// holdings are the keys that an operation may have found another type in: the
// stream, those beside it whose names are fixed, and the others that it names.
func (b *Broker) holdings(op operation) []holding {
	var all []holding
	if op.stream != "" {
		all = append(all, holding{op.stream, "stream"})
	}
	if op.group != "" {
		keys := b.keys.of(op.stream, op.group)
		all = append(all, holding{keys.records, "hash"}, holding{keys.alive, "zset"}, holding{keys.floor, "string"})
	}
	for _, key := range op.others {
		all = append(all, holding{key, "stream"})
	}
	return all
}

// wrongType adds to the server's words, which name neither, the key that is in the
// way and what it holds. They are left as they are where that cannot be found out.
func (b *Broker) wrongType(detail string, op operation) string {
	ctx, cancel := context.WithTimeout(context.Background(), b.timeout)
	defer cancel()
	for _, h := range b.holdings(op) {
		kind, err := b.settle.Type(ctx, h.key).Result()
		if err != nil && err != redis.Nil { //nolint:errorlint // it comes unwrapped
			return detail
		}
		if kind != h.want && kind != "none" {
			return "WRONGTYPE the key " + h.key + " holds a " + kind + ", not a " + h.want
		}
	}
	return detail
}
