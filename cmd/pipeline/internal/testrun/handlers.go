package testrun

import (
	"context"
	"fmt"
	"sync"

	"pipeline/engine"
	"pipeline/engine/outcome"
	"pipeline/lang/testspec"
	"pipeline/sandbox"
)

// logs is the host of all compiled code. It gives each line to the keeper of
// the test in whose call it was written.
type logs struct{ calls sync.Map }

// Log implements sandbox.Host. Lines of a script that is being loaded belong to
// no call, and are dropped.
func (l *logs) Log(d *sandbox.Delivery, line sandbox.LogLine) {
	if d == nil {
		return
	}
	if keeper, ok := l.calls.Load(d); ok {
		keeper.(*engine.LogKeeper).Log(d, line)
	}
}

// handler is a handler in one test: its mocks, then its code.
type handler struct {
	label string
	code  sandbox.Handler
	logs  *logs
	keep  *engine.LogKeeper
	// slow is told of a call that took RealLimit.
	slow func(label string)
	// life is done when the test is given up.
	life context.Context

	mu    sync.Mutex
	mocks []mock
}

// mock is a mock that has calls left to answer; left is 0 for one that answers
// every call.
type mock struct {
	*testspec.Mock

	left int
}

func (h *handler) mocked(m *testspec.Mock) { h.mocks = append(h.mocks, mock{m, m.Times}) }

// NewInstance implements sandbox.Handler.
func (h *handler) NewInstance(ctx context.Context) (sandbox.Instance, error) {
	code, err := h.code.NewInstance(ctx)
	if err != nil {
		return nil, err
	}
	return &instance{h, code}, nil
}

// Hash implements sandbox.Handler.
func (h *handler) Hash() string { return h.code.Hash() }

// Close implements sandbox.Handler: the code is shared.
func (*handler) Close() error { return nil }

// answer is what the mocks say to the next call.
func (h *handler) answer() (outcome.Outcome, bool) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if len(h.mocks) == 0 {
		return outcome.Outcome{}, false
	}
	m := &h.mocks[0]
	said := says(m.Mock)
	if m.left > 0 {
		if m.left--; m.left == 0 {
			h.mocks = h.mocks[1:]
		}
	}
	return said, true
}

// instance is an instance of a handler in one test.
type instance struct {
	handler *handler
	code    sandbox.Instance
}

// Close implements sandbox.Instance.
func (i *instance) Close() { i.code.Close() }

// Call implements sandbox.Instance.
func (i *instance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	h := i.handler
	if said, ok := h.answer(); ok {
		return said, sandbox.Usage{}
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(h.life, cancel)()
	h.keep.Take(d) // what a worker wrote that died meanwhile
	h.logs.calls.Store(d, h.keep)
	defer h.logs.calls.Delete(d)
	said, usage := i.code.Call(ctx, d)
	switch {
	case h.life.Err() != nil:
		// A call that was called off would be made again at once.
		return outcome.Fail(outcome.FailError, "the test was given up"), usage
	case said.Failure != nil && said.Failure.Kind == outcome.FailTimeout:
		h.slow(h.label)
	}
	return said, usage
}

// says is what a mock says.
func says(m *testspec.Mock) outcome.Outcome {
	o := outcome.Outcome{After: m.After, HasAfter: m.HasAfter, Reason: m.Reason}
	switch m.Outcome {
	case testspec.SaysAck:
		o.Kind = outcome.Ack
	case testspec.SaysRetry:
		o.Kind = outcome.Retry
	case testspec.SaysDead:
		o.Kind = outcome.Dead
	case testspec.SaysDrop:
		o.Kind = outcome.Drop
	case testspec.SaysReply:
		o.Kind = outcome.Reply
		o.Replies = []outcome.Message{{
			To: m.Reply.To, Key: m.Reply.Key, HasKey: m.Reply.HasKey, Headers: m.Reply.Headers, Body: m.Reply.Body,
		}}
	case testspec.SaysFailed:
		return outcome.Fail(outcome.FailError, m.Error)
	default:
		return outcome.Fail(outcome.FailError, fmt.Sprintf("a mock says %q, which is no outcome", m.Outcome))
	}
	return o
}
