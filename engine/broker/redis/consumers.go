package redis

import (
	"context"
	"errors"
	"strconv"
	"strings"
	"time"

	"pipeline/engine/broker"
)

// Lease says whether a process lives behind a consumer.
type Lease uint8

// The states of a lease.
const (
	// LeaseNone: the name has no slot, so that nobody can tell; consumers of other
	// programs are called so.
	LeaseNone Lease = iota
	// LeaseGone: its slot is free, or another process has it.
	LeaseGone
	// LeaseHeld: its process holds the slot, or has announced that it lives.
	LeaseHeld
	// LeaseUnknown: the login may not look at the keys beside the stream.
	LeaseUnknown
)

// Consumer is a consumer of a group with what tells whether somebody is behind it.
type Consumer struct {
	broker.ConsumerInfo
	// Inactive is how long ago it was last given an entry, by a read or a claim; -1
	// where it never was, or the server does not tell (before 7.2).
	Inactive time.Duration
	// Slot is the name without the token of the process, "" without one; Lease says
	// whether that process lives, and Until, by the server's clock, when it no longer
	// counts as alive if it has gone without a word. Until is zero unless Lease is
	// LeaseHeld.
	Slot  string
	Lease Lease
	Until time.Time
	// Oldest is the first entry that is pending under it, zero without one, and
	// OldestIdle how long that was not delivered, claimed or renewed.
	Oldest     broker.ID
	OldestIdle time.Duration
}

// slotOf divides the name of a consumer of ours, SUBSCRIPTION-HOST-N.TOKEN, into the
// name of its slot and the token; ok is false for a name that is none.
func slotOf(consumer string) (slot, token string, ok bool) {
	dot := strings.LastIndexByte(consumer, '.')
	if dot < 0 || dot == len(consumer)-1 {
		return "", "", false
	}
	slot, token = consumer[:dot], consumer[dot+1:]
	dash := strings.LastIndexByte(slot, '-')
	if dash < 1 {
		return "", "", false
	}
	if _, err := strconv.ParseUint(slot[dash+1:], 10, 31); err != nil {
		return "", "", false
	}
	return slot, token, true
}

// Consumers lists the consumers of a group, in the server's order, and the server's
// time. It changes nothing. It takes one round for the group and, for each consumer,
// one more question or two, in trips of 250; none of them costs more the more is
// pending.
func (b *Broker) Consumers(ctx context.Context, stream, group string) ([]Consumer, time.Time, error) {
	keys, q := b.keys.of(stream, group), &questions{b: b}
	var now time.Time
	var list []Consumer
	var failed error
	living, blind := map[string]time.Time{}, false
	q.time(ctx, &now)
	q.add(ctx, operation{name: "inspect consumers of", stream: stream, group: group}, func(v any, err error) {
		if absent(err) {
			err = &broker.Error{Op: "inspect consumers of", Stream: stream, Group: group, Kind: broker.ErrNoGroup, Detail: "the stream does not exist"}
		}
		failed = err
		all, _ := v.([]any)
		for i := range all {
			list = append(list, properties(all[i]).seen())
		}
	}, "XINFO", "CONSUMERS", stream, group)
	q.add(ctx, operation{name: "look who is alive in", stream: stream, group: group}, func(v any, err error) {
		blind = err != nil
		members := texts(v)
		for i := 0; i+1 < len(members); i += 2 {
			if token, ok := strings.CutPrefix(members[i], "u:"); ok {
				until, _ := strconv.ParseFloat(members[i+1], 64)
				living[token] = instant(int64(until))
			}
		}
	}, "ZRANGEBYSCORE", keys.alive, 1_000_000_000_000, "+inf", "WITHSCORES")
	q.ask(ctx)
	if failed != nil || q.err != nil {
		return nil, now, cmpError(q.err, failed)
	}
	for i := range list {
		q.consumer(ctx, stream, group, keys, &list[i], &failed)
	}
	q.ask(ctx)
	if failed != nil || q.err != nil {
		return nil, now, cmpError(q.err, failed)
	}
	for i := range list {
		c := &list[i]
		_, token, ok := slotOf(c.Name)
		until := living[token]
		switch {
		case !ok:
		case until.After(now):
			c.Lease = LeaseHeld
			if c.Until.Before(until) {
				c.Until = until
			}
		case c.Lease == LeaseHeld: // the lease itself says so
		case blind:
			c.Lease = LeaseUnknown
		}
	}
	return list, now, nil
}

// consumer asks for the lease of a consumer's slot and the first entry that it holds.
func (q *questions) consumer(ctx context.Context, stream, group string, keys *groupKeys, c *Consumer, failed *error) {
	op := operation{name: "look at the lease of " + c.Name + " of", stream: stream, group: group}
	if slot, token, ok := slotOf(c.Name); ok {
		c.Slot, c.Lease = slot, LeaseGone
		q.add(ctx, op, func(v any, err error) {
			value, _ := v.(string)
			switch {
			case strings.HasPrefix(value, token+" "):
				c.Lease = LeaseHeld
			case errors.Is(err, broker.ErrNoPermission):
				c.Lease = LeaseUnknown
			}
		}, "GET", keys.slot+slot)
	}
	if c.Pending > 0 {
		op.name = "list pending of"
		q.add(ctx, op, func(v any, err error) {
			if err != nil && *failed == nil {
				*failed = err
			}
			if page, ok := v.([]any); ok && len(page) == 1 {
				p := pendingOf(page[0])
				c.Oldest, c.OldestIdle = p.ID, p.Idle
			}
		}, "XPENDING", stream, group, "-", "+", 1, c.Name)
	}
}

func (i info) seen() Consumer {
	c := Consumer{ConsumerInfo: i.consumer(), Inactive: -1}
	if n := i.count("inactive"); n >= 0 {
		c.Inactive = time.Duration(n) * time.Millisecond
	}
	return c
}
