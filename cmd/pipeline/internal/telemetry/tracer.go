package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/propagation"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
)

// tracer makes the spans of a pipeline. Names and attributes are those of the
// semantic conventions for messaging; nothing of a body, a header, a key or the text
// of an error is among them. It implements observe.Tracer.
type tracer struct {
	tracer     trace.Tracer
	propagator propagation.TextMapPropagator
	subs       map[*spec.Subscription]*traced
}

// traced is what the spans of a subscription have in common.
type traced struct {
	name, call string
	parent     bool
	process    []attribute.KeyValue
	settle     []attribute.KeyValue
}

func newTracer(t trace.Tracer, p propagation.TextMapPropagator, pipeline *spec.Pipeline) *tracer {
	all := &tracer{tracer: t, propagator: p, subs: map[*spec.Subscription]*traced{}}
	for _, s := range pipeline.Subscriptions() {
		of := []attribute.KeyValue{
			semconv.MessagingSystemKey.String("redis"), semconv.MessagingDestinationName(s.Group.Stream.Name),
			semconv.MessagingConsumerGroupName(s.Group.Name),
			attribute.String("pipeline.name", pipeline.Name), attribute.String("pipeline.subscription", s.Label),
		}
		with := func(more ...attribute.KeyValue) []attribute.KeyValue { return append(slices.Clip(of), more...) }
		all.subs[s] = &traced{
			name: "process " + s.Group.Stream.Name, call: "call " + s.Handler.Label, parent: s.Trace == spec.TraceProducer,
			process: with(semconv.MessagingOperationTypeProcess, semconv.MessagingOperationName("process")),
			settle:  with(semconv.MessagingOperationTypeSettle, semconv.MessagingOperationName("settle")),
		}
	}
	return all
}

// Begin implements observe.Tracer.
func (t *tracer) Begin(a *observe.Attempt) observe.Span {
	sub := t.subs[a.Subscription]
	if sub == nil {
		return nil
	}
	ctx := t.propagator.Extract(context.Background(), &carrier{headers: a.Headers})
	options := []trace.SpanStartOption{trace.WithSpanKind(trace.SpanKindConsumer), trace.WithTimestamp(a.At)}
	if producer := trace.SpanContextFromContext(ctx); !sub.parent {
		options = append(options, trace.WithNewRoot())
		if producer.IsValid() {
			options = append(options, trace.WithLinks(trace.Link{SpanContext: producer}))
		}
	}
	s := &span{of: t, sub: sub}
	s.ctx, s.span = t.tracer.Start(ctx, sub.name, options...)
	if s.span.IsRecording() {
		s.span.SetAttributes(sub.process...)
		s.span.SetAttributes(
			semconv.MessagingMessageID(a.ID.String()), semconv.MessagingClientID(a.Consumer),
			attribute.Int("pipeline.attempt", a.Number), attribute.Int64("pipeline.deliveries", a.Deliveries),
		)
	}
	return s
}

// carrier is the headers of an entry, to be read, or of a reply, to be written. It
// implements propagation.TextMapCarrier.
type carrier struct{ headers []outcome.Header }

// Get implements propagation.TextMapCarrier.
func (c *carrier) Get(name string) string {
	text, _ := codec.Lookup(c.headers, name)
	return text
}

// Set implements propagation.TextMapCarrier.
func (c *carrier) Set(name, text string) {
	c.headers = append(c.headers, outcome.Header{Name: name, Value: text})
}

// Keys implements propagation.TextMapCarrier.
func (c *carrier) Keys() []string {
	names := make([]string, len(c.headers))
	for i := range c.headers {
		names[i] = c.headers[i].Name
	}
	return names
}
