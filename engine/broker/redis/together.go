package redis

import (
	"context"
	"sync"
)

// together sends calls of many goroutines as one pipeline: those that come while one
// is on its way go with the next. A process with a thousand subscriptions renews a
// thousand names and writes down a thousand floors; each by itself costs both sides
// several times as much in system calls and wakings as in work.
//
// It is for calls that nobody waits for, and that are right however often they are
// run: a connection that hangs makes all of a pipeline late.
type together struct {
	b *Broker

	mu      sync.Mutex
	waiting []*call
	// sending: a goroutine takes from waiting until nothing is left.
	sending bool
}

// call is one of the calls. Its list is not to be used again: it may be sent after
// whoever waited has left.
type call struct {
	ctx      context.Context //nolint:containedctx // it is asked once more before the call is sent
	script   *script
	list     []any
	answered chan struct{}
	value    any
	err      error
}

// perPipeline bounds how long the server is busy with one pipeline: some
// milliseconds.
const perPipeline = 64

// run is Broker.run for such a call. The wait ends with ctx, and a call that has not
// been sent by then is not sent.
func (t *together) run(ctx context.Context, s *script, list []any) (any, error) {
	c := &call{ctx: ctx, script: s, list: list, answered: make(chan struct{})}
	t.mu.Lock()
	t.waiting = append(t.waiting, c)
	if !t.sending {
		t.sending = true
		go t.send(context.WithoutCancel(ctx))
	}
	t.mu.Unlock()
	select {
	case <-c.answered:
		return c.value, c.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

// send sends what waits until nothing does.
func (t *together) send(ctx context.Context) {
	for calls := t.take(); len(calls) > 0; calls = t.take() {
		t.exchange(ctx, calls)
	}
}

// take takes the calls of one pipeline. After none the next call begins anew.
func (t *together) take() []*call {
	t.mu.Lock()
	defer t.mu.Unlock()
	n := min(len(t.waiting), perPipeline)
	calls := t.waiting[:n:n]
	if t.waiting = t.waiting[n:]; n == 0 {
		t.waiting, t.sending = nil, false
	}
	return calls
}

func (t *together) exchange(ctx context.Context, calls []*call) {
	ctx, cancel := context.WithTimeout(ctx, t.b.timeout)
	defer cancel()
	var p batch
	sent := calls[:0]
	for _, c := range calls {
		if c.ctx.Err() == nil {
			p.add(ctx, c.script, c.list)
			sent = append(sent, c)
		}
	}
	_ = t.b.send(ctx, &p) // each has its own answer
	for i, c := range sent {
		if c.err = p.cmds[i].Err(); c.err == nil {
			c.value = p.reply(i)
		}
		close(c.answered)
	}
}
