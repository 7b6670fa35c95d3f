package work_test

import (
	"context"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/work"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// handler says the same about every delivery, and remembers the last one.
type handler struct {
	say  outcome.Outcome
	last sandbox.Delivery
	runs int
}

func (h *handler) NewInstance(context.Context) (sandbox.Instance, error) { return h, nil }
func (*handler) Hash() string                                            { return "" }

func (h *handler) Call(_ context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	h.runs++
	h.last = *d
	return h.say, sandbox.Usage{}
}

// instance and handler are one here, with one Close for both.
type closer struct{ *handler }

func (closer) Close() error { return nil }
func (*handler) Close()     {}

func field(name, text string) broker.Field { return broker.Field{Name: name, Value: text} }

func path(root spec.Root, name string) spec.Expr {
	return &spec.Path{Root: root, Steps: []spec.Step{{Name: name}}}
}

func stream(label string) *spec.Stream {
	return &spec.Stream{Label: label, Name: label, Codec: spec.CodecJSON, Body: spec.DefaultBody}
}

// subscription reads "in" and replies to "out".
func subscription() *spec.Subscription {
	s := &spec.Subscription{
		Label: "s", Group: &spec.Group{Label: "g", Name: "g", Stream: stream("in"), DeadLetter: stream("dead")},
		Handler: &spec.Handler{Label: "h"}, Retry: spec.Retry{MaxAttempts: 3, Delay: time.Second, Multiplier: 2},
		Block: time.Second, Claim: &spec.Claim{MinIdle: 30 * time.Second}, Workers: spec.Workers{Count: 1},
		OnInvalid: spec.PolicyDead, OnFailure: spec.PolicyRetry, Reply: &spec.Route{To: stream("out")},
	}
	s.Group.Subscriptions = []*spec.Subscription{s}
	return s
}

// run runs one entry and returns the item.
func run(t *testing.T, s *spec.Subscription, h *handler, deliveries int64, fields ...broker.Field) *batch.Item {
	t.Helper()
	plan, err := work.Compile(s, "1.0")
	if err != nil {
		t.Fatal(err)
	}
	r := work.NewRunner(plan, "me", func() (sandbox.Handler, uint64) { return closer{h}, 1 }, clock.NewVirtual(now), rand.Float64, nil)
	defer r.Close()
	b := batch.Get(1)
	it := b.Grow()
	it.Delivery = broker.Delivery{
		Entry:      broker.Entry{ID: broker.ID{Ms: uint64(now.UnixMilli())}, Fields: fields},
		Deliveries: deliveries,
	}
	plan.Prepare(b)
	if !r.Run(t.Context(), it) {
		t.Fatal("called off")
	}
	return it
}

// reply is an outcome with one message.
func reply(m outcome.Message) outcome.Outcome {
	if m.Body.Kind() == value.Null {
		m.Body = value.NewObject([]value.Value{value.NewNumber("1").Named("n")})
	}
	return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{m}}
}

// published is what an item publishes, as text.
func published(it *batch.Item) string {
	var all []string
	for _, a := range it.Action.Publish {
		s := a.Stream
		for _, f := range a.Fields {
			s += " " + f.Name + "=" + f.Value
		}
		all = append(all, s)
	}
	return strings.Join(all, "; ")
}

func TestThePartitionKeyOfAReplyIsTheFirstOfFive(t *testing.T) {
	entry := []broker.Field{field("_payload", `{"a":"lane","b":"block"}`), field("h:redis-partition-key", "header")}
	for _, c := range []struct {
		name   string
		change func(*spec.Subscription)
		say    outcome.Message
		fields []broker.Field
		want   string
	}{
		{
			"the handler's", func(s *spec.Subscription) { s.Reply.Key = path(spec.RootEntry, "b") },
			outcome.Message{Key: "handler", HasKey: true}, entry, "handler",
		},
		{
			"the block's", func(s *spec.Subscription) {
				s.Reply.Key, s.Reply.To.Key = path(spec.RootEntry, "b"), path(spec.RootEntry, "n")
			},
			outcome.Message{}, entry, "block",
		},
		{
			"the target stream's", func(s *spec.Subscription) { s.Reply.To.Key = path(spec.RootEntry, "n") },
			outcome.Message{}, entry, "1",
		},
		{"the entry's header", func(s *spec.Subscription) { s.Workers.Key = path(spec.RootEntry, "a") }, outcome.Message{}, entry, "header"},
		{"the lane's", func(s *spec.Subscription) { s.Workers.Key = path(spec.RootEntry, "a") }, outcome.Message{}, entry[:1], "lane"},
		{"none", func(*spec.Subscription) {}, outcome.Message{}, entry[:1], ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := subscription()
			c.change(s)
			it := run(t, s, &handler{say: reply(c.say)}, 0, c.fields...)
			want := `out _payload={"n":1}`
			if c.want != "" {
				want += " h:redis-partition-key=" + c.want
			}
			if got := published(it); got != want {
				t.Errorf("published %s, want %s", got, want)
			}
			if it.Outcome.Replies[0].Key != c.want {
				t.Errorf("told key %q, want %q", it.Outcome.Replies[0].Key, c.want)
			}
		})
	}
}

func TestHeadersTravelAndTheHandlersWin(t *testing.T) {
	s := subscription()
	s.Reply.Headers = []spec.RouteHeader{
		{Name: "from", Value: path(spec.RootEntry, "a")},
		{Name: "n", Value: path(spec.RootReply, "n")},
		{Name: "correlation-id", Value: &spec.Literal{JSON: `"block"`}},
	}
	say := reply(outcome.Message{Headers: []outcome.Header{{Name: "n", Value: "two"}}})
	it := run(t, s, &handler{say: say}, 0, field("_payload", `{"a":"x"}`),
		field("h:correlation-id", "c"), field("h:traceparent", "t"), field("h:other", "stays"))
	want := `out _payload={"n":1} h:correlation-id=block h:traceparent=t h:from=x h:n=two`
	if got := published(it); got != want {
		t.Errorf("published %s, want %s", got, want)
	}
}

func TestAReplyThatDoesNotFitIsAFailedAttemptAndNothingOfItIsPublished(t *testing.T) {
	for name, c := range map[string]struct {
		say  outcome.Outcome
		want string
	}{
		"wrong type": {reply(outcome.Message{Body: value.NewString("x")}), "reply to out:"},
		"half of it": {
			outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{
				{Body: value.NewObject([]value.Value{value.NewNumber("1").Named("n")})}, {Body: value.NewString("x")},
			}}, "reply to out:",
		},
		"no such route": {reply(outcome.Message{To: "nowhere"}), `"nowhere"`},
	} {
		t.Run(name, func(t *testing.T) {
			s := subscription()
			s.Reply.To.Entry = &spec.Type{Kind: spec.TypeObject, Attrs: []spec.Attr{{Name: "n", Type: &spec.Type{Kind: spec.TypeNumber}}}}
			it := run(t, s, &handler{say: c.say}, 0, field("_payload", `{}`))
			if it.Outcome.Result != observe.ResultFailed || it.Action.Verb != batch.Wait || len(it.Outcome.Replies) != 0 {
				t.Errorf("came to %s, %v", it.Outcome.Result, it.Action)
			}
			if !strings.Contains(it.Told().Error, c.want) {
				t.Errorf("%q does not contain %q", it.Told().Error, c.want)
			}
		})
	}
}

func TestShortWaitsAreParkedAndLongOnesLeftToAClaim(t *testing.T) {
	for _, c := range []struct {
		claim   bool
		after   time.Duration
		park    bool
		minIdle time.Duration
	}{
		{true, 500 * time.Millisecond, true, 30*time.Second - work.ParkSlack},
		{true, 5 * time.Second, false, 30 * time.Second},
		{false, 5 * time.Second, true, 0},
		{false, time.Hour, true, 0},
	} {
		t.Run(fmt.Sprint(c.claim, c.after), func(t *testing.T) {
			s := subscription()
			if !c.claim {
				s.Claim = nil
			}
			it := run(t, s, &handler{say: outcome.Outcome{Kind: outcome.Retry, After: c.after, HasAfter: true, Reason: "r"}}, 0, field("_payload", `{}`))
			w := it.Action.Wait
			if it.Action.Park != c.park || w.MinIdle != c.minIdle || w.After != c.after || !w.Timed || !w.Asked || w.Error != "r" {
				t.Errorf("got %+v, parked %v", w, it.Action.Park)
			}
		})
	}
}

func TestADeadLetterHoldsTheEntryByteForByte(t *testing.T) {
	fields := []broker.Field{field("_payload", "\x00\xff{"), field("x", ""), field("x", "2")}
	it := run(t, subscription(), &handler{}, 0, fields...)
	if it.Outcome.Result != observe.ResultInvalid || !it.Told().Dead || len(it.Action.Publish) != 1 {
		t.Fatalf("came to %+v", it.Told())
	}
	for i, f := range fields {
		if got := it.Action.Publish[0].Fields[i]; got != f {
			t.Errorf("field %d is %q, want %q", i, got, f)
		}
	}
	for _, want := range []string{"reason=invalid", "-stream=in", "-group=g", "-subscription=s", "-consumer=me", "-attempts=1", "version=1.0"} {
		if !strings.Contains(published(it), want) {
			t.Errorf("%q does not contain %q", published(it), want)
		}
	}
}

func TestCopiesOfRetries(t *testing.T) {
	own := func(count string) []broker.Field {
		return []broker.Field{field("_payload", `{}`), field("h:x-retry-group", "g"), field("h:x-retry-count", count)}
	}
	ack := func() *handler { return &handler{say: outcome.Outcome{Kind: outcome.Ack}} }
	t.Run("of another group is acknowledged unrun", func(t *testing.T) {
		h := ack()
		it := run(t, subscription(), h, 0, field("_payload", `{}`), field("h:x-retry-group", "other"))
		if h.runs != 0 || it.Outcome.Result != observe.ResultForeignRetry || it.Action.Verb != batch.Ack {
			t.Errorf("ran %d times, came to %s", h.runs, it.Outcome.Result)
		}
	})
	t.Run("a producer cannot have an entry dead-lettered unrun", func(t *testing.T) {
		h := ack()
		it := run(t, subscription(), h, 0, own("1000000")...)
		if h.runs != 1 || it.Outcome.Result != observe.ResultAck || h.last.Attempt != 3 {
			t.Errorf("ran %d times as attempt %d, came to %s", h.runs, h.last.Attempt, it.Outcome.Result)
		}
	})
	t.Run("without a claim it waits for its time, uncounted", func(t *testing.T) {
		h := ack()
		s := subscription()
		s.Claim = nil
		it := run(t, s, h, 0, own("2")...)
		if w := it.Action.Wait; h.runs != 0 || w.After != 2*time.Second || !w.Uncount || w.Asked || it.Outcome.Result != "" {
			t.Errorf("ran %d times, waits %+v, came to %q", h.runs, w, it.Outcome.Result)
		}
	})
}

func TestWhatAHandlerIsShown(t *testing.T) {
	h := &handler{say: outcome.Outcome{Kind: outcome.Ack}}
	s := subscription()
	s.Workers.Key = path(spec.RootEntry, "a")
	run(t, s, h, 2, field("_payload", `{"a":"k"}`), field("h:x", "y"))
	d := h.last
	if d.ID != fmt.Sprintf("%d-0", now.UnixMilli()) || d.Stream != "in" || d.Group != "g" || d.Subscription != "s" || d.Key != "k" ||
		d.Deliveries != 2 || d.Attempt != 1 || d.MaxAttempts != 3 || !d.Now.Equal(now) || !d.Replies || d.Raw != `{"a":"k"}` {
		t.Errorf("shown %+v", d)
	}
	if len(d.Headers) != 1 || d.Headers[0] != (outcome.Header{Name: "x", Value: "y"}) || len(d.Fields) != 2 {
		t.Errorf("headers %v, fields %v", d.Headers, d.Fields)
	}
}

// TestWithoutATracerAnEntryCostsNoAllocation: not even one for headers that could
// carry a context.
func TestWithoutATracerAnEntryCostsNoAllocation(t *testing.T) {
	plan, err := work.Compile(subscription(), "1.0")
	if err != nil {
		t.Fatal(err)
	}
	h := &handler{say: outcome.Outcome{Kind: outcome.Ack}}
	r := work.NewRunner(plan, "me", func() (sandbox.Handler, uint64) { return closer{h}, 1 }, clock.NewVirtual(now), rand.Float64, nil)
	defer r.Close()
	b := batch.Get(1)
	it := b.Grow()
	it.Delivery = broker.Delivery{Entry: broker.Entry{
		ID: broker.ID{Ms: 1}, Fields: []broker.Field{field("_payload", "{}"), field("h:traceparent", "t"), field("h:tracestate", "s")},
	}}
	plan.Prepare(b)
	ctx := t.Context()
	if n := testing.AllocsPerRun(1000, func() { r.Run(ctx, it) }); n != 0 {
		t.Errorf("%v allocations an entry", n)
	}
}
