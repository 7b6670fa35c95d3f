// Package replay runs a range of a stream once more, in a group of its own, with the
// handler of a subscription.
package replay

import (
	"context"
	"errors"
	"log/slog"
	"slices"
	"sync/atomic"
	"time"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Server is what of a server is needed; *redis.Broker is one.
type Server interface {
	broker.Broker
	LookAtReplay(ctx context.Context, r redis.Replay) (redis.ReplayState, string, error)
	BeginReplay(ctx context.Context, r redis.Replay) (redis.ReplayState, string, error)
	EndReplay(ctx context.Context, r redis.Replay) (bool, error)
	ReadReplay(ctx context.Context, r redis.Replay, consumer string, count int) ([]broker.Delivery, error)
}

// Range is what is run again.
type Range struct {
	Subscription *spec.Subscription
	// Group is the name of the new group, which only this range uses.
	Group string
	// First and Last are the ends of the range, both in it.
	First, Last broker.ID
	// Publish: replies are published, each entry's once. Without it they are counted and
	// nothing is written to the streams that they go to.
	Publish bool
}

// On is the range as the server notes it.
func (r *Range) On() redis.Replay {
	how := r.Subscription.Label
	if r.Publish {
		how += " publishing"
	}
	return redis.Replay{Stream: r.Subscription.Group.Stream.Name, Group: r.Group, First: r.First, Last: r.Last, How: how}
}

// Preview is what a replay comes to, as the server is now.
type Preview struct {
	// State is what has become of it so far, Other what else has its name.
	State redis.ReplayState
	Other string
	// Entries are those of the range that are still to be delivered; More: at least so
	// many. Pending were delivered and are not settled.
	Entries int64
	More    bool
	Pending int64
}

// counted bounds how many entries a preview counts.
const counted = 100_000

// Look finds out what a replay comes to. It changes nothing.
func Look(ctx context.Context, s Server, r *Range) (Preview, error) {
	var p Preview
	var err error
	if p.State, p.Other, err = s.LookAtReplay(ctx, r.On()); err != nil {
		return p, err
	}
	after := r.First.Prev()
	if p.State == redis.ReplayBegun {
		g, found, err := r.group(ctx, s)
		if err != nil {
			return p, err
		}
		if found {
			after, p.Pending = g.LastDelivered, g.Pending
		}
	}
	if p.State != redis.ReplayEnded {
		p.Entries, p.More, err = count(ctx, s, r.Subscription.Group.Stream.Name, after, r.Last)
	}
	return p, err
}

// count counts the entries behind one id up to another, at most about counted.
func count(ctx context.Context, s Server, stream string, after, last broker.ID) (n int64, more bool, err error) {
	size := live.NewPageSize()
	for after.Less(last) {
		page, err := s.Range(ctx, stream, after.Next(), last, size.Count)
		if err != nil || len(page) == 0 {
			return n, false, err
		}
		n += int64(len(page))
		if after = page[len(page)-1].ID; n >= counted && after.Less(last) {
			return n, true, nil
		}
		size.After(page)
	}
	return n, false, nil
}

// group is the state of the new group, where it is there.
func (r *Range) group(ctx context.Context, s Server) (broker.GroupInfo, bool, error) {
	infos, err := s.GroupInfos(ctx, r.Subscription.Group.Stream.Name)
	for _, g := range infos {
		if g.Name == r.Group {
			return g, true, err
		}
	}
	return broker.GroupInfo{}, false, err
}

// Result is what a replay came to.
type Result struct {
	// State is what had become of it before: only one that is new or begun was run.
	State redis.ReplayState
	Other string
	// Ended: all of the range is settled, and the group is removed.
	Ended bool
	// Settled are outcomes by what became of the entries in this run, Unpublished the
	// replies that were not written.
	Settled     map[observe.Result]int64
	Unpublished int64
}

// Settings are what the engine of a replay needs besides.
type Settings struct {
	Handlers map[string]sandbox.Handler
	Clock    clock.Clock
	Logger   *slog.Logger
	Observer observe.Observer
}

// minIdle is how long an entry of a replay that was stopped waits for the next run of
// it, where the subscription does not say.
const minIdle = time.Minute

// pause is how long is waited for an entry that may be settled meanwhile.
const pause = 250 * time.Millisecond

// pipeline is one with the subscription alone, in the new group. It claims, so that
// a retry waits in the new group: a copy in the stream would reach every group. It has
// no stream to trim.
func (r *Range) pipeline(p *spec.Pipeline) *spec.Pipeline {
	group, sub := *r.Subscription.Group, *r.Subscription
	group.Label, group.Name, group.Start = r.Group, r.Group, r.First.Prev().String()
	claim := spec.Claim{MinIdle: minIdle}
	if sub.Claim != nil {
		claim.MinIdle = sub.Claim.MinIdle
	}
	claim.Using = spec.UsingAutoclaim // what is new is read within the range, which no claiming read can
	sub.Claim, sub.Group = &claim, &group
	group.Subscriptions = []*spec.Subscription{&sub}
	out := *p
	out.Streams, out.Groups = nil, []*spec.Group{&group}
	return &out
}

// Run runs the range until all of it is settled, or ctx is done, whereupon it hands
// back what has not started and finishes what runs. It may be run again, by several
// processes at once too: what is settled stays so.
func Run(ctx context.Context, p *spec.Pipeline, s Server, r *Range, o Settings) (Result, error) {
	var out Result
	var err error
	if out.State, out.Other, err = s.BeginReplay(ctx, r.On()); err != nil || out.State > redis.ReplayBegun {
		return out, err
	}
	within := &bounded{Broker: s, server: s, of: r, clock: o.Clock}
	eng, err := engine.New(engine.Config{
		Pipeline: r.pipeline(p), Broker: within, Handlers: o.Handlers, Clock: o.Clock, Logger: o.Logger, Observer: o.Observer,
	})
	if err != nil {
		return out, err
	}
	running, stop := context.WithCancel(ctx)
	watched := make(chan struct{})
	go func() {
		defer close(watched)
		defer stop()
		r.untilSettled(running, s, o.Clock)
	}()
	err = eng.Run(running)
	stop()
	<-watched
	out.Unpublished = within.unpublished.Load()
	for _, sub := range eng.Snapshot().Subscriptions {
		out.Settled = sub.Settled
	}
	if err != nil || ctx.Err() != nil {
		return out, errors.Join(err, ctx.Err())
	}
	out.Ended, err = s.EndReplay(ctx, r.On())
	return out, err
}

// untilSettled waits until nothing of the range is left to be read or is pending.
func (r *Range) untilSettled(ctx context.Context, s Server, c clock.Clock) {
	for clock.Sleep(ctx, c, pause) == nil {
		if state, _, err := s.LookAtReplay(ctx, r.On()); err == nil && state == redis.ReplayEnded {
			return // by another process
		}
		g, found, err := r.group(ctx, s)
		if err != nil || !found || g.Pending > 0 {
			continue // the engine waits for a server that is away, and creates a lost group again
		}
		if !g.LastDelivered.Less(r.Last) {
			return
		}
		left, err := s.Range(ctx, r.Subscription.Group.Stream.Name, g.LastDelivered.Next(), r.Last, 1)
		if err == nil && len(left) == 0 {
			return
		}
	}
}

// bounded is a server of which nothing behind the range is read and, unless that is
// asked for, no reply is published.
type bounded struct {
	broker.Broker

	server      Server
	of          *Range
	clock       clock.Clock
	unpublished atomic.Int64
}

// Read reads within the range. It waits as a blocking read does, without the server.
func (b *bounded) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	d, err := b.server.ReadReplay(ctx, b.of.On(), r.Consumer, r.Count)
	if err == nil && len(d) == 0 && r.Block > 0 {
		_ = clock.Sleep(ctx, b.clock, min(r.Block, pause)) // a reader that is to stop reads nothing more
	}
	return d, err
}

// RestoreGroup creates a group that was lost at its floor, and without one before the
// range, never at the beginning of the stream. Where it is gone because another process
// has ended the replay, it reads nothing and is removed again.
func (b *bounded) RestoreGroup(ctx context.Context, stream, group string) (broker.ID, bool, error) {
	created, err := b.server.CreateGroup(ctx, stream, group, b.of.First.Prev().String())
	if err != nil {
		return broker.ID{}, false, err
	}
	at, _, err := b.server.Floor(ctx, stream, group)
	return at, created, err
}

// Settle writes outcomes, and of what is published only dead letters where replies are
// not to be.
func (b *bounded) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	if b.of.Publish {
		return b.server.Settle(ctx, s)
	}
	silent, dropped := *s, make([]int64, len(s.Steps))
	silent.Steps = make([]broker.Step, len(s.Steps))
	for i, step := range s.Steps {
		step.Publish = nil
		for _, add := range s.Steps[i].Publish {
			if b.letter(&add) {
				step.Publish = append(step.Publish, add)
			} else {
				dropped[i]++
			}
		}
		silent.Steps[i] = step
	}
	result, err := b.server.Settle(ctx, &silent)
	for i := range result.Steps {
		if result.Steps[i].Status == broker.Done {
			b.unpublished.Add(dropped[i])
		}
	}
	return result, err
}

// letter reports whether a message is a dead letter of the range.
func (b *bounded) letter(m *broker.Add) bool {
	return m.Stream == b.of.Subscription.Group.DeadLetter.Name &&
		slices.ContainsFunc(m.Fields, func(f broker.Field) bool { return f.Name == letterReason })
}

// letterReason is a field that every dead letter has.
const letterReason = "h:dead-letter-reason"
