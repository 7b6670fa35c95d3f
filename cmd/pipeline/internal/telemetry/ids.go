package telemetry

import (
	"context"
	"encoding/binary"
	"math/rand/v2"

	"go.opentelemetry.io/otel/trace"
)

// ids makes the ids of traces and spans. A reply carries the id of the span of its
// XADD before that begins: such an id is reserved, and given to the span by its
// context. It implements sdktrace.IDGenerator.
type ids struct{}

type reserved struct{}

// withID returns a context in which the next span has that id.
func withID(ctx context.Context, id trace.SpanID) context.Context {
	return context.WithValue(ctx, reserved{}, id)
}

// NewIDs implements sdktrace.IDGenerator.
func (ids) NewIDs(context.Context) (trace.TraceID, trace.SpanID) {
	var id trace.TraceID
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:8], rand.Uint64())
		binary.NativeEndian.PutUint64(id[8:], rand.Uint64())
	}
	return id, newSpanID()
}

// NewSpanID implements sdktrace.IDGenerator.
func (ids) NewSpanID(ctx context.Context, _ trace.TraceID) trace.SpanID {
	if id, ok := ctx.Value(reserved{}).(trace.SpanID); ok {
		return id
	}
	return newSpanID()
}

func newSpanID() trace.SpanID {
	var id trace.SpanID
	for !id.IsValid() {
		binary.NativeEndian.PutUint64(id[:], rand.Uint64())
	}
	return id
}
