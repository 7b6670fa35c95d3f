package metrics

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/sandbox"
)

// The operations whose time is told, by their place in calls.
const (
	opAdmit = iota
	opBegin
	opRenew
	opSettle
	opTakeOver
	opClaim
	opSend
	ops
)

var opNames = [ops]string{"admit", "begin", "renew", "settle", "take_over", "claim", "send"}

// calls is how long the server takes to answer.
type calls struct {
	clock    clock.Clock
	children [ops]child

	mu     sync.Mutex
	spread [ops]spread
}

func newCalls(pipeline string, c clock.Clock) *calls {
	all := &calls{clock: c}
	for i, name := range opNames {
		all.children[i], all.spread[i] = operations.child("redis", name, pipeline), newSpread(callScale)
	}
	return all
}

func (c *calls) took(op int, since time.Time) {
	d := clock.Since(c.clock, since)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.spread[op].add(int64(d))
}

func (c *calls) collect(ch chan<- prometheus.Metric) {
	c.mu.Lock()
	defer c.mu.Unlock()
	for i := range c.spread {
		c.spread[i].send(ch, c.children[i])
	}
}

// Broker is the broker with the time of its answers measured: of what costs a
// round trip and does not wait for entries.
func (m *Metrics) Broker(b broker.Broker) broker.Broker { return &timed{b, m.calls} }

type timed struct {
	broker.Broker

	calls *calls
}

// Admit implements broker.Broker.
func (t *timed) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	defer t.calls.took(opAdmit, t.calls.clock.Now())
	return t.Broker.Admit(ctx, r)
}

// Begin implements broker.Broker.
func (t *timed) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	defer t.calls.took(opBegin, t.calls.clock.Now())
	return t.Broker.Begin(ctx, o, ids)
}

// Renew implements broker.Broker.
func (t *timed) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	defer t.calls.took(opRenew, t.calls.clock.Now())
	return t.Broker.Renew(ctx, o, ids)
}

// Settle implements broker.Broker.
func (t *timed) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	defer t.calls.took(opSettle, t.calls.clock.Now())
	return t.Broker.Settle(ctx, s)
}

// TakeOver implements broker.Broker.
func (t *timed) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	defer t.calls.took(opTakeOver, t.calls.clock.Now())
	return t.Broker.TakeOver(ctx, o, from, ids)
}

// AutoClaim implements broker.Broker.
func (t *timed) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	defer t.calls.took(opClaim, t.calls.clock.Now())
	return t.Broker.AutoClaim(ctx, r)
}

// Add implements broker.Broker.
func (t *timed) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	defer t.calls.took(opSend, t.calls.clock.Now())
	return t.Broker.Add(ctx, adds)
}

// handlerInstances counts those of a handler.
type handlerInstances struct{ alive atomic.Int64 }

// Handler is the handler of that label with its instances counted.
func (m *Metrics) Handler(label string, h sandbox.Handler) sandbox.Handler {
	if of := m.instances[label]; of != nil {
		return &countedHandler{h, of}
	}
	return h
}

// Handlers are handlers by their labels, with their instances counted.
func (m *Metrics) Handlers(byLabel map[string]sandbox.Handler) map[string]sandbox.Handler {
	all := make(map[string]sandbox.Handler, len(byLabel))
	for label, h := range byLabel {
		all[label] = m.Handler(label, h)
	}
	return all
}

type countedHandler struct {
	sandbox.Handler

	of *handlerInstances
}

// NewInstance implements sandbox.Handler.
func (h *countedHandler) NewInstance(ctx context.Context) (sandbox.Instance, error) {
	i, err := h.Handler.NewInstance(ctx)
	if err != nil {
		return nil, err
	}
	h.of.alive.Add(1)
	return &countedInstance{i, h.of}, nil
}

type countedInstance struct {
	sandbox.Instance

	of *handlerInstances
}

// Close implements sandbox.Instance. It is called once.
func (i *countedInstance) Close() {
	i.of.alive.Add(-1)
	i.Instance.Close()
}
