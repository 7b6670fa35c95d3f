package engine_test

import (
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// tracer writes down how spans begin and end.
type tracer struct {
	mu    sync.Mutex
	lines []string
	open  int
}

func (tr *tracer) add(format string, args ...any) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	tr.lines = append(tr.lines, fmt.Sprintf(format, args...))
}

func (tr *tracer) Begin(a *observe.Attempt) observe.Span {
	tr.mu.Lock()
	tr.open++
	tr.mu.Unlock()
	parent := ""
	for _, h := range a.Headers {
		parent += h.Name + "=" + h.Value
	}
	tr.add("begin #%d of %s from %s", a.Number, a.Subscription.Label, parent)
	return &span{of: tr}
}

type span struct {
	of    *tracer
	ended bool
}

func (s *span) Carry(stream string) []outcome.Header {
	return []outcome.Header{{Name: "traceparent", Value: "span-of-" + stream}}
}

func (s *span) End(e *observe.Ending) {
	if s.ended {
		s.of.add("ended twice")
	}
	s.ended = true
	s.of.mu.Lock()
	s.of.open--
	s.of.mu.Unlock()
	var to []string
	for _, p := range e.Publish {
		to = append(to, p.Stream)
	}
	s.of.add("end %q to %s, in time %t", e.Outcome.Result, strings.Join(to, ","), !e.Written.Before(e.Sent))
}

// log is what was written down, and how many spans are open.
func (tr *tracer) log() (lines []string, open int) {
	tr.mu.Lock()
	defer tr.mu.Unlock()
	return slices.Clone(tr.lines), tr.open
}

func replies(*sandbox.Delivery) outcome.Outcome {
	return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: value.NewNumber("1")}}}
}

func withReply(s *spec.Subscription) {
	s.Reply = &spec.Route{To: &spec.Stream{Label: "out", Name: "out", Codec: spec.CodecJSON, Body: spec.DefaultBody}}
}

func TestEveryAttemptIsASpanFromItsBeginningToItsOutcome(t *testing.T) {
	parent := broker.Field{Name: "h:traceparent", Value: "p"}
	tests := map[string]struct {
		handle function
		change func(*spec.Subscription)
		body   string
		wait   time.Duration
		want   []string
	}{
		"ack":   {ack, nil, `{}`, 0, []string{"begin #1 of s from traceparent=p", `end "ack" to , in time true`}},
		"reply": {replies, withReply, `{}`, 0, []string{"begin #1 of s from traceparent=p", `end "reply" to out, in time true`}},
		"failed attempts and the dead letter": {
			broken, func(s *spec.Subscription) { s.Retry.MaxAttempts = 3 }, `{}`, time.Minute,
			[]string{
				"begin #1 of s from traceparent=p", `end "failed" to , in time true`,
				"begin #2 of s from traceparent=p", `end "failed" to , in time true`,
				"begin #3 of s from traceparent=p", `end "failed" to dead, in time true`,
			},
		},
		"an invalid entry": {ack, nil, `{`, 0, []string{"begin #1 of s from traceparent=p", `end "invalid" to dead, in time true`}},
		"a handler that stops the subscription": {
			broken, func(s *spec.Subscription) { s.OnFailure = spec.PolicyStop }, `{}`, 0,
			[]string{"begin #1 of s from traceparent=p", `end "failed" to , in time true`},
		},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			tr := &tracer{}
			b := newTraced(t, tr, memory.Options{}, test.handle, test.change)
			b.publish(test.body, parent)
			b.advance(test.wait)
			lines, open := tr.log()
			expect(t, "spans", lines, test.want)
			if open != 0 {
				t.Errorf("%d spans did not end", open)
			}
		})
	}
}

// TestASpanGoesOnWhileTheServerRefusesItsOutcome: it ends once, when that is written.
func TestASpanGoesOnWhileTheServerRefusesItsOutcome(t *testing.T) {
	tr := &tracer{}
	b := newTraced(t, tr, memory.Options{}, replies, withReply)
	var full atomic.Bool
	full.Store(true)
	b.broker.SetFault(func(c memory.Call) memory.Effect {
		if full.Load() && c.Op == "settle" {
			return memory.Effect{Err: broker.ErrUnavailable}
		}
		return memory.Effect{}
	})
	if _, err := b.broker.Add(t.Context(), []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "_payload", Value: "{}"}}}}); err != nil {
		t.Fatal(err)
	}
	for begun := false; !begun; {
		lines, _ := tr.log()
		begun = len(lines) > 0
	}
	if lines, open := tr.log(); open != 1 || len(lines) != 1 {
		t.Errorf("%d spans open while the outcome is not written: %q", open, lines)
	}
	full.Store(false)
	b.advance(time.Minute)
	lines, _ := tr.log()
	expect(t, "spans", lines, []string{"begin #1 of s from ", `end "reply" to out, in time true`})
}

// TestARefusedOutcomeKeepsItsSpan: a full server takes no reply, which is settled
// again.
func TestARefusedOutcomeKeepsItsSpan(t *testing.T) {
	tr := &tracer{}
	var b *bench
	b = newTraced(t, tr, memory.Options{}, func(d *sandbox.Delivery) outcome.Outcome {
		b.broker.SetFull(true)
		return replies(d)
	}, withReply)
	if _, err := b.broker.Add(t.Context(), []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "_payload", Value: "{}"}}}}); err != nil {
		t.Fatal(err)
	}
	for !b.log.told(observe.EventSettleRefused) {
		runtime.Gosched()
	}
	if lines, open := tr.log(); open != 1 {
		t.Errorf("%d spans open while the outcome is refused: %q", open, lines)
	}
	b.broker.SetFull(false)
	// The refusal is told before the time of the next attempt is set, so that nothing is
	// at rest until time goes on once more after that.
	for _, open := tr.log(); open > 0; _, open = tr.log() {
		b.clock.AdvanceToNext(b.clock.Now().Add(time.Minute))
		runtime.Gosched()
	}
	b.settle()
	lines, _ := tr.log()
	expect(t, "spans", lines, []string{"begin #1 of s from ", `end "reply" to out, in time true`})
}

// TestWhatIsLostEndsItsSpan: an error that does not pass leaves the entry pending,
// and nothing was written for it.
func TestWhatIsLostEndsItsSpan(t *testing.T) {
	tr := &tracer{}
	b := newTraced(t, tr, memory.Options{}, replies, withReply)
	b.broker.SetFault(func(c memory.Call) memory.Effect {
		if c.Op == "settle" {
			return memory.Effect{Err: errors.New("no")}
		}
		return memory.Effect{}
	})
	if _, err := b.broker.Add(t.Context(), []broker.Add{{Stream: "in", Fields: []broker.Field{{Name: "_payload", Value: "{}"}}}}); err != nil {
		t.Fatal(err)
	}
	b.ran.Wait()
	lines, _ := tr.log()
	expect(t, "spans", lines, []string{"begin #1 of s from ", `end "" to , in time true`})
}

// TestAReplyCarriesTheContextOn: with spans that of the reply's, without them that
// of the entry; what the handler says comes before both.
func TestAReplyCarriesTheContextOn(t *testing.T) {
	say := func(d *sandbox.Delivery) outcome.Outcome {
		o := replies(d)
		if d.Body.Kind() == value.Bool {
			o.Replies[0].Headers = []outcome.Header{{Name: "traceparent", Value: "own"}}
		}
		return o
	}
	given := []broker.Field{{Name: "h:traceparent", Value: "p"}, {Name: "h:tracestate", Value: "a=1"}, {Name: "h:baggage", Value: "b=2"}}
	for name, test := range map[string]struct {
		tracer  observe.Tracer
		body    string
		headers []broker.Field
		want    string
	}{
		"without spans":                    {nil, `{}`, given, "h:traceparent=p h:tracestate=a=1"},
		"without spans or a context":       {nil, `{}`, nil, ""},
		"with spans":                       {&tracer{}, `{}`, given, "h:traceparent=span-of-out"},
		"with spans, and no context":       {&tracer{}, `{}`, nil, "h:traceparent=span-of-out"},
		"the handler's, with spans":        {&tracer{}, `true`, given, "h:traceparent=own"},
		"the handler's, without spans":     {nil, `true`, given, "h:traceparent=own"},
		"propagators that carry a baggage": {bare{}, `{}`, given, "h:baggage=b h:traceparent=p h:tracestate=a=1"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newTraced(t, test.tracer, memory.Options{}, say, withReply)
			b.publish(test.body, test.headers...)
			entries, err := b.broker.Range(t.Context(), "out", broker.ID{}, broker.MaxID, 10)
			if err != nil || len(entries) != 1 {
				t.Fatalf("%d replies, %v", len(entries), err)
			}
			var got []string
			for _, f := range entries[0].Fields[1:] {
				got = append(got, f.Name+"="+f.Value)
			}
			if text := strings.Join(got, " "); text != test.want {
				t.Errorf("got %q, want %q", text, test.want)
			}
		})
	}
}

// bare carries no context of a trace.
type bare struct{}

func (bare) Begin(*observe.Attempt) observe.Span { return bareSpan{} }

type bareSpan struct{}

func (bareSpan) Carry(string) []outcome.Header {
	return []outcome.Header{{Name: "baggage", Value: "b"}}
}
func (bareSpan) End(*observe.Ending) {}
