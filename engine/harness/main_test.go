package harness_test

import (
	"context"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// stream is a stream of JSON whose label is its key.
func stream(label string) *spec.Stream {
	return &spec.Stream{Label: label, Name: label, Codec: spec.CodecJSON, Body: spec.DefaultBody}
}

// group is a group of the stream from its beginning.
func group(label string, in, dead *spec.Stream) *spec.Group {
	return &spec.Group{Label: label, Name: label, Start: "0", Stream: in, DeadLetter: dead}
}

// subscribe adds a subscription to a group. Its handler has its label.
func subscribe(g *spec.Group, label string, change func(*spec.Subscription)) *spec.Subscription {
	s := &spec.Subscription{
		Label: label, Group: g, Handler: &spec.Handler{Label: label}, Consumer: label,
		Retry: spec.Retry{MaxAttempts: 5, Delay: time.Second, Multiplier: 4, MaxDelay: 5 * time.Minute, Jitter: 0.2},
		Batch: 100, Block: time.Second, Claim: &spec.Claim{MinIdle: 30 * time.Second, Using: spec.UsingAuto},
		Workers: spec.Workers{Count: 2}, OnInvalid: spec.PolicyDead, OnFailure: spec.PolicyRetry,
	}
	if change != nil {
		change(s)
	}
	g.Subscriptions = append(g.Subscriptions, s)
	return s
}

// pipeline is one with the groups; its streams are theirs.
func pipeline(groups ...*spec.Group) *spec.Pipeline {
	return &spec.Pipeline{Name: "p", Version: "1", DrainTimeout: 20 * time.Second, Groups: groups}
}

// single is a pipeline with one subscription "s" of group "g" of stream "in".
func single(change func(*spec.Subscription)) *spec.Pipeline {
	g := group("g", stream("in"), stream("dead"))
	subscribe(g, "s", change)
	return pipeline(g)
}

// bench is a harness whose errors end the test.
type bench struct {
	*harness.Harness

	t testing.TB
}

func open(t testing.TB, cfg harness.Config) *bench {
	t.Helper()
	h, err := harness.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{h, t}
	t.Cleanup(func() {
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// one is a bench with the pipeline single and a worker.
func one(t testing.TB, handle harness.Func, change func(*spec.Subscription)) *bench {
	t.Helper()
	b := open(t, harness.Config{Pipeline: single(change), Handlers: map[string]sandbox.Handler{"s": handle}})
	b.start()
	return b
}

func (b *bench) start() *harness.Worker {
	b.t.Helper()
	w, err := b.Start(b.t.Context())
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

func (b *bench) revive() {
	b.t.Helper()
	if _, err := b.Revive(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) settle() {
	b.t.Helper()
	if err := b.Settle(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) advance(d time.Duration) {
	b.t.Helper()
	if err := b.Advance(b.t.Context(), d); err != nil {
		b.t.Fatal(err)
	}
}

func (b *bench) arm(f harness.Fault) {
	b.t.Helper()
	if err := b.Arm(f); err != nil {
		b.t.Fatal(err)
	}
}

// publish adds bodies to a stream and lets what they cause happen.
func (b *bench) publish(stream string, bodies ...string) []broker.ID {
	b.t.Helper()
	adds := make([]broker.Add, len(bodies))
	for i, body := range bodies {
		adds[i] = broker.Add{Stream: stream, Fields: []broker.Field{{Name: spec.DefaultBody, Value: body}}}
	}
	ids, err := b.Publish(adds...)
	if err != nil {
		b.t.Fatal(err)
	}
	b.settle()
	return ids
}

// outcomes are those of the calls of a subscription.
func (b *bench) outcomes(subscription string) []string {
	var all []string
	for _, c := range b.Calls(subscription) {
		all = append(all, string(c.Outcome))
	}
	return all
}

func ack(context.Context, *sandbox.Delivery) outcome.Outcome {
	return outcome.Outcome{Kind: outcome.Ack}
}

// replyWith replies with a body of JSON.
func replyWith(json string) outcome.Outcome {
	v, err := value.ParseJSON(json, new(value.Arena))
	if err != nil {
		panic(err)
	}
	return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: v}}}
}

// number is a member of the body as an integer.
func number(d *sandbox.Delivery, name string) int {
	n := 0
	for _, c := range d.Body.Get(name).Text() {
		n = 10*n + int(c-'0')
	}
	return n
}
