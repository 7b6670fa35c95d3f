package harness

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Worker is one worker process.
type Worker struct {
	harness       *Harness
	number        int
	name, machine string
	pipeline      *spec.Pipeline
	engine        *engine.Engine
	// clock shows the time of all while the worker lives, and its own afterwards.
	clock *clock.Virtual
	// end is the signal to drain.
	end context.CancelFunc
	// ended: its Run returned err. crashed: it died. replaced: by Revive.
	ended, crashed, replaced bool
	err                      error
	// stalled: its goroutines and its clock stand still, until wake if that is set.
	stalled bool
	wake    clock.Timer
	stalls  []Pause
	// skew is how far its wall clock is from everybody's.
	skew time.Duration
	// consumers are its names by subscription, open the calls that are not
	// settled yet; last is what its last settlement in each subscription wrote.
	consumers map[string]string
	open      map[callKey]*Call
	last      map[callKey]bool
	// received is what the server delivered, by subscription; messages is how many
	// it wrote for outcomes of all.
	received map[string]int64
	messages int64
}

// workerKey finds the worker in the context of its goroutines.
type workerKey struct{}

// Name is "worker1" for the first one.
func (w *Worker) Name() string { return w.name }

// Alive reports whether it neither crashed nor stopped.
func (w *Worker) Alive() bool { return !w.ended && !w.crashed }

// Crashed reports whether it died of a fault or of Kill.
func (w *Worker) Crashed() bool { return w.crashed }

// Snapshot is the engine's view of itself.
func (w *Worker) Snapshot() engine.Snapshot { return w.engine.Snapshot() }

// Consumer is its consumer name in a subscription; empty where it has none.
func (w *Worker) Consumer(subscription string) string { return w.consumers[subscription] }

// Replace gives one of its handlers new code: see engine.Engine.Replace.
func (w *Worker) Replace(label string, code sandbox.Handler) error {
	return w.engine.Replace(label, &handler{worker: w, label: label, inner: code})
}

// Kill is kill -9: the worker is dead from now on.
func (w *Worker) Kill(ctx context.Context) error {
	if !w.ended {
		w.die()
	}
	return w.harness.Settle(ctx)
}

// Stop drains the worker and returns what its Run said: nil, or an
// *engine.LeftError where something was left pending. Time passes if handlers
// need it. A worker that is gone already is no error; one that is stalled hears of
// it when it goes on.
func (w *Worker) Stop(ctx context.Context) error {
	h := w.harness
	if w.crashed {
		return h.Settle(ctx)
	}
	w.end()
	limit := h.Now().Add(w.pipeline.DrainTimeout + stopGrace)
	if err := h.run(ctx, func() bool { return !w.ended && h.fire(limit) }); err != nil {
		return err
	}
	if !w.ended {
		return fmt.Errorf("stop %s: it still runs %v after its drain_timeout: %s",
			w.name, stopGrace, strings.Join(h.turns.Names(), ", "))
	}
	if w.crashed {
		return nil
	}
	return w.err
}

// stopGrace is how long after the drain_timeout an engine may settle and leave.
const stopGrace = time.Minute

// die kills the worker. It is called at rest or by who has the turn.
func (w *Worker) die() {
	w.crashed = true
	w.goOn()
	w.end()
	names := make(map[string]bool, len(w.consumers))
	for _, name := range w.consumers {
		names[name] = true
	}
	w.harness.server.DisconnectIf(func(o broker.Owner) bool { return names[o.Consumer] })
	for _, c := range w.open {
		if !c.Settled {
			c.Outcome = Crashed
		}
	}
}

// named writes down the name that a session got with its slot.
func (w *Worker) named(r broker.SlotRequest, slot int) {
	if label, ok := w.harness.tokens[r.Token]; ok { // else it is not for a name
		w.consumers[label] = r.Base + "-" + strconv.Itoa(slot) + "." + r.Token
	}
}

// newEngine makes the engine of a worker.
func (h *Harness) newEngine(w *Worker) (*engine.Engine, error) {
	handlers := make(map[string]sandbox.Handler, len(h.cfg.Handlers))
	for label, inner := range h.cfg.Handlers {
		if inner != nil {
			handlers[label] = &handler{worker: w, label: label, inner: inner}
		}
	}
	var server broker.Broker = &link{server: h.server, worker: w}
	if h.cfg.Wrap != nil {
		server = h.cfg.Wrap(w.name, server)
	}
	return engine.New(engine.Config{
		Pipeline: w.pipeline, Broker: counter{server, w}, Handlers: handlers,
		Clock: ticking{w.clock, w}, Observer: observer{w}, Host: w.machine,
		Chance: engine.Chance{Token: h.token, Random: h.random, FixedLanes: true},
	})
}

// random is Config.Random.
func (h *Harness) random() float64 {
	if h.cfg.Random == nil {
		return 0.5
	}
	return h.cfg.Random()
}

// token gives consumer names their last part: numbers in the order in which
// sessions start.
func (h *Harness) token(subscription string) string {
	token := strconv.Itoa(len(h.tokens) + 1)
	h.tokens[token] = subscription
	return token
}

// subscription is whose consumer has the name.
func (h *Harness) subscription(consumer string) string {
	return h.tokens[consumer[strings.LastIndexByte(consumer, '.')+1:]]
}

// observer writes down what a worker tells, until it is dead.
type observer struct{ worker *Worker }

// Settled implements observe.Observer. A dead worker is heard where its last
// settlement was written.
func (o observer) Settled(s *spec.Subscription, outcomes []observe.Outcome) {
	for i := range outcomes {
		o.worker.settled(s, &outcomes[i])
	}
}

// Event implements observe.Observer.
func (o observer) Event(e observe.Event) {
	if !o.worker.crashed {
		o.worker.harness.events = append(o.worker.harness.events, Event{Worker: o.worker.name, At: o.worker.harness.Now(), Event: e})
	}
}

// ticking is a worker's clock. What is due at once is due a nanosecond later:
// it is fired by who moves the clock, as everything else.
type ticking struct {
	*clock.Virtual

	worker *Worker
}

// Now implements clock.Clock: what the worker's wall clock shows.
func (t ticking) Now() time.Time {
	now := t.Virtual.Now()
	if t.worker.harness.cfg.Monotonic {
		return reading(now.Add(t.worker.skew), now.Sub(DefaultStart))
	}
	return now.Add(t.worker.skew)
}

// AfterFunc implements clock.Clock.
func (t ticking) AfterFunc(d time.Duration, f func()) clock.Timer {
	return t.Virtual.AfterFunc(max(d, 1), f)
}

// Sleep lets a handler written in Go take d of the harness's time. It returns an
// error when the handler is called off meanwhile, or its worker died: the handler
// must then return. ctx is the one of its call.
func Sleep(ctx context.Context, d time.Duration) error {
	w := WorkerOf(ctx)
	if w == nil {
		return fmt.Errorf("sleep %v: the context is not that of a handler in a harness", d)
	}
	err := clock.Sleep(ctx, ticking{w.clock, w}, d)
	if w.crashed {
		return errDead
	}
	return err
}

// errDead keeps a handler from going on in a dead worker.
var errDead = errors.New("the worker is dead")
