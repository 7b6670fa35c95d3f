package sandboxtest

import (
	"context"
	"runtime"
	"sync"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// pause is what the neighbour waits between two calls: as many as a busy
// subscription makes, and no more, so that the attack has a processor too.
const pause = 200 * time.Microsecond

// pace is how the neighbour does over some time.
type pace struct {
	Calls, Harmed int64
	// Slowest is the longest from the start of a call to the next. Elapsed is
	// without the time in which others had the processors.
	Slowest, Elapsed time.Duration
}

func (p *pace) add(o pace) {
	p.Calls, p.Harmed, p.Elapsed = p.Calls+o.Calls, p.Harmed+o.Harmed, p.Elapsed+o.Elapsed
	p.Slowest = max(p.Slowest, o.Slowest)
}

func (p pace) since(o pace) pace {
	p.Calls, p.Harmed, p.Elapsed = p.Calls-o.Calls, p.Harmed-o.Harmed, p.Elapsed-o.Elapsed
	return p
}

// rate is in calls a second.
func (p pace) rate() float64 {
	if p.Elapsed == 0 {
		return 0
	}
	return float64(p.Calls) / p.Elapsed.Seconds()
}

// neighbour is a healthy handler in the same process.
type neighbour struct {
	mu    sync.Mutex
	seen  pace
	watch stopwatch
	quit  chan struct{}
	done  sync.WaitGroup
}

func (s Suite) startNeighbour() *neighbour {
	n := &neighbour{quit: make(chan struct{})}
	h, err := s.Engine.Compile(sandbox.Spec{
		Label: "healthy", Source: sandbox.Source{Name: s.Engine.File, Code: s.Healthy}, Function: "handle",
	})
	if err != nil {
		panic(err)
	}
	in, err := h.NewInstance(context.Background())
	if err != nil {
		panic(err)
	}
	ready := make(chan struct{})
	n.done.Go(func() {
		runtime.LockOSThread()
		defer in.Close()
		n.watch = newStopwatch(openQueue())
		close(ready)
		n.run(in)
	})
	<-ready
	return n
}

func (n *neighbour) run(in sandbox.Instance) {
	c, d := clock.Real(), Delivery(HealthyBody)
	last := c.Now()
	for {
		select {
		case <-n.quit:
			return
		default:
		}
		out, _ := in.Call(context.Background(), d)
		well := out.Kind == outcome.Reply && out.Replies[0].Body.Get("id").Text() == d.Body.Get("id").Text()
		_ = clock.Sleep(context.Background(), c, pause)
		now := c.Now()
		n.mu.Lock()
		n.seen.Calls++
		if !well {
			n.seen.Harmed++
		}
		n.seen.Slowest = max(n.seen.Slowest, now.Sub(last))
		n.mu.Unlock()
		last = now
	}
}

// pace is how it has done so far. The slowest call counts anew from here.
func (n *neighbour) pace() pace {
	n.mu.Lock()
	defer n.mu.Unlock()
	p := n.seen
	p.Elapsed = n.watch.took()
	n.seen.Slowest = 0
	return p
}

func (n *neighbour) stop() {
	close(n.quit)
	n.done.Wait()
}

// Delivery is a delivery with that body, JSON; an empty body is {}.
func Delivery(body string) *sandbox.Delivery {
	if body == "" {
		body = "{}"
	}
	v, err := value.ParseJSON(body, nil)
	if err != nil {
		panic(err)
	}
	return &sandbox.Delivery{
		ID: "1700000000000-0", Stream: "payments", Group: "ledger", Subscription: "s", Key: "acct-1",
		Headers: []outcome.Header{{Name: "correlation-id", Value: "c-1"}},
		Fields:  []outcome.Header{{Name: "_payload", Value: body}},
		Attempt: 1, MaxAttempts: 5, Now: time.UnixMilli(1_700_000_000_500), Replies: true, Body: &v, Raw: body,
	}
}
