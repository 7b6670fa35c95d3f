package cli

import (
	"context"
	"fmt"
	"time"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/backlog"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// codeBacklogFull is the word of a publish that found no room for too long.
const codeBacklogFull = "backlog_full"

// gates let entries into streams as far as their max_backlog allows.
type gates struct {
	a *app
	// gauges are those of the streams that have one, by their keys.
	gauges map[string]*backlog.Gauge
	// patience is how long to wait without a single entry that could be added.
	patience time.Duration
	// moved is when the last one could be.
	moved time.Time
	// said: it was said that this waits.
	said bool
}

func (a *app) newGates(p *spec.Pipeline, server broker.Broker, patience time.Duration) *gates {
	g := &gates{a: a, gauges: map[string]*backlog.Gauge{}, patience: patience, moved: a.clock.Now()}
	for _, s := range p.Streams {
		if s.MaxBacklog > 0 {
			g.gauges[s.Name] = backlog.New(server, a.clock, s.Name, s.MaxBacklog, g.tell)
		}
	}
	return g
}

// tell says that publishing waits, and that it goes on.
func (g *gates) tell(s backlog.State) {
	switch {
	case s.Level == backlog.Full:
		g.said = true
		g.a.view.Remark("backlog.full", sandbox.Warn, fmt.Sprintf(
			"waiting: %s; it goes on at %d, and gives up when nothing can be added for %s. An interrupt stops it and says how far it came", s, s.Reopens(), view.Duration(g.patience)))
	case g.said:
		g.said = false
		g.a.view.Remark("backlog.room", sandbox.Info, "going on: "+s.String())
	}
}

// pass waits until there is room for the first of the entries and returns for how
// many from there on there is. An error is a reason to end; none can be added
// then.
func (g *gates) pass(ctx context.Context, adds []broker.Add) (int, error) {
	if len(g.gauges) == 0 {
		return len(adds), nil
	}
	for {
		n, full, err := g.room(ctx, adds)
		if err != nil {
			return 0, err
		}
		now := g.a.clock.Now()
		if n > 0 {
			g.moved = now
			return n, nil
		}
		if now.Sub(g.moved) >= g.patience {
			return 0, noRoomError{full.State(), g.patience}
		}
		if err := clock.Sleep(ctx, g.a.clock, min(max(full.Next(), leastPause), g.moved.Add(g.patience).Sub(now))); err != nil {
			return 0, err
		}
	}
}

// leastPause is the shortest time between two looks for room.
const leastPause = 10 * time.Millisecond

// room takes room for the entries, up to the first for which there is none.
func (g *gates) room(ctx context.Context, adds []broker.Add) (n int, full *backlog.Gauge, err error) {
	for i := range adds {
		gauge := g.gauges[adds[i].Stream]
		if gauge == nil {
			continue
		}
		ok, err := gauge.Take(ctx, 1)
		if err != nil {
			return 0, nil, err
		}
		if !ok {
			return i, gauge, nil
		}
	}
	return len(adds), nil, nil
}

// noRoomError says that a stream had no room for too long.
type noRoomError struct {
	state    backlog.State
	patience time.Duration
}

func (e noRoomError) Error() string {
	if e.patience == 0 {
		return e.state.String() + ", so that there is no room for more now"
	}
	return fmt.Sprintf("%s, and for %s there was no room for another one", e.state, view.Duration(e.patience))
}
