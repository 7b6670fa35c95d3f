// Package poll watches the streams, groups and dead letters of a pipeline from
// outside: what the server knows of them, whoever works on them. There is one
// Poller in a process. Metrics, the terminal and pages read what it found last, so
// that any number of them cost the server no more than one does.
//
// It asks only what is cheap however much is pending (broker.Broker's Survey), and
// changes nothing. It needs no engine: it works where no worker runs.
package poll

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
)

// Every is how often the server is asked, give or take a tenth, so that many
// processes do not ask it at once.
const Every = 5 * time.Second

// Patience is how long one look may take. The server counts as away after it.
const Patience = 10 * time.Second

// settling is how long Run waits before a look that Soon asked for: what changes, such
// as groups that are created, seldom changes alone.
const settling = 200 * time.Millisecond

// Server is what of a broker is needed.
type Server interface {
	Survey(ctx context.Context, asks []broker.Ask) (broker.Survey, error)
}

// Poller asks the server and remembers what it said. It is safe for concurrent
// use.
type Poller struct {
	server Server
	clock  clock.Clock
	random func() float64
	// plan is what is asked about, streams what the answers are about.
	plan    []broker.Ask
	streams []Stream

	// looking is held by who asks.
	looking clock.Mutex
	latest  atomic.Pointer[Snapshot]

	mu      sync.Mutex
	history history
	changed chan struct{}
	// soon is closed where another look is wanted, which wished says as well.
	soon   chan struct{}
	wished bool
}

// New returns a poller that has asked nothing yet. random, in [0, 1), spreads its
// times.
func New(p *spec.Pipeline, s Server, c clock.Clock, random func() float64) *Poller {
	o := &Poller{server: s, clock: c, random: random, changed: make(chan struct{}), soon: make(chan struct{})}
	o.streams, o.plan = outline(p)
	o.latest.Store(&Snapshot{Streams: o.streams})
	return o
}

// Run asks the server at once and then every few seconds, or sooner where Soon was
// called, until ctx is done.
func (p *Poller) Run(ctx context.Context) {
	for ctx.Err() == nil {
		p.Once(ctx)
		p.pause(ctx)
	}
}

// pause waits until it is time for the next look, or ctx is done.
func (p *Poller) pause(ctx context.Context) {
	p.mu.Lock()
	soon := p.soon
	p.mu.Unlock()
	if woken, _ := clock.Nap(ctx, p.clock, time.Duration((0.9+0.2*p.random())*float64(Every)), soon); woken {
		_ = clock.Sleep(ctx, p.clock, settling)
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.wished { // what changed meanwhile is seen by the look to come
		p.soon, p.wished = make(chan struct{}), false
	}
}

// Soon has Run look again within a moment: something has changed of which people would
// otherwise see for seconds how it was. It returns at once.
func (p *Poller) Soon() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.wished {
		p.wished = true
		close(p.soon)
	}
}

// Once asks the server now and returns what is known then. Where the server did
// not answer, Err says why and the rest is as old as it says.
func (p *Poller) Once(ctx context.Context) *Snapshot {
	p.looking.Lock(ctx)
	defer p.looking.Unlock()
	within, cancel := context.WithTimeout(ctx, Patience)
	defer cancel()
	found, err := p.server.Survey(within, p.plan)
	if err != nil && ctx.Err() != nil {
		return p.Latest() // it was not the server that ended it
	}
	before, now := p.Latest(), p.clock.Now()
	next := &Snapshot{Asked: now, Answered: before.Answered, Server: before.Server, Err: err, Streams: before.Streams}
	if err == nil {
		next.Answered, next.Server = now, found.Time
		next.Streams = fill(p.streams, &found)
	}
	p.latest.Store(next)
	p.mu.Lock()
	defer p.mu.Unlock()
	p.history.add(pointOf(next))
	close(p.changed)
	p.changed = make(chan struct{})
	return next
}

// Latest is what was found last; it is never nil. Before the first look nothing in
// it is known. It is shared and must not be changed.
func (p *Poller) Latest() *Snapshot { return p.latest.Load() }

// Changed is closed when the next look has ended, whatever it found.
func (p *Poller) Changed() <-chan struct{} {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.changed
}

// History is one point for each look of the last hour, oldest first. The points
// are shared and must not be changed.
func (p *Poller) History() []*Point {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.history.points()
}
