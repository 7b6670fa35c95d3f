package bench

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/clock"
)

// openLoop sends entries at the times of a plan, whether or not the replies keep
// up, and takes the time of each from when it was meant to be sent. A consumer
// that stands still for a second so costs every entry of that second, and not one
// (the mistake known as coordinated omission).
type openLoop struct {
	clock       clock.Clock
	client      *redis.Client
	in, replies string
	// plan is when each entry is sent, from the start on.
	plan  []time.Duration
	start time.Time
	// took is from the intended sending of each entry to the arrival of its reply;
	// late from the intended to the real sending.
	took, late []time.Duration
}

// run sends all entries and waits for all replies.
func (l *openLoop) run(ctx context.Context) error {
	l.took, l.late = make([]time.Duration, len(l.plan)), make([]time.Duration, len(l.plan))
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	l.start = l.clock.Now()
	received := make(chan error, 1)
	go func() { received <- l.receive(ctx) }()
	if err := l.send(ctx); err != nil {
		cancel()
		return errors.Join(err, <-received)
	}
	return <-received
}

// fine is the last part of a wait, for which a timer is not exact enough.
const fine = 2 * time.Millisecond

// send sends what is due by one pipeline, again and again.
func (l *openLoop) send(ctx context.Context) error {
	for i := 0; i < len(l.plan); {
		if wait := l.plan[i] - clock.Since(l.clock, l.start); wait > 0 {
			if err := clock.Sleep(ctx, l.clock, wait-fine); err != nil {
				return err
			}
			pause(l.plan[i] - clock.Since(l.clock, l.start))
			continue
		}
		pipe := l.client.Pipeline()
		for now := clock.Since(l.clock, l.start); i < len(l.plan) && l.plan[i] <= now; i++ {
			pipe.XAdd(ctx, addArgs(l.in, int64(i), 0))
			l.late[i] = now - l.plan[i]
		}
		if _, err := pipe.Exec(ctx); err != nil {
			return failed("add to "+l.in, err)
		}
	}
	return nil
}

// receive reads the replies as they come.
func (l *openLoop) receive(ctx context.Context) error {
	last, idle := "0", l.clock.Now()
	for got := 0; got < len(l.plan); {
		if ctx.Err() != nil { // the client heeds its deadline only
			return ctx.Err()
		}
		streams, err := l.client.XRead(ctx, &redis.XReadArgs{Streams: []string{l.replies, last}, Count: 1000, Block: time.Second}).Result()
		now := l.clock.Now()
		switch {
		case errors.Is(err, redis.Nil):
			// Nothing is late while the plan itself pauses.
			if now.Sub(idle) > stuck+l.longestPause() {
				return fmt.Errorf("%d of %d entries have had a reply, and then none for %v", got, len(l.plan), stuck)
			}
			continue
		case err != nil:
			return failed("read "+l.replies, err)
		}
		for _, m := range streams[0].Messages {
			if err := l.arrived(m, now); err != nil {
				return err
			}
			got++
		}
		idle, last = now, streams[0].Messages[len(streams[0].Messages)-1].ID
	}
	return nil
}

// arrived takes the time of one reply.
func (l *openLoop) arrived(m redis.XMessage, now time.Time) error {
	var reply struct {
		ID *int `json:"payment_id"`
	}
	body, _ := m.Values["_payload"].(string)
	if err := json.Unmarshal([]byte(body), &reply); err != nil || reply.ID == nil || *reply.ID < 0 || *reply.ID >= len(l.plan) {
		return fmt.Errorf("the reply %.100q is none to an entry that was sent", body)
	}
	l.took[*reply.ID] = now.Sub(l.start) - l.plan[*reply.ID]
	return nil
}

// longestPause is the longest time between two entries of the plan.
func (l *openLoop) longestPause() time.Duration {
	most := time.Duration(0)
	for i := 1; i < len(l.plan); i++ {
		most = max(most, l.plan[i]-l.plan[i-1])
	}
	return most
}
