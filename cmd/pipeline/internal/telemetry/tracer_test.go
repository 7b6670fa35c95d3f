package telemetry

import (
	"testing"
	"time"

	"go.opentelemetry.io/otel/propagation"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
)

// BenchmarkSpan is what an attempt with a reply costs: sampled, without an exporter,
// and not sampled.
func BenchmarkSpan(b *testing.B) {
	sub := &spec.Subscription{Label: "s", Handler: &spec.Handler{Label: "h"}, Trace: spec.TraceProducer}
	sub.Group = &spec.Group{Label: "g", Name: "g", Stream: &spec.Stream{Name: "in"}, Subscriptions: []*spec.Subscription{sub}}
	p := &spec.Pipeline{Name: "p", Groups: []*spec.Group{sub.Group}}
	now := time.Now()
	for name, flags := range map[string]string{"sampled": "-01", "not sampled": "-00"} {
		b.Run(name, func(b *testing.B) {
			provider := sdktrace.NewTracerProvider(sdktrace.WithIDGenerator(ids{}))
			tr := newTracer(provider.Tracer(Scope), propagation.TraceContext{}, p)
			headers := []outcome.Header{{Name: "traceparent", Value: "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7" + flags}}
			out := &observe.Outcome{Result: observe.ResultReply, Began: now, Elapsed: time.Millisecond}
			publish := []broker.Add{{Stream: "out"}}
			b.ReportAllocs()
			for b.Loop() {
				s := tr.Begin(&observe.Attempt{Subscription: sub, Headers: headers, Number: 1, At: now})
				s.Carry("out")
				s.End(&observe.Ending{Outcome: out, Publish: publish, Sent: now, Written: now})
			}
		})
	}
}
