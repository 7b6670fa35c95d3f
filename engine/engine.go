// Package engine runs a pipeline: it reads entries of Redis streams through
// consumer groups, runs each through its handler and writes what the handler
// said, so that an entry is never lost, a reply never published twice and a
// live worker never robbed.
//
// # The way of an entry
//
// A read brings a batch. The dispatcher (engine/internal/reader) decodes it and
// splits it by key into shares, one for each lane. A lane (internal/lane) runs
// its share in order and writes beside each entry what is to become of it. The
// settler (internal/settle) gathers what lanes have finished and writes it in
// one pipeline: one XACK for plain acknowledgements, fenced scripts for
// replies, dead letters and entries that wait. Meanwhile the next read is under
// way. One hop a lane and batch, none an entry.
//
// What is unusual leaves this road: redelivered entries are checked against the
// server's records before they run, parked ones and those of dead consumers
// are fetched by the sweeper, leases are kept by the keeper (internal/lease).
//
// # Waiting
//
// Whatever waits in an engine waits through package clock, or asks it for the
// turn before it receives from a channel. In production that costs nothing; in
// engine/harness it makes the same pipeline run the same way every time. A new
// wait that does not is found there: Settle then says who never rests.
package engine

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"time"

	"pipeline/engine/backlog"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/trim"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// Engine runs one pipeline. Create it with New; its methods are safe for
// concurrent use, but Run may be called only once.
type Engine struct {
	cfg      Config
	handlers map[string]*handlerSlot
	server   *health.Server
	subs     []*subscription
	features broker.Server
	ready    chan struct{}
	reading  atomic.Int32
	// gauges measure the streams that replies may have to wait for, by their keys.
	gauges map[string]*backlog.Gauge
	// started is when Run was called.
	started time.Time
}

// handlerSlot holds the code of a handler; version tells lanes that it changed.
type handlerSlot struct {
	current atomic.Pointer[sandbox.Handler]
	version atomic.Uint64
}

// New checks the configuration and compiles what can be compiled. It reaches
// no server.
func New(cfg Config) (*Engine, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	if cfg.Broker == nil {
		return nil, fmt.Errorf("engine: no broker")
	}
	if cfg.Host == "" {
		host, err := os.Hostname()
		if err != nil {
			return nil, fmt.Errorf("engine: name of this machine: %w; set Host", err)
		}
		cfg.Host = host
	}
	e := &Engine{cfg: cfg, handlers: make(map[string]*handlerSlot), ready: make(chan struct{}), gauges: make(map[string]*backlog.Gauge)}
	e.server = health.New(cfg.Clock, cfg.Chance.Random, e.event)
	for label, h := range cfg.Handlers {
		slot := &handlerSlot{}
		slot.current.Store(&h)
		e.handlers[label] = slot
	}
	for _, s := range cfg.Pipeline.Subscriptions() {
		sub, err := newSubscription(e, s)
		if err != nil {
			return nil, err
		}
		e.subs = append(e.subs, sub)
	}
	if len(e.subs) == 0 {
		close(e.ready)
	}
	return e, nil
}

// Run runs the pipeline until ctx is canceled, then drains: nothing more is
// read, what was not started is handed back, running handlers get the
// pipeline's drain_timeout, and what they came to is settled. A server that is
// away, at the start or later, is waited for.
//
// It returns nil when everything in flight was settled; a *LeftError when
// something was left pending; an *UnsuitableError when the server lacks what the
// pipeline asks for; a *FailedError when every subscription failed for good. A
// subscription that fails alone is reported as an event and the others go on.
func (e *Engine) Run(ctx context.Context) error {
	e.started = e.cfg.Clock.Now()
	if err := e.prepare(ctx); err != nil {
		if ctx.Err() != nil {
			return nil
		}
		return err
	}
	e.tellEviction()
	run, stop := context.WithCancel(ctx)
	defer stop()
	var all, subs clock.Group
	all.Go(run, "trimmer", func() {
		trim.New(e.cfg.Pipeline, e.cfg.Broker, e.cfg.Clock, e.cfg.Chance.Random, e.server.Down, e.event).Run(run)
	})
	all.Go(run, "floors", func() { e.keepFloors(run) })
	for _, s := range e.subs {
		subs.Go(run, s.spec.Label, func() { s.run(run) })
	}
	subs.Wait(ctx)
	stop()
	all.Wait(ctx)
	return e.result()
}

// prepare waits for the server, asks what it can do, and creates the groups.
func (e *Engine) prepare(ctx context.Context) error {
	part := e.server.Part()
	defer part.Leave()
	for {
		err := e.tryPrepare(ctx)
		if err == nil {
			part.OK()
			return nil
		}
		if !broker.Transient(err) || ctx.Err() != nil {
			return err
		}
		part.Failed(err)
		if err := part.Wait(ctx); err != nil {
			return err
		}
	}
}

func (e *Engine) tryPrepare(ctx context.Context) error {
	server, err := e.cfg.Broker.Probe(ctx)
	if err != nil {
		return err
	}
	e.features = server
	for _, s := range e.subs {
		if err := Suits(s.spec, server); err != nil {
			return err
		}
	}
	for _, g := range e.cfg.Pipeline.Groups {
		if len(g.Subscriptions) == 0 {
			continue
		}
		created, err := e.cfg.Broker.CreateGroup(ctx, g.Stream.Name, g.Name, g.Start)
		if broker.Transient(err) {
			return err
		}
		if err != nil {
			e.failGroup(g.Label, absentGroup(err))
			continue
		}
		if created {
			e.event(observe.Event{
				Name: observe.EventGroupCreated, Level: sandbox.Info, Stream: g.Stream.Name, Group: g.Name,
				Message: "created the group at " + startWords(g.Start),
			})
		}
	}
	if e.cfg.BeforeReading != nil {
		return e.cfg.BeforeReading(ctx)
	}
	return nil
}

func startWords(start string) string {
	switch start {
	case "$":
		return "the end of the stream: it reads entries added from now on"
	case "0":
		return "the beginning of the stream"
	}
	return "entry " + start
}

// failGroup ends the subscriptions of a group that cannot be created, or whose floor
// cannot be written down.
func (e *Engine) failGroup(label string, err error) {
	for _, s := range e.subs {
		if s.spec.Group.Label == label {
			s.fail(err)
		}
	}
}

// result is what Run returns once all subscriptions have ended.
func (e *Engine) result() error {
	var failed []Failed
	var left []Left
	for _, s := range e.subs {
		if err := s.failure(); err != nil {
			failed = append(failed, Failed{Subscription: s.spec.Label, Err: err})
		}
		if n := s.left.Load(); n > 0 {
			left = append(left, Left{Subscription: s.spec.Label, Count: int(n)})
		}
	}
	switch {
	case len(e.subs) > 0 && len(failed) == len(e.subs):
		return &FailedError{Failed: failed}
	case len(left) > 0:
		return &LeftError{Left: left}
	}
	return nil
}

// Ready is closed once every subscription has begun to read or has failed:
// entries added from then on are seen by every group, whatever its start.
func (e *Engine) Ready() <-chan struct{} { return e.ready }

// began counts the subscriptions that read or failed.
func (e *Engine) began() {
	if int(e.reading.Add(1)) == len(e.subs) {
		close(e.ready)
	}
}

// Replace gives a handler new code. Calls under way finish with the old one;
// every worker takes the new one before its next entry.
func (e *Engine) Replace(label string, h sandbox.Handler) error {
	slot := e.handlers[label]
	if slot == nil {
		return fmt.Errorf("engine: no handler %s", label)
	}
	slot.current.Store(&h)
	slot.version.Add(1)
	e.event(observe.Event{
		Name: observe.EventHandlerChanged, Level: sandbox.Info,
		Message: "handler " + label + " has new code " + h.Hash(),
	})
	return nil
}

// event completes an event and tells the observer and the log.
func (e *Engine) event(ev observe.Event) {
	ev.Time = e.cfg.Clock.Now()
	e.cfg.Observer.Event(ev)
	logEvent(e.cfg.Logger, ev)
}
