package sim

import (
	"context"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
)

// server is the server in memory: it tells the model what it has done, whether or
// not anybody hears of it, and has a clock that can be set.
type server struct {
	*memory.Broker

	sim *sim
}

// wall is the server's clock: its TIME. Like a server's, its timers go by how much
// time passes.
type wall struct {
	clock.Clock

	sim *sim
}

func (w wall) Now() time.Time { return w.Clock.Now().Add(w.sim.skew) }

// open makes the server.
func (s *sim) open(c clock.Clock) (harness.Server, error) {
	s.clock = c
	s.memory = memory.New(wall{c, s}, memory.Options{Version: s.version})
	return server{s.memory, s}, nil
}

// Server is the server in memory.
func (s *sim) Server() *memory.Broker { return s.memory }

// time is what the server's clock shows.
func (s *sim) time() time.Time { return s.Now().Add(s.skew) }

// setTime sets the server's clock forward or back. Everybody's leases look older by
// it, or younger.
func (s *sim) setTime(d time.Duration) {
	s.model.elapse()
	s.skew += d
	s.model.interrupt("", 0)
}

func (v server) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	m := &v.sim.model
	holders := m.holders(s)
	res, err := v.Broker.Settle(ctx, s)
	if err == nil {
		m.fenced(s, &res, holders)
		m.marks.settled(s, &res)
		m.starts.settled(s, &res)
		m.waits(s, &res)
		m.counts.written(s, &res)
		m.backlog.settled(s, &res)
		m.lost(s, &res)
	}
	return res, err
}

func (v server) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	marks, err := v.Broker.Marked(ctx, r)
	if err == nil {
		v.sim.model.marks.asked(&r, marks)
	}
	return marks, err
}

func (v server) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	holdings, err := v.Broker.Begin(ctx, o, ids)
	if err == nil {
		v.sim.model.starts.began(o, ids, holdings)
	}
	return holdings, err
}

func (v server) Release(ctx context.Context, o broker.Owner, ids []broker.ID, idle time.Duration) error {
	v.sim.model.handsBack(o, ids)
	return v.Broker.Release(ctx, o, ids, idle)
}
