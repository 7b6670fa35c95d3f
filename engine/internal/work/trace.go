package work

import (
	"slices"

	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// OnTrace has spans made of the attempts. Call it before anything runs.
func (r *Runner) OnTrace(t observe.Tracer) { r.tracer = t }

// trace begins the span of an attempt. What was called off for the sake of another
// entry and runs once more goes on with the one that it has.
func (r *Runner) trace(it *batch.Item) {
	if it.Span != nil || it.Foreign || it.Unasked || r.tooEarly(it) > 0 {
		return
	}
	it.Span = r.tracer.Begin(&observe.Attempt{
		Subscription: r.plan.sub, Consumer: r.consumer, ID: it.Delivery.ID, Headers: it.Body.Headers,
		Deliveries: it.Delivery.Deliveries, Number: it.Used + 1, At: r.clock.Now(),
	})
}

// carry sets the headers by which a reply carries the context of a trace on: those
// of the entry's span, or, where no spans are made, those of the entry.
func (r *Runner) carry(it *batch.Item, stream string) {
	if it.Span != nil {
		carried := it.Span.Carry(stream)
		for _, h := range carried {
			r.set(h.Name, h.Value)
		}
		if slices.ContainsFunc(carried, func(h codec.Field) bool { return h.Name == codec.HeaderTraceParent }) {
			return
		}
	}
	r.travel(it, codec.HeaderTraceParent)
	r.travel(it, codec.HeaderTraceState)
}

// travel sets the entry's header of that name, if it has one.
func (r *Runner) travel(it *batch.Item, name string) {
	if v, ok := it.Body.Header(name); ok {
		r.set(name, v)
	}
}
