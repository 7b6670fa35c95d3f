package telemetry

import (
	"context"
	"slices"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/codes"
	semconv "go.opentelemetry.io/otel/semconv/v1.43.0"
	"go.opentelemetry.io/otel/trace"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
)

// span is that of an attempt. It implements observe.Span.
type span struct {
	of   *tracer
	sub  *traced
	ctx  context.Context
	span trace.Span
	// sends are the spans of replies, one for each stream, that are carried on before
	// they begin.
	sends []send
}

type send struct {
	stream  string
	id      trace.SpanID
	headers []outcome.Header
}

// Carry implements observe.Span. All replies of an entry to one stream have one span,
// so that a trace has no more of them than there are routes.
func (s *span) Carry(stream string) []outcome.Header {
	for i := range s.sends {
		if s.sends[i].stream == stream {
			return s.sends[i].headers
		}
	}
	one := send{stream: stream}
	ctx := s.ctx
	if s.span.IsRecording() {
		one.id = newSpanID()
		ctx = trace.ContextWithSpanContext(ctx, s.span.SpanContext().WithSpanID(one.id))
	}
	var c carrier
	s.of.propagator.Inject(ctx, &c)
	one.headers = c.headers
	s.sends = append(s.sends, one)
	return one.headers
}

// End implements observe.Span.
func (s *span) End(e *observe.Ending) {
	if !s.span.IsRecording() {
		s.span.End()
		return
	}
	o := e.Outcome
	s.endCall(o)
	if o.Result != "" {
		_, settle := s.of.tracer.Start(s.ctx, "settle", trace.WithSpanKind(trace.SpanKindClient), trace.WithTimestamp(e.Sent))
		settle.SetAttributes(s.sub.settle...)
		if o.Result == observe.ResultStale {
			fail(settle, string(o.Result))
		}
		settle.End(trace.WithTimestamp(e.Written))
	}
	s.endSends(e)
	s.span.SetAttributes(attribute.String("pipeline.outcome", outcomeOf(o)))
	if o.Dead {
		s.span.SetAttributes(attribute.String("pipeline.dead_letter.reason", o.Letter))
	}
	if o.HasAfter {
		s.span.SetAttributes(attribute.Float64("pipeline.retry.after", o.After.Seconds()))
	}
	if why := errorType(o); why != "" {
		fail(s.span, why)
	}
	s.span.End(trace.WithTimestamp(e.Written))
}

// endCall makes the span of the handler's call, if there was one.
func (s *span) endCall(o *observe.Outcome) {
	if o.Began.IsZero() {
		return
	}
	s.span.SetAttributes(semconv.MessagingMessageBodySize(o.Bytes))
	_, call := s.of.tracer.Start(s.ctx, s.sub.call, trace.WithTimestamp(o.Began))
	if o.Kind != "" {
		fail(call, string(o.Kind))
	}
	call.End(trace.WithTimestamp(o.Began.Add(o.Elapsed)))
}

// endSends makes the spans of what was published, one for each stream.
func (s *span) endSends(e *observe.Ending) {
	for i := range e.Publish {
		if n, first := count(e.Publish, e.Publish[i].Stream, i); first {
			s.endSend(e, e.Publish[i].Stream, n)
		}
	}
}

// endSend makes the span of n messages to a stream. A letter or a copy keeps the
// context of its entry, so that its span begins no message.
func (s *span) endSend(e *observe.Ending, stream string, n int) {
	ctx, kind := s.ctx, trace.SpanKindClient
	if i := slices.IndexFunc(s.sends, func(one send) bool { return one.stream == stream }); i >= 0 && !e.Outcome.Dead {
		ctx, kind = withID(ctx, s.sends[i].id), trace.SpanKindProducer
	}
	_, xadd := s.of.tracer.Start(ctx, "xadd "+stream, trace.WithSpanKind(kind), trace.WithTimestamp(e.Sent))
	xadd.SetAttributes(
		semconv.MessagingSystemKey.String("redis"), semconv.MessagingDestinationName(stream),
		semconv.MessagingOperationTypeSend, semconv.MessagingOperationName("xadd"),
	)
	if n > 1 {
		xadd.SetAttributes(semconv.MessagingBatchMessageCount(n))
	}
	xadd.End(trace.WithTimestamp(e.Written))
}

// count is how many messages go to the stream, and whether the one at i is the first.
func count(all []broker.Add, stream string, i int) (n int, first bool) {
	first = true
	for j := range all {
		if all[j].Stream == stream {
			n++
			first = first && j >= i
		}
	}
	return n, first
}

func fail(s trace.Span, why string) {
	s.SetStatus(codes.Error, why)
	s.SetAttributes(semconv.ErrorTypeKey.String(why))
}

// unsettled is the outcome of what was called off, or could not be written.
const unsettled = "unsettled"

func outcomeOf(o *observe.Outcome) string {
	if o.Result == "" {
		return unsettled
	}
	return string(o.Result)
}

// errorType is a word for why the attempt failed, of a closed set; "" if it did not.
func errorType(o *observe.Outcome) string {
	switch o.Result {
	case observe.ResultFailed:
		if o.Kind == "" {
			return "exhausted" // the attempts were used up before it could run
		}
		return string(o.Kind)
	case observe.ResultInvalid, observe.ResultStale:
		return string(o.Result)
	case "":
		return unsettled
	}
	return ""
}
