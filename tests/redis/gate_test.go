package redis_test

import (
	"context"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// gate is a handler that works until the test lets it go on, and then replies
// with the n of its entry.
type gate struct {
	// entered receives a value for each call that has begun.
	entered chan struct{}
	// open lets every call end.
	open  chan struct{}
	calls atomic.Int64
	// canceled counts the calls that were called off.
	canceled atomic.Int64
}

func newGate() *gate { return &gate{entered: make(chan struct{}, 1000), open: make(chan struct{})} }

// begun waits until one more call has begun.
func (g *gate) begun(t *testing.T) {
	t.Helper()
	select {
	case <-g.entered:
	case <-time.After(patience):
		t.Fatalf("the handler is not called again; it was %d times", g.calls.Load())
	}
}

func (g *gate) NewInstance(context.Context) (sandbox.Instance, error) { return gateInstance{g}, nil }
func (*gate) Hash() string                                            { return "gate" }
func (*gate) Close() error                                            { return nil }

type gateInstance struct{ *gate }

func (gateInstance) Close() {}

func (g gateInstance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	g.calls.Add(1)
	g.entered <- struct{}{}
	select {
	case <-g.open:
	case <-ctx.Done():
		g.canceled.Add(1)
		return outcome.Fail(outcome.FailCanceled, "called off"), sandbox.Usage{}
	}
	n := *d.Body.Get("n")
	body := value.NewObject([]value.Value{n.Named("n")})
	return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: body}}}, sandbox.Usage{}
}
