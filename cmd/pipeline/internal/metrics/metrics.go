// Package metrics counts what a process does and shows what a pipeline's streams
// look like, as Prometheus reads it. The names of what OpenTelemetry names are
// those of its semantic conventions for messaging (1.44, status Development), as
// Prometheus writes them; everything else begins with pipeline_.
//
// Nothing is made for an entry: the series of a pipeline are known when it is
// loaded, and counting an entry adds whole numbers under a lock that is taken once
// a settlement.
package metrics

import (
	"context"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pipeline/engine"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// Build says which program it is.
type Build struct{ Version, Revision string }

// State is what the process is about.
type State string

// The states.
const (
	Starting   State = "starting"
	Running    State = "running"
	Draining   State = "draining"
	Monitoring State = "monitoring"
)

var states = []State{Starting, Running, Draining, Monitoring}

// Engine is what is asked of one.
type Engine interface {
	Snapshot() engine.Snapshot
	// Ready is closed once every subscription reads or has failed.
	Ready() <-chan struct{}
}

// Metrics are those of one process. It is an observe.Observer, passes everything
// on to the next one, and a prometheus.Collector. It is safe for concurrent use.
type Metrics struct {
	pipeline *spec.Pipeline
	clock    clock.Clock
	next     observe.Observer
	subs     []*subscription
	bySpec   map[*spec.Subscription]*subscription
	byLabel  map[string]*subscription

	engine atomic.Pointer[Engine]
	poller *poll.Poller
	state  atomic.Pointer[State]
	// beat is when the engine could last be looked at, in nanoseconds.
	beat       atomic.Int64
	reconnects atomic.Int64
	// spans is how many were dropped; nil where none are exported.
	spans func() int64
	// untrimmed are the streams, by their keys, whose trimming was refused.
	untrimmed map[string]*atomic.Bool

	calls     *calls
	instances map[string]*handlerInstances
	children  processChildren
}

// processChildren are the series that are not of a subscription.
type processChildren struct {
	build, up, reconnects, spans child
	states                       []child
	sent                         map[string]child
	untrimmed                    map[string]child
	failures                     map[string][]child
	memory                       map[string]child
	instances                    map[string][2]child
	streams                      []streamChildren
}

// New returns the metrics of a pipeline, without a worker or a poller. next is told
// everything that the observer is.
func New(p *spec.Pipeline, c clock.Clock, b Build, next observe.Observer) *Metrics {
	m := &Metrics{
		pipeline: p, clock: c, next: next, bySpec: map[*spec.Subscription]*subscription{}, byLabel: map[string]*subscription{},
		calls: newCalls(p.Name, c), instances: map[string]*handlerInstances{}, untrimmed: map[string]*atomic.Bool{},
	}
	for _, s := range p.Subscriptions() {
		sub := newSubscription(p.Name, s)
		m.subs = append(m.subs, sub)
		m.bySpec[s], m.byLabel[s.Label] = sub, sub
	}
	m.SetState(Starting)
	m.Beat()
	m.name(b)
	return m
}

// name makes the series of the process.
func (m *Metrics) name(b Build) {
	p := m.pipeline
	c := &m.children
	c.build = buildInfo.child(b.Version, b.Revision, runtime.Version())
	c.up, c.reconnects, c.spans = redisUp.child(p.Name), reconnects.child(p.Name), spansDropped.child(p.Name)
	for _, s := range states {
		c.states = append(c.states, state.child(p.Name, string(s)))
	}
	c.sent, c.failures = map[string]child{}, map[string][]child{}
	c.memory, c.instances = map[string]child{}, map[string][2]child{}
	destination := func(s *spec.Stream) { c.sent[s.Name] = sent.child("redis", s.Name, p.Name) }
	for _, sub := range m.subs {
		destination(sub.spec.Group.DeadLetter)
		if r := sub.spec.Reply; r != nil {
			destination(r.To)
		}
		for _, r := range sub.spec.Routes {
			destination(r.To)
		}
		h := sub.spec.Handler
		if _, known := c.memory[h.Label]; known {
			continue
		}
		for _, k := range kinds {
			c.failures[h.Label] = append(c.failures[h.Label], failures.child(p.Name, h.Label, string(k)))
		}
		c.memory[h.Label] = memory.child(p.Name, h.Label)
		c.instances[h.Label] = [2]child{
			instances.child(p.Name, h.Label, engineOf(h), "busy"), instances.child(p.Name, h.Label, engineOf(h), "idle"),
		}
		m.instances[h.Label] = &handlerInstances{}
	}
	c.untrimmed = map[string]child{}
	for _, s := range p.Streams {
		if s.Retention != nil {
			c.untrimmed[s.Name], m.untrimmed[s.Name] = trimRefused.child(p.Name, s.Name), &atomic.Bool{}
		}
	}
	c.streams = nameStreams(p)
}

// Watch has the metrics of an engine shown. Before, and without, there are none of
// what it does now.
func (m *Metrics) Watch(e Engine) { m.engine.Store(&e) }

// Poll has the metrics of streams and groups shown that a poller finds. Call it
// before anything is collected.
func (m *Metrics) Poll(p *poll.Poller) { m.poller = p }

// Spans has shown how many spans were dropped. Call it before anything is collected.
func (m *Metrics) Spans(dropped func() int64) { m.spans = dropped }

// SetState says what the process is about now.
func (m *Metrics) SetState(s State) { m.state.Store(&s) }

// State is what was said last, or Running once an engine that is watched has
// started.
func (m *Metrics) State() State {
	s := *m.state.Load()
	e := m.engine.Load()
	if s != Starting || e == nil {
		return s
	}
	select {
	case <-(*e).Ready():
		return Running
	default:
		return s
	}
}

// Settled implements observe.Observer.
func (m *Metrics) Settled(s *spec.Subscription, outcomes []observe.Outcome) {
	if sub := m.bySpec[s]; sub != nil {
		sub.settled(outcomes, m.clock.Now())
	}
	m.next.Settled(s, outcomes)
}

// Event implements observe.Observer.
func (m *Metrics) Event(e observe.Event) {
	switch e.Name {
	case observe.EventServerBack:
		m.reconnects.Add(1)
	case observe.EventTrimRefused:
		if at := m.untrimmed[e.Stream]; at != nil {
			at.Store(true)
		}
	}
	if sub := m.byLabel[e.Subscription]; sub != nil {
		sub.event(&e)
	}
	m.next.Event(e)
}

// What workers do is looked at every tenth of a second, or, with more than a hundred
// subscriptions, a thousand times a second in all: a look takes every lock of a
// subscription. It is not rarer than once a second.
const (
	sampling       = 100 * time.Millisecond
	looksPerSecond = 1000
	rarest         = time.Second
)

// between is how long it is between two looks at so many subscriptions.
func between(subscriptions int) time.Duration {
	return min(rarest, max(sampling, time.Duration(subscriptions)*time.Second/looksPerSecond))
}

// Run looks at the engine now and then, until ctx is done: at what its workers do,
// and whether that can be seen at all.
func (m *Metrics) Run(ctx context.Context) {
	last, every := m.clock.Now(), between(len(m.subs))
	for clock.Sleep(ctx, m.clock, every) == nil {
		now := m.clock.Now()
		m.sample(min(now.Sub(last), 2*rarest))
		last = now
	}
}

// sample counts a while of the workers' time. What is beyond two seconds is time in
// which the whole process stood still.
func (m *Metrics) sample(d time.Duration) {
	if e := m.engine.Load(); e != nil {
		snap := (*e).Snapshot()
		for i := range snap.Subscriptions {
			if sub := m.byLabel[snap.Subscriptions[i].Label]; sub != nil {
				sub.spent(&snap.Subscriptions[i], d)
			}
		}
	}
	m.Beat()
}

// Beat notes that the process goes on.
func (m *Metrics) Beat() { m.beat.Store(m.clock.Now().UnixNano()) }

// LastBeat is when the engine could last be looked at, which takes every lock in
// it: it stands still when the engine does.
func (m *Metrics) LastBeat() time.Time { return time.Unix(0, m.beat.Load()) }

// Describe implements prometheus.Collector.
func (m *Metrics) Describe(ch chan<- *prometheus.Desc) {
	for _, f := range families {
		ch <- f.desc
	}
}

// Collect implements prometheus.Collector.
func (m *Metrics) Collect(ch chan<- prometheus.Metric) {
	c := &m.children
	c.build.send(ch, 1)
	for i, s := range states {
		c.states[i].send(ch, boolean(s == m.State()))
	}
	m.streams(ch)
	if m.spans != nil {
		c.spans.send(ch, float64(m.spans()))
	}
	e := m.engine.Load()
	if e == nil {
		return
	}
	c.reconnects.send(ch, float64(m.reconnects.Load()))
	for stream, child := range c.untrimmed {
		child.send(ch, boolean(m.untrimmed[stream].Load()))
	}
	for _, sub := range m.subs {
		sub.collect(ch)
	}
	m.calls.collect(ch)
	m.totals(ch, (*e).Snapshot())
}

// totals sends what subscriptions share: handlers and destinations, and what the
// engine says of itself.
func (m *Metrics) totals(ch chan<- prometheus.Metric, snap engine.Snapshot) {
	c := &m.children
	busy := map[string]int64{}
	for i := range snap.Subscriptions {
		now := &snap.Subscriptions[i]
		sub := m.byLabel[now.Label]
		sub.live(ch, now)
		busy[sub.spec.Handler.Label] += int64(now.Busy)
	}
	sent, failed, most := map[string]int64{}, map[string][]int64{}, map[string]int64{}
	for _, sub := range m.subs {
		sub.share(sent, failed, most)
	}
	for stream, child := range c.sent {
		child.send(ch, float64(sent[stream]))
	}
	for handler, counts := range failed {
		for i, n := range counts {
			c.failures[handler][i].send(ch, float64(n))
		}
		c.memory[handler].send(ch, float64(most[handler]))
		alive := m.instances[handler].alive.Load()
		running := min(busy[handler], alive)
		c.instances[handler][0].send(ch, float64(running))
		c.instances[handler][1].send(ch, float64(alive-running))
	}
}

// share adds what the subscription has in common with others.
func (s *subscription) share(sent map[string]int64, failed map[string][]int64, most map[string]int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for stream, n := range s.sent {
		sent[stream] += n
	}
	h := s.spec.Handler.Label
	if failed[h] == nil {
		failed[h] = make([]int64, len(kinds))
	}
	for i, n := range s.kinds {
		failed[h][i] += n
	}
	most[h] = max(most[h], s.memory)
}

func boolean(b bool) float64 {
	if b {
		return 1
	}
	return 0
}

var (
	_ observe.Observer     = (*Metrics)(nil)
	_ prometheus.Collector = (*Metrics)(nil)
)
