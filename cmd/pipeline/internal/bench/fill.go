package bench

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"
)

// accounts is how many keys the entries have: enough that lanes are even.
const accounts = 5000

// keyLife ends the keys of a run whose process was killed. Every round renews it.
const keyLife = 2 * time.Hour

// fillPage is how many entries are added, or acknowledged, by one pipeline.
const fillPage = 1000

// account is the partition key of entry i.
func account(i int64) string { return fmt.Sprintf("acct-%06d", i%accounts) }

// payment is entry i as on the wire. Its body grows to size bytes where that is
// more than the usual 110.
func payment(i int64, size int) []string {
	body := fmt.Sprintf(`{"id":%d,"account":%q,"amount_cents":%d,"currency":"EUR","memo":"invoice 2026-11 payment ref %08d"}`,
		i, account(i), 100+i%2000000, i)
	if more := size - len(body) - len(`,"note":""`); more > 0 {
		body = strings.TrimSuffix(body, "}") + `,"note":"` + strings.Repeat("x", more) + `"}`
	}
	return []string{"_payload", body, "h:redis-partition-key", account(i)}
}

// addArgs adds entry i.
func addArgs(stream string, i int64, size int) *redis.XAddArgs {
	return &redis.XAddArgs{Stream: stream, Values: payment(i, size)}
}

// fill adds n entries to a stream, with bodies of size bytes at least, and returns the id of the last one; "0-0" for
// none.
func (s *Server) fill(ctx context.Context, stream string, n int64, size int) (last string, err error) {
	last = "0-0"
	for i := int64(0); i < n; {
		pipe := s.client.Pipeline()
		var added *redis.StringCmd
		for range min(fillPage, n-i) {
			added = pipe.XAdd(ctx, addArgs(stream, i, size))
			i++
		}
		pipe.Expire(ctx, stream, keyLife)
		if _, err := pipe.Exec(ctx); err != nil {
			return "", failed("fill "+stream, err)
		}
		last = added.Val()
	}
	return last, nil
}

// Sizes on the server, for the warning before anything is written: an entry of a
// stream of the usual body, a reply, and what a pending list adds. They are
// rounded up.
const (
	bytesEntry   = 256
	bytesReply   = 160
	bytesPending = 192
)

// pend makes the entries of a stream pending for a consumer that is gone, idle for
// as long as it is told, or since now for 0.
func (s *Server) pend(ctx context.Context, stream, group string, idle time.Duration) error {
	const consumer, page = "gone", 10_000
	for {
		read, err := s.client.XReadGroup(ctx, &redis.XReadGroupArgs{
			Group: group, Consumer: consumer, Streams: []string{stream, ">"}, Count: page, Block: -1,
		}).Result()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil {
			return failed("deliver "+stream, err)
		}
		if idle == 0 {
			continue
		}
		args := []any{"XCLAIM", stream, group, consumer, 0}
		for _, m := range read[0].Messages {
			args = append(args, m.ID)
		}
		args = append(args, "IDLE", idle.Milliseconds(), "JUSTID")
		if err := s.client.Do(ctx, args...).Err(); err != nil {
			return failed("age "+stream, err)
		}
	}
}
