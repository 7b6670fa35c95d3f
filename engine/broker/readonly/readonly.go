// Package readonly keeps a broker from being written to. What only looks
// passes; what would write, deliver or lease is refused before it reaches the
// server, and counted. It is what a dry-run over real streams is given, so that
// a mistake in it is an error and not a change.
package readonly

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"sync"

	"pipeline/engine/broker"
)

// ErrReadOnly is the kind of the error of every operation that is refused.
// Nothing of it was sent to the server.
var ErrReadOnly = errors.New("the broker is read-only here")

// Refusal is an operation that was refused, on one object, and how often.
type Refusal struct {
	Op, Stream, Group string
	Times             int64
}

// object is what a refusal is about.
type object struct{ op, stream, group string }

// Broker is a broker whose writes are refused. It is safe for concurrent use.
type Broker struct {
	inner broker.Broker

	mu      sync.Mutex
	refused map[object]int64
}

var _ broker.Broker = (*Broker)(nil)

// New returns b without its writes. Closing it closes b.
func New(b broker.Broker) *Broker {
	return &Broker{inner: b, refused: map[object]int64{}}
}

// Refused are the operations that were refused so far, by their names and
// objects. An empty list proves that whoever used the broker only read.
func (b *Broker) Refused() []Refusal {
	b.mu.Lock()
	defer b.mu.Unlock()
	list := make([]Refusal, 0, len(b.refused))
	for o, n := range b.refused {
		list = append(list, Refusal{Op: o.op, Stream: o.stream, Group: o.group, Times: n})
	}
	slices.SortFunc(list, func(x, y Refusal) int {
		return cmp.Or(cmp.Compare(x.Op, y.Op), cmp.Compare(x.Stream, y.Stream), cmp.Compare(x.Group, y.Group))
	})
	return list
}

// refuse counts an operation and returns its error.
func (b *Broker) refuse(op, stream, group string) error {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.refused[object{op, stream, group}]++
	return &broker.Error{Op: op, Stream: stream, Group: group, Kind: ErrReadOnly}
}

// The operations that look.

// Probe passes. On a server it tries features with commands that the server
// refuses or that change nothing; who may not even try those leaves it out.
func (b *Broker) Probe(ctx context.Context) (broker.Server, error) { return b.inner.Probe(ctx) }

// Floor passes.
func (b *Broker) Floor(ctx context.Context, stream, group string) (broker.ID, bool, error) {
	return b.inner.Floor(ctx, stream, group)
}

// Range passes.
func (b *Broker) Range(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return b.inner.Range(ctx, stream, first, last, count)
}

// RangeBack passes.
func (b *Broker) RangeBack(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return b.inner.RangeBack(ctx, stream, first, last, count)
}

// StreamInfo passes.
func (b *Broker) StreamInfo(ctx context.Context, stream string) (broker.StreamInfo, error) {
	return b.inner.StreamInfo(ctx, stream)
}

// GroupInfos passes.
func (b *Broker) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	return b.inner.GroupInfos(ctx, stream)
}

// ConsumerInfos passes.
func (b *Broker) ConsumerInfos(ctx context.Context, stream, group string) ([]broker.ConsumerInfo, error) {
	return b.inner.ConsumerInfos(ctx, stream, group)
}

// Survey passes.
func (b *Broker) Survey(ctx context.Context, asks []broker.Ask) (broker.Survey, error) {
	return b.inner.Survey(ctx, asks)
}

// Pending passes.
func (b *Broker) Pending(ctx context.Context, stream, group, consumer string, after broker.ID, count int) ([]broker.Pending, error) {
	return b.inner.Pending(ctx, stream, group, consumer, after, count)
}

// Records passes.
func (b *Broker) Records(ctx context.Context, stream, group string, ids []broker.ID) ([]broker.Record, error) {
	return b.inner.Records(ctx, stream, group, ids)
}

// Marked passes.
func (b *Broker) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	return b.inner.Marked(ctx, r)
}

// Close closes the broker behind it.
func (b *Broker) Close() error { return b.inner.Close() }
