// Package reference is a consumer as a senior engineer writes it by hand with
// go-redis: one reader, workers by key, encoding/json, replies and the
// acknowledgement of a share sent as one pipeline, the next read under way
// while workers work. The product is measured beside it.
//
// It takes over what a stopped consumer left, by pages of XAUTOCLAIM, when it
// is asked to. It has no fencing, no leases, no retries and no dead letters:
// that is what it is compared with, not what is wrong with it.
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

// Consumer consumes streams through one group of each.
type Consumer struct {
	// Client comes from Connect, or is as good.
	Client *redis.Client
	// Streams are read by one command, all through groups of the same name.
	Streams         []string
	Group, Consumer string
	// Reply is the stream for replies; empty only acknowledges.
	Reply   string
	Workers int
	// Count is the size of a read, for each stream, and of a page of claims.
	Count int64
	// MinIdle is how long an entry must have been idle to be taken over from
	// another consumer; 0 takes nothing over. It is also the time between two
	// passes over the pending list, the first of which is made at the start.
	MinIdle time.Duration
	// Queue is how many shares wait for a worker at most; default 4. Reading stops
	// when a worker has that many.
	Queue int
	// Gate is called before each share and may hold the worker back, for ctx at
	// most; nil does not.
	Gate func(ctx context.Context)
	// Ready is called once, when everything is connected and the next thing is to
	// read; nil is not.
	Ready func()
	// Settled is called with the number of entries of each share, once the server
	// has confirmed replies and acknowledgement. It is called by all workers.
	Settled func(n int)
}

// block is how long a read waits for entries.
const block = time.Second

// payment is what the streams hold, as far as it matters here.
type payment struct {
	ID          uint64 `json:"id"`
	Account     string `json:"account"`
	AmountCents int64  `json:"amount_cents"`
}

// screened is the reply.
type screened struct {
	PaymentID  uint64 `json:"payment_id"`
	Suspicious bool   `json:"suspicious"`
}

// share is what one worker gets of one read of one stream.
type share struct {
	stream  string
	entries []redis.XMessage
}

// lanes hand shares to workers, by key.
type lanes struct {
	seed  maphash.Seed
	queue []chan share
}

// Run consumes until ctx is canceled. What workers have begun then is settled;
// what waits for them stays pending, as after a crash. A server that fails ends
// it with the first error.
func (c *Consumer) Run(ctx context.Context) error {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	depth := c.Queue
	if depth == 0 {
		depth = 4
	}
	l := &lanes{seed: maphash.MakeSeed(), queue: make([]chan share, c.Workers)}
	var workers, readers sync.WaitGroup
	for i := range l.queue {
		l.queue[i] = make(chan share, depth)
		workers.Go(func() {
			if err := c.work(ctx, l.queue[i]); err != nil {
				stop(err)
			}
		})
	}
	if c.Ready != nil {
		c.Ready()
	}
	for _, read := range []func(context.Context, *lanes) error{c.read, c.recover} {
		readers.Go(func() {
			if err := read(ctx, l); err != nil {
				stop(err)
			}
		})
	}
	readers.Wait()
	for _, q := range l.queue {
		close(q)
	}
	workers.Wait()
	if err := context.Cause(ctx); !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

// read reads new entries. The client does not heed a context while it blocks, so
// a read that is under way ends within block.
func (c *Consumer) read(ctx context.Context, l *lanes) error {
	args := &redis.XReadGroupArgs{Group: c.Group, Consumer: c.Consumer, Count: c.Count, Block: block}
	args.Streams = append(args.Streams, c.Streams...)
	for range c.Streams {
		args.Streams = append(args.Streams, ">")
	}
	for ctx.Err() == nil {
		streams, err := c.Client.XReadGroup(ctx, args).Result()
		if errors.Is(err, redis.Nil) || ctx.Err() != nil {
			continue
		}
		if err != nil {
			return err
		}
		for _, s := range streams {
			l.spread(ctx, s.Stream, s.Messages)
		}
	}
	return nil
}

// recover takes over, page by page, what is idle for MinIdle.
func (c *Consumer) recover(ctx context.Context, l *lanes) error {
	if c.MinIdle == 0 {
		return nil
	}
	again := time.NewTicker(c.MinIdle)
	defer again.Stop()
	for {
		for _, stream := range c.Streams {
			if err := c.claim(ctx, l, stream); err != nil {
				return err
			}
		}
		select {
		case <-again.C:
		case <-ctx.Done():
			return nil
		}
	}
}

// claim makes one pass over a pending list.
func (c *Consumer) claim(ctx context.Context, l *lanes, stream string) error {
	args := &redis.XAutoClaimArgs{
		Stream: stream, Group: c.Group, Consumer: c.Consumer, MinIdle: c.MinIdle, Start: "0-0", Count: c.Count,
	}
	for ctx.Err() == nil {
		page, next, err := c.Client.XAutoClaim(ctx, args).Result()
		if err != nil {
			return err
		}
		l.spread(ctx, stream, page)
		if args.Start = next; next == "0-0" {
			return nil
		}
	}
	return nil
}

// spread gives every worker its share of a page.
func (l *lanes) spread(ctx context.Context, stream string, page []redis.XMessage) {
	shares := make([][]redis.XMessage, len(l.queue))
	for i := range shares {
		shares[i] = make([]redis.XMessage, 0, len(page)/len(shares)*5/4+1)
	}
	for _, m := range page {
		key, _ := m.Values["h:redis-partition-key"].(string)
		n := maphash.String(l.seed, key) % uint64(len(shares))
		shares[n] = append(shares[n], m)
	}
	for n, entries := range shares {
		if len(entries) == 0 {
			continue
		}
		select {
		case l.queue[n] <- share{stream, entries}:
		case <-ctx.Done():
			return
		}
	}
}

// work settles the shares of one worker.
func (c *Consumer) work(ctx context.Context, queue <-chan share) error {
	for s := range queue {
		if c.Gate != nil {
			c.Gate(ctx)
		}
		if ctx.Err() != nil {
			continue
		}
		if err := c.settle(ctx, s); err != nil {
			return err
		}
		if c.Settled != nil {
			c.Settled(len(s.entries))
		}
	}
	return nil
}

// settle handles a share and settles it in one pipeline.
func (c *Consumer) settle(ctx context.Context, s share) error {
	ids := make([]string, 0, len(s.entries))
	pipe := c.Client.Pipeline()
	for _, m := range s.entries {
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
	pipe.XAck(ctx, s.stream, c.Group, ids...)
	_, err := pipe.Exec(context.WithoutCancel(ctx))
	return err
}
