package engine_test

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// epoch is when every test begins.
var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// function is a handler in Go.
type function func(d *sandbox.Delivery) outcome.Outcome

func (f function) NewInstance(context.Context) (sandbox.Instance, error) { return instance{f}, nil }
func (function) Hash() string                                            { return "go" }
func (function) Close() error                                            { return nil }

type instance struct{ f function }

func (i instance) Call(_ context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	return i.f(d), sandbox.Usage{}
}
func (instance) Close() {}

func ack(*sandbox.Delivery) outcome.Outcome { return outcome.Outcome{Kind: outcome.Ack} }

func broken(*sandbox.Delivery) outcome.Outcome { return outcome.Fail(outcome.FailError, "boom") }

// bench is an engine on a memory broker and a clock that stands still.
type bench struct {
	t      *testing.T
	clock  *clock.Virtual
	broker *memory.Broker
	engine *engine.Engine
	// sub is the only subscription, stream "in", group "g".
	sub *spec.Subscription
	// others are further groups.
	others []*spec.Group
	// tracer is nil where no spans are made.
	tracer observe.Tracer
	log    *journal
	ran    sync.WaitGroup
	end    context.CancelFunc
	err    error
}

// newBench starts an engine with one subscription, which change may alter.
func newBench(t *testing.T, o memory.Options, handle function, change func(*spec.Subscription)) *bench {
	return newTraced(t, nil, o, handle, change)
}

// newTraced is newBench with a tracer.
func newTraced(t *testing.T, tracer observe.Tracer, o memory.Options, handle function, change func(*spec.Subscription)) *bench {
	b := &bench{t: t, clock: clock.NewVirtual(epoch), tracer: tracer}
	b.broker = memory.New(b.clock, o)
	b.log = &journal{clock: b.clock}
	b.sub = subscription()
	if change != nil {
		change(b.sub)
	}
	b.start(handle)
	t.Cleanup(func() {
		b.stop()
		_ = b.broker.Close()
	})
	return b
}

func subscription() *spec.Subscription {
	g := &spec.Group{
		Label: "g", Name: "g", Start: "0",
		Stream:     &spec.Stream{Label: "in", Name: "in", Codec: spec.CodecJSON, Body: spec.DefaultBody},
		DeadLetter: &spec.Stream{Label: "dead", Name: "dead", Codec: spec.CodecJSON, Body: spec.DefaultBody},
	}
	s := &spec.Subscription{
		Label: "s", Group: g, Handler: &spec.Handler{Label: "h"}, Consumer: "s",
		Retry: spec.Retry{MaxAttempts: 5, Delay: time.Second, Multiplier: 4, MaxDelay: 5 * time.Minute},
		Batch: 100, Block: time.Second, Claim: &spec.Claim{MinIdle: 30 * time.Second, Using: spec.UsingAuto},
		Workers: spec.Workers{Count: 2}, OnInvalid: spec.PolicyDead, OnFailure: spec.PolicyRetry,
	}
	g.Subscriptions = []*spec.Subscription{s}
	return s
}

// start runs the engine and waits until it reads.
func (b *bench) start(handle function) {
	p := &spec.Pipeline{Name: "p", Version: "1", DrainTimeout: 20 * time.Second, Groups: append([]*spec.Group{b.sub.Group}, b.others...)}
	var err error
	b.engine, err = engine.New(engine.Config{
		Pipeline: p, Broker: b.broker, Clock: b.clock, Observer: b.log, Host: "host", Tracer: b.tracer,
		Handlers: map[string]sandbox.Handler{"h": handle},
	})
	if err != nil {
		b.t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	b.end = cancel
	b.ran.Go(func() { b.err = b.engine.Run(ctx) })
	<-b.engine.Ready()
	b.settle()
}

// stop drains the engine.
func (b *bench) stop() error {
	b.end()
	b.ran.Wait()
	return b.err
}

// settle waits until nothing can happen any more without the clock.
func (b *bench) settle() {
	for !b.engine.Idle(b.broker.Blocked) {
		runtime.Gosched()
	}
}

// advance moves the clock by d, one timer after the other.
func (b *bench) advance(d time.Duration) {
	limit := b.clock.Now().Add(d)
	for b.clock.AdvanceToNext(limit) {
		b.settle()
	}
	b.settle()
}

// publish adds an entry and waits for what it causes.
func (b *bench) publish(body string, headers ...broker.Field) broker.ID {
	b.t.Helper()
	fields := append([]broker.Field{{Name: "_payload", Value: body}}, headers...)
	ids, err := b.broker.Add(b.t.Context(), []broker.Add{{Stream: "in", Fields: fields}})
	if err != nil {
		b.t.Fatal(err)
	}
	b.settle()
	return ids[0]
}

// pending are the group's pending entries as "id deliveries".
func (b *bench) pending() []string {
	b.t.Helper()
	ps, err := b.broker.Pending(b.t.Context(), "in", "g", "", broker.ID{}, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, p := range ps {
		all = append(all, fmt.Sprintf("%v %d", p.ID, p.Deliveries))
	}
	return all
}

// bodies are the bodies of a stream.
func (b *bench) bodies(stream string) []string {
	b.t.Helper()
	entries, err := b.broker.Range(b.t.Context(), stream, broker.ID{}, broker.MaxID, 1000)
	if err != nil {
		b.t.Fatal(err)
	}
	var all []string
	for _, e := range entries {
		all = append(all, e.Fields[0].Value)
	}
	return all
}

// journal writes down what is settled, with the time since the epoch.
type journal struct {
	observe.None
	clock *clock.Virtual
	mu    sync.Mutex
	lines []string
	event []observe.EventName
}

func (j *journal) Settled(_ *spec.Subscription, outs []observe.Outcome) {
	j.mu.Lock()
	defer j.mu.Unlock()
	at := j.clock.Now().Sub(epoch)
	for _, o := range outs {
		line := fmt.Sprintf("%v %s #%d", at, o.Result, o.Attempt)
		if o.Dead {
			line += " dead"
		}
		j.lines = append(j.lines, line)
	}
}

func (j *journal) Event(e observe.Event) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.event = append(j.event, e.Name)
}

// told reports whether there was such an event.
func (j *journal) told(name observe.EventName) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return slices.Contains(j.event, name)
}

func (j *journal) all() []string {
	j.mu.Lock()
	defer j.mu.Unlock()
	return append([]string(nil), j.lines...)
}

func newClock() *clock.Virtual { return clock.NewVirtual(epoch) }

// lastID is the id of the stream's last entry.
func (b *bench) lastID() string {
	b.t.Helper()
	info, err := b.broker.StreamInfo(b.t.Context(), "in")
	if err != nil {
		b.t.Fatal(err)
	}
	return info.LastID.String()
}
