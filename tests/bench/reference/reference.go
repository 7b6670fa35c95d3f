// Package reference is a consumer as a senior engineer writes it by hand with
// go-redis: one reader, keyed workers, encoding/json, replies and the
// acknowledgement of a share sent as one pipeline. The engine is measured
// beside it.
//
// It has no recovery, no fencing, no retries and no dead letters: that is what
// it is compared with, not what is wrong with it.
package reference

import (
	"context"
	"encoding/json"
	"errors"
	"hash/maphash"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// Consumer consumes one stream through one group.
type Consumer struct {
	Client                  *redis.Client
	Stream, Group, Consumer string
	// Reply is the stream for replies; empty only acknowledges.
	Reply   string
	Workers int
	// Count is the size of a read.
	Count int64
}

type payment struct {
	ID          uint64 `json:"id"`
	Account     string `json:"account"`
	AmountCents int64  `json:"amount_cents"`
}

type screened struct {
	PaymentID  uint64 `json:"payment_id"`
	Suspicious bool   `json:"suspicious"`
}

// Run consumes until total entries were read, and settles them all.
func (c *Consumer) Run(ctx context.Context, total int) error {
	lanes := make([]chan []redis.XMessage, c.Workers)
	errs := make(chan error, c.Workers)
	var all sync.WaitGroup
	for i := range lanes {
		lanes[i] = make(chan []redis.XMessage, 4)
		all.Go(func() {
			for share := range lanes[i] {
				if err := c.work(ctx, share); err != nil {
					errs <- err
					return
				}
			}
		})
	}
	err := c.read(ctx, total, lanes)
	for _, l := range lanes {
		close(l)
	}
	all.Wait()
	close(errs)
	return errors.Join(err, <-errs)
}

func (c *Consumer) read(ctx context.Context, total int, lanes []chan []redis.XMessage) error {
	seed := maphash.MakeSeed()
	args := &redis.XReadGroupArgs{
		Group: c.Group, Consumer: c.Consumer, Streams: []string{c.Stream, ">"}, Count: c.Count, Block: 100 * time.Millisecond,
	}
	for n := 0; n < total; {
		streams, err := c.Client.XReadGroup(ctx, args).Result()
		if errors.Is(err, redis.Nil) {
			return nil
		}
		if err != nil {
			return err
		}
		shares := make([][]redis.XMessage, len(lanes))
		for _, m := range streams[0].Messages {
			key, _ := m.Values["h:redis-partition-key"].(string)
			l := maphash.String(seed, key) % uint64(len(lanes))
			shares[l] = append(shares[l], m)
		}
		for l, s := range shares {
			if len(s) > 0 {
				lanes[l] <- s
			}
		}
		n += len(streams[0].Messages)
	}
	return nil
}

// work handles a share and settles it in one pipeline.
func (c *Consumer) work(ctx context.Context, share []redis.XMessage) error {
	ids := make([]string, 0, len(share))
	pipe := c.Client.Pipeline()
	for _, m := range share {
		var p payment
		body, _ := m.Values["_payload"].(string)
		if err := json.Unmarshal([]byte(body), &p); err != nil {
			return err
		}
		ids = append(ids, m.ID)
		if c.Reply == "" {
			continue
		}
		out, err := json.Marshal(screened{p.ID, p.AmountCents > 1000000})
		if err != nil {
			return err
		}
		pipe.XAdd(ctx, &redis.XAddArgs{
			Stream: c.Reply, Values: []string{"_payload", string(out), "h:redis-partition-key", p.Account},
		})
	}
	pipe.XAck(ctx, c.Stream, c.Group, ids...)
	_, err := pipe.Exec(ctx)
	return err
}
