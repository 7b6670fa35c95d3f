package harness

import (
	"context"
	"fmt"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Func is a handler written in Go, for tests of the engine and for handlers that
// are replaced by something simple. It is called by one goroutine at a time; a
// panic is the failure that a crash of a script is.
type Func func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome

// NewInstance implements sandbox.Handler.
func (f Func) NewInstance(context.Context) (sandbox.Instance, error) { return funcInstance{f}, nil }

// Hash implements sandbox.Handler.
func (Func) Hash() string { return "go" }

// Close implements sandbox.Handler.
func (Func) Close() error { return nil }

type funcInstance struct{ f Func }

// Call implements sandbox.Instance.
func (i funcInstance) Call(ctx context.Context, d *sandbox.Delivery) (said outcome.Outcome, _ sandbox.Usage) {
	defer func() {
		if p := recover(); p != nil {
			said = outcome.Fail(outcome.FailCrash, fmt.Sprint("panic: ", p))
		}
	}()
	return i.f(ctx, d), sandbox.Usage{}
}

// Close implements sandbox.Instance.
func (funcInstance) Close() {}

// handler is a handler as one worker calls it.
type handler struct {
	worker *Worker
	label  string
	inner  sandbox.Handler
}

// NewInstance implements sandbox.Handler.
func (h *handler) NewInstance(ctx context.Context) (sandbox.Instance, error) {
	inner, err := h.inner.NewInstance(ctx)
	if err != nil {
		return nil, err
	}
	return &instance{handler: h, inner: inner}, nil
}

// Hash implements sandbox.Handler.
func (h *handler) Hash() string { return h.inner.Hash() }

// Close implements sandbox.Handler.
func (*handler) Close() error { return nil }

type instance struct {
	handler *handler
	inner   sandbox.Instance
}

// Close implements sandbox.Instance.
func (i *instance) Close() { i.inner.Close() }

// Call implements sandbox.Instance: it waits for its turn among all calls that
// can be made now, makes the call and writes it down.
func (i *instance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	w := i.handler.worker
	h := w.harness
	id, err := broker.ParseID(d.ID)
	if err != nil {
		return outcome.Fail(outcome.FailCrash, err.Error()), sandbox.Usage{}
	}
	ids := []broker.ID{id}
	h.turns.Yield(clock.Rank{
		Later: clock.LaterCall, First: id.Ms, Second: id.Seq, Third: uint64(h.order[d.Subscription])<<32 | uint64(w.number),
	})
	switch {
	case w.crashed || ctx.Err() != nil:
		return calledOff()
	case h.hit(Crash, BeforeRun, d.Subscription, ids) != nil:
		w.die()
		return calledOff()
	case w.stallsAt(BeforeRun, d.Subscription, ids) && (w.crashed || ctx.Err() != nil):
		return calledOff()
	}
	c := w.called(id, d)
	said, usage, over := i.slow(ctx, d, ids)
	if !over {
		said, usage = i.inner.Call(ctx, d)
	}
	if w.crashed {
		return calledOff()
	}
	c.returned(h, d, &said)
	if h.hit(Crash, AfterRun, d.Subscription, ids) != nil {
		w.die()
		return calledOff()
	}
	if w.stallsAt(AfterRun, d.Subscription, ids) && w.crashed {
		return calledOff()
	}
	return said, usage
}

func calledOff() (outcome.Outcome, sandbox.Usage) {
	return outcome.Fail(outcome.FailCanceled, "the call was called off"), sandbox.Usage{}
}

// slow takes the time that a fault says. over: that was too long, or the call
// was called off meanwhile.
func (i *instance) slow(
	ctx context.Context, d *sandbox.Delivery, ids []broker.ID,
) (said outcome.Outcome, usage sandbox.Usage, over bool) {
	f := i.handler.worker.harness.hit(Slow, "", d.Subscription, ids)
	if f == nil {
		return said, usage, false
	}
	limit := i.handler.timeout()
	if Sleep(ctx, min(f.For, limit)) != nil {
		said, usage = calledOff()
		return said, usage, true
	}
	if f.For < limit {
		return said, usage, false
	}
	return outcome.Fail(outcome.FailTimeout, fmt.Sprintf(
		"stopped after its time limit of %s; do less in one call, or raise limits.timeout of handler %q", limit, i.handler.label,
	)), usage, true
}

// timeout is the time limit of the handler.
func (h *handler) timeout() time.Duration {
	for _, s := range h.worker.harness.cfg.Pipeline.Handlers {
		if s.Label == h.label {
			return limitOf(s)
		}
	}
	for _, s := range h.worker.harness.cfg.Pipeline.Subscriptions() {
		if s.Handler.Label == h.label {
			return limitOf(s.Handler)
		}
	}
	return sandbox.DefaultTimeout
}

func limitOf(s *spec.Handler) time.Duration {
	return sandbox.Limits{Timeout: s.Limits.Timeout}.WithDefaults().Timeout
}
