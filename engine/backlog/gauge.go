// Package backlog measures how far behind the readers of a stream are, for
// those who publish to it: they slow down before a bound is reached and stop at
// it, so that a stream whose readers stand still does not fill the server.
//
// The backlog of a stream is that of its slowest group: the entries that the
// group was not given yet (its lag) and those that it was given and has not
// acknowledged (its pending ones). Of a stream without groups, which nobody
// acknowledges, it is the length.
package backlog

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// Server is what a Gauge asks of a server. A broker.Broker is one.
type Server interface {
	StreamInfo(ctx context.Context, stream string) (broker.StreamInfo, error)
	GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error)
	Range(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error)
}

// Level is how much room there is.
type Level uint8

// The levels.
const (
	// Free: the backlog is well below the limit.
	Free Level = iota
	// Slowed: it is near the limit, and little is let through at a time.
	Slowed
	// Full: it reached the limit; nothing is let through until it has fallen.
	Full
)

// A stream is slowed from slowAt percent of its limit on, until it is below
// freeBelow, and full from the limit on, until it is at openAt or below: what
// sways around one of them must not be told again and again.
const (
	slowAt    = 80
	freeBelow = 70
	openAt    = 90
)

// How often a gauge looks. A reading is used for stale at most, far from the
// limit; what it allowed may be used up before, and then the next look is not
// sooner than after quick, or, near the limit, after slow.
const (
	stale = time.Second
	quick = 20 * time.Millisecond
	slow  = 250 * time.Millisecond
)

// callTimeout is how long a look may take.
const callTimeout = 5 * time.Second

// State is what the last look found.
type State struct {
	// Stream is the key, Limit its max_backlog.
	Stream string
	Limit  int64
	// Level is the level, Was the one before it.
	Level, Was Level
	// Reopened: it was full before, and not free since.
	Reopened bool
	Backlog
}

// Reopens is the backlog at which a full stream lets something through again.
func (s State) Reopens() int64 { return s.Limit * openAt / 100 }

// String says how full the stream is and who is behind.
func (s State) String() string {
	about, who := "", "it has no group and is that long"
	if s.About {
		about = "about "
	}
	if s.Group != "" {
		who = "group " + s.Group + " is that far behind"
	}
	return fmt.Sprintf("stream %s has a backlog of %s%d of %d entries (%s)", s.Stream, about, s.Entries, s.Limit, who)
}

// Gauge measures one stream, for everyone in a process who publishes to it. It
// looks only when it is asked and its last reading is used up, and lets through
// half of the room that it found each time: the nearer the limit, the less goes
// through. One process exceeds the limit by one at most, because a look does not
// see what is on its way, and by the rest of the step that each look lets through
// last. What another one may still publish from its last look, of which nobody
// knows, comes on top: at most half of the room that it found then, so that n
// processes together stay below the limit and (n − 1) halves of it. It is safe for
// concurrent use.
type Gauge struct {
	server Server
	clock  clock.Clock
	told   func(State)
	// looking is held during a look, so that one look serves all who wait.
	looking clock.Mutex

	mu    sync.Mutex
	state State
	// room is how many more messages the last look lets through.
	room   int64
	looked bool
	at     time.Time
	// same is how many looks in a row found the same while it was full.
	same int
}

// New returns a gauge of a stream that has not been looked at. told, if it is
// not nil, hears of each change of the level, from whoever made the gauge look.
func New(s Server, c clock.Clock, stream string, limit int64, told func(State)) *Gauge {
	return &Gauge{server: s, clock: c, told: told, state: State{Stream: stream, Limit: limit}}
}

// Take takes room for n messages, which belong together, and reports whether
// there was any; it looks at the stream if it is time. Messages of one step are
// let through together, even if there are more of them than room.
//
// A server that is away lets nothing through for now, which is no error. A key
// that is no stream lets everything through: whoever publishes is told then. An
// error is one that does not pass by waiting, a right that is missing.
func (g *Gauge) Take(ctx context.Context, n int64) (bool, error) {
	if g.take(n) {
		return true, nil
	}
	g.looking.Lock(ctx)
	defer g.looking.Unlock()
	if g.Next() > 0 {
		return g.take(n), nil // somebody else has looked meanwhile
	}
	if err := g.look(ctx); err != nil {
		return false, err
	}
	return g.take(n), nil
}

// Room is how many messages may be taken now; it looks at the stream if it is
// time, as Take does.
func (g *Gauge) Room(ctx context.Context) (int64, error) {
	ok, err := g.Take(ctx, 0)
	if !ok || err != nil {
		return 0, err
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.room, nil
}

// take takes room that the last look left, if it is not too old.
func (g *Gauge) take(n int64) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.room <= 0 || g.age() >= g.state.wait(stale) {
		return false
	}
	g.room -= n
	return true
}

// Give gives room back that was taken and not used.
func (g *Gauge) Give(n int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.room += n
}

// Next is how long it is until Take looks again; zero or less for at once.
func (g *Gauge) Next() time.Duration {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case !g.looked:
		return 0
	case g.room > 0:
		return g.state.wait(stale) - g.age()
	case g.state.Level == Free:
		return g.state.wait(quick) - g.age()
	}
	return g.state.wait(slow) - g.age()
}

// age is how old the reading is; very old when the clock was set back.
func (g *Gauge) age() time.Duration {
	if age := clock.Since(g.clock, g.at); g.looked && age >= 0 {
		return age
	}
	return time.Hour
}

// State is what the last look found.
func (g *Gauge) State() State {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state
}

// Stuck reports whether the stream is full and its backlog was the same at the
// last looks: nobody reads.
func (g *Gauge) Stuck() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.state.Level == Full && g.same >= 2
}

// look measures the stream and takes the reading over.
func (g *Gauge) look(ctx context.Context) error {
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	found, err := measure(call, g.server, g.state.Stream, g.state.Limit)
	switch {
	case err == nil:
		if s, changed := g.read(found); changed && g.told != nil {
			g.told(s)
		}
	case errors.Is(err, broker.ErrWrongType):
		g.missed(g.state.Limit)
	case broker.Transient(err), errors.Is(err, broker.ErrClosed), call.Err() != nil:
		g.missed(0)
	default:
		return err
	}
	return nil
}

// read takes a reading over and reports whether the level is another now.
func (g *Gauge) read(found Backlog) (State, bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	s := &g.state
	before := *s
	s.Backlog = found
	s.Level = level(before.Level, found.Entries, s.Limit)
	if s.Level != before.Level {
		s.Was = before.Level
	}
	s.Reopened = before.Level == Full || before.Reopened && before.Level == Slowed
	g.same++
	if !g.looked || found != before.Backlog || s.Level != Full {
		g.same = 0
	}
	g.looked, g.at, g.room = true, g.clock.Now(), 0
	if s.Level != Full {
		g.room = (s.Limit - found.Entries + 1) / 2
	}
	return *s, s.Level != before.Level
}

// missed notes a look that found nothing.
func (g *Gauge) missed(room int64) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.looked, g.at, g.room = true, g.clock.Now(), room
}

// level is the next level of a stream that was at another.
func level(was Level, entries, limit int64) Level {
	part := float64(entries) / float64(limit) * 100
	switch {
	case part >= 100, was == Full && part > openAt:
		return Full
	case part >= slowAt, was != Free && part >= freeBelow:
		return Slowed
	}
	return Free
}
