package otel

import (
	"strings"
	"syscall"
	"testing"

	"pipeline/tests/otlptest"
	"pipeline/tests/redistest"
)

// The context of a producer, as a tracer of its own would have sent it.
const (
	producerTrace = "4bf92f3577b34da6a3ce929d0e0e4736"
	producerSpan  = "00f067aa0ba902b7"
	producer      = "00-" + producerTrace + "-" + producerSpan + "-01"
)

func TestASpanLinksToItsProducerAndCarriesItsOwnContextOn(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		c := otlptest.HTTP(t)
		run(t, s, file(t, "payments", "in", "out", ""), to(c))
		id := add(t, s, "in", `{"n":1}`, "traceparent", producer, "tracestate", "vendor=1")
		process := spans(t, c, "process in", 1)[0]
		if process.Kind != "consumer" || process.Parent != "" || process.Trace == producerTrace {
			t.Errorf("it is no root: %+v", process)
		}
		if len(process.Links) != 1 || process.Links[0] != producerTrace+"/"+producerSpan {
			t.Errorf("links: %q", process.Links)
		}
		for name, want := range map[string]string{
			"messaging.system": "redis", "messaging.destination.name": "in", "messaging.consumer.group.name": "ledger",
			"messaging.message.id": id, "messaging.operation.type": "process", "messaging.operation.name": "process",
			"messaging.message.body.size": "7", "pipeline.name": "payments", "pipeline.subscription": "work",
			"pipeline.outcome": "reply", "pipeline.attempt": "1", "pipeline.deliveries": "0",
		} {
			if got := process.Attributes[name]; got != want {
				t.Errorf("%s is %q, want %q", name, got, want)
			}
		}
		for name, kind := range map[string]string{"call post": "internal", "settle": "client", "xadd out": "producer"} {
			child := spans(t, c, name, 1)[0]
			if child.Parent != process.ID || child.Trace != process.Trace || child.Kind != kind {
				t.Errorf("%s is not below %s as %s: %+v", name, process.ID, kind, child)
			}
			if child.Start.Before(process.Start) || child.End.After(process.End) || child.End.Before(child.Start) {
				t.Errorf("%s lasts from %v to %v, within %v to %v", name, child.Start, child.End, process.Start, process.End)
			}
		}
		xadd := named(c, "xadd out")[0]
		reply := s.Client().XRange(t.Context(), "out", "-", "+").Val()[0].Values
		if want := "00-" + process.Trace + "-" + xadd.ID + "-01"; reply["h:traceparent"] != want || reply["h:tracestate"] != nil {
			t.Errorf("the reply carries %v and %v, want %s", reply["h:traceparent"], reply["h:tracestate"], want)
		}
		if about := c.Resource(); about["service.name"] != "payments" || about["service.version"] != "1.2" || about["service.instance.id"] == "" {
			t.Errorf("who exported: %v", about)
		}
	})
}

// TestTheWayThroughTwoPipelinesIsOneTrace: from the producer through both, where they
// go on with it.
func TestTheWayThroughTwoPipelinesIsOneTrace(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		c := otlptest.HTTP(t)
		run(t, s, file(t, "first", "in", "mid", goesOn), to(c))
		run(t, s, file(t, "second", "mid", "out", goesOn), to(c))
		add(t, s, "in", `{"n":1}`, "traceparent", producer, "tracestate", "vendor=1")
		second := spans(t, c, "process mid", 1)[0]
		last := spans(t, c, "xadd out", 1)[0]
		first, between := spans(t, c, "process in", 1)[0], spans(t, c, "xadd mid", 1)[0]
		chain := [][2]string{{first.Parent, producerSpan}, {between.Parent, first.ID}, {second.Parent, between.ID}, {last.Parent, second.ID}}
		for i, link := range chain {
			if link[0] != link[1] {
				t.Errorf("step %d of the chain: the parent is %s, want %s", i, link[0], link[1])
			}
		}
		for _, span := range c.Spans() {
			if span.Trace != producerTrace {
				t.Errorf("%s is of another trace", span.Name)
			}
		}
		if state := s.Client().XRange(t.Context(), "out", "-", "+").Val()[0].Values["h:tracestate"]; state != "vendor=1" {
			t.Errorf("the state of the trace is %v at the end", state)
		}
	})
}

// TestEveryAttemptIsASpanOfTheSameProducer: failed ones say why in a word, and the
// letter keeps the producer's context.
func TestEveryAttemptIsASpanOfTheSameProducer(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		c := otlptest.HTTP(t)
		run(t, s, file(t, "payments", "in", "out", goesOn), to(c))
		add(t, s, "in", `{"fail":true}`, "traceparent", producer)
		for i, attempt := range spans(t, c, "process in", 3) {
			if attempt.Parent != producerSpan || !attempt.Failed || attempt.Attributes["error.type"] != "error" {
				t.Errorf("attempt %d: %+v", i+1, attempt)
			}
			if got := attempt.Attributes["pipeline.attempt"]; got != string(rune('1'+i)) {
				t.Errorf("attempt %d is called %s", i+1, got)
			}
			letter := attempt.Attributes["pipeline.dead_letter.reason"]
			if last := i == 2; (letter == "failed") != last {
				t.Errorf("attempt %d: dead letter %q", i+1, letter)
			}
		}
		if xadd := spans(t, c, "xadd dead", 1)[0]; xadd.Kind != "client" {
			t.Errorf("the letter's XADD is a %s", xadd.Kind)
		}
		if letter := s.Client().XRange(t.Context(), "dead", "-", "+").Val()[0].Values; letter["h:traceparent"] != producer {
			t.Errorf("the letter carries %v", letter["h:traceparent"])
		}
	})
}

// TestWhoClaimsGoesOnWithTheSameTrace: the process that ran the entry is killed.
func TestWhoClaimsGoesOnWithTheSameTrace(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		c := otlptest.HTTP(t)
		path := file(t, "payments", "in", "out", goesOn)
		first := run(t, s, path, to(c))
		add(t, s, "in", `{"slow":true}`, "traceparent", producer)
		eventually(t, "it is being worked on", func() bool { return s.Client().XPending(t.Context(), "in", "ledger").Val().Count == 1 })
		if err := first.cmd.Process.Signal(syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
		_ = first.cmd.Wait()
		run(t, s, path, to(c))
		second := spans(t, c, "process in", 1)[0]
		if second.Trace != producerTrace || second.Parent != producerSpan || second.Attributes["pipeline.deliveries"] == "0" {
			t.Errorf("%+v", second)
		}
	})
}

func TestSampling(t *testing.T) {
	const notSampled = "00-" + producerTrace + "-" + producerSpan + "-00"
	tests := map[string]struct {
		trace, parent, env string
		want               int
	}{
		"everything":                    {"", producer, "OTEL_TRACES_SAMPLER=", 20},
		"nothing":                       {"", producer, "OTEL_TRACES_SAMPLER=always_off", 0},
		"a ratio of nothing":            {"", producer, "OTEL_TRACES_SAMPLER_ARG=0", 0},
		"as the producer: no":           {goesOn, notSampled, "OTEL_TRACES_SAMPLER=", 0},
		"as the producer: yes":          {goesOn, producer, "OTEL_TRACES_SAMPLER=parentbased_always_off", 20},
		"a link does not decide":        {"", notSampled, "OTEL_TRACES_SAMPLER=", 20},
		"whatever the producer decided": {goesOn, notSampled, "OTEL_TRACES_SAMPLER=always_on", 20},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := redistest.Shared(t, redistest.Versions[len(redistest.Versions)-1])
			c := otlptest.HTTP(t)
			env := []string{to(c), test.env}
			if strings.Contains(test.env, "ARG") {
				env = append(env, "OTEL_TRACES_SAMPLER=traceidratio")
			}
			p := run(t, s, file(t, "payments", "in", "out", test.trace), env...)
			for range 20 {
				add(t, s, "in", `{"n":1}`, "traceparent", test.parent)
			}
			eventually(t, "all replies", func() bool { return s.Client().XLen(t.Context(), "out").Val() == 20 })
			p.stop()
			if got := len(named(c, "process in")); got != test.want {
				t.Errorf("%d spans, want %d", got, test.want)
			}
			// A decision against a trace is carried on as well.
			flags := "-01"
			if test.want == 0 {
				flags = "-00"
			}
			if parent, _ := s.Client().XRange(t.Context(), "out", "-", "+").Val()[0].Values["h:traceparent"].(string); !strings.HasSuffix(parent, flags) || len(parent) != len(producer) {
				t.Errorf("the reply carries %q", parent)
			}
		})
	}
}

// TestNothingOfAnEntryIsExported: no body, key, header or text of an error.
func TestNothingOfAnEntryIsExported(t *testing.T) {
	each(t, func(t *testing.T, s *redistest.Server) {
		c := otlptest.HTTP(t)
		p := run(t, s, file(t, "payments", "in", "out", ""), to(c))
		for _, body := range []string{
			`{"n":"hunter2"}`, `{"fail":true,"note":"hunter2"}`, `{"dead":true}`, `hunter2`, `{"hunter2":1,"ack":true}`,
		} {
			add(t, s, "in", body, "note", secret, "correlation-id", secret, "traceparent", secret)
		}
		spans(t, c, "process in", 7) // the one that fails has three attempts
		p.stop()
		if n, _ := c.Requests(); n < 2 || len(c.Metrics()) == 0 {
			t.Errorf("%d requests, %d metrics", n, len(c.Metrics()))
		}
		if strings.Contains(c.Raw(), secret) {
			t.Error("what was exported holds a part of an entry")
		}
	})
}

// TestBaggageTravelsWhereItIsAskedFor, which the specification does by default.
func TestBaggageTravelsWhereItIsAskedFor(t *testing.T) {
	s := redistest.Shared(t, redistest.Versions[0])
	for value, want := range map[string]bool{"": true, "baggage,tracecontext": true, "tracecontext": false, "none": false} {
		c := otlptest.HTTP(t)
		s.Client().Del(t.Context(), "in", "out")
		p := run(t, s, file(t, "payments", "in", "out", ""), to(c), "OTEL_PROPAGATORS="+value)
		add(t, s, "in", `{"n":1}`, "traceparent", producer, "baggage", "tenant=7")
		eventually(t, "a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() == 1 })
		p.stop()
		reply := s.Client().XRange(t.Context(), "out", "-", "+").Val()[0].Values
		if got := reply["h:baggage"] == "tenant=7"; got != want {
			t.Errorf("%q: baggage %v", value, reply["h:baggage"])
		}
		if own := reply["h:traceparent"] != producer; own != (value != "none") || reply["h:traceparent"] == nil {
			t.Errorf("%q: the reply carries %v", value, reply["h:traceparent"])
		}
	}
}
