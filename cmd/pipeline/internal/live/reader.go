// Package live reads entries of real streams the way that disturbs nobody: by
// ranges, a page at a time, without a group or a consumer. The commands are
// XINFO STREAM once for each stream, and XRANGE; nothing else is needed.
package live

import (
	"context"
	"fmt"
	"iter"
	"strings"
	"sync"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// Options say which entries are read. The zero value reads whole streams.
type Options struct {
	// From and To bound the ids, both inclusive; a zero To is the end. What is
	// added after Look is never read.
	From, To broker.ID
	// Count bounds how many entries of each stream are given, the oldest of the
	// range; 0 does not.
	Count int64
	// Sample chooses among the entries of the range.
	Sample Sample
}

// Stream is a stream that is read, and how far.
type Stream struct {
	Spec *spec.Stream
	// Length is how many entries the stream held at Look.
	Length int64
	// From and To are the bounds that hold for this stream.
	From, To broker.ID
	// About is roughly how many of its entries lie between them, by its length
	// and by the times of its ids.
	About int64
	// Read entries came from the server, Given of them were chosen; Last is the
	// id of the last one that came.
	Read, Given int64
	Last        broker.ID
	// Done: it was read to the end of its range, or Count was reached.
	Done bool
}

// Reader reads streams one after the other. Its methods are called from one
// goroutine at a time.
type Reader struct {
	broker  broker.Broker
	options Options
	streams []*Stream
	failed  error
}

// StreamError is an error of the server about a stream.
type StreamError struct {
	Stream *spec.Stream
	Err    error
}

// Error is the error behind it: it names the stream by its key.
func (e *StreamError) Error() string { return e.Err.Error() }

// Unwrap is the error behind it.
func (e *StreamError) Unwrap() error { return e.Err }

// New returns a reader of streams. b may be one that refuses writes.
func New(b broker.Broker, streams []*spec.Stream, o Options) *Reader {
	if o.To.IsZero() {
		o.To = broker.MaxID
	}
	r := &Reader{broker: b, options: o}
	for _, s := range streams {
		r.streams = append(r.streams, &Stream{Spec: s})
	}
	return r
}

// Look asks the server for the state of each stream and fixes where reading
// ends. Its error is a *StreamError.
func (r *Reader) Look(ctx context.Context) error {
	for _, s := range r.streams {
		info, err := r.broker.StreamInfo(ctx, s.Spec.Name)
		if err != nil {
			return &StreamError{s.Spec, err}
		}
		s.Length, s.From, s.To = info.Length, r.options.From, r.options.To
		if info.LastID.Less(s.To) {
			s.To = info.LastID
		}
		if s.From.Less(info.FirstID) {
			s.From = info.FirstID
		}
		s.About = about(info, s.From, s.To)
		s.Done = s.About == 0
	}
	return nil
}

// about is roughly how many entries lie between two ids: as if they were spread
// evenly over the stream's time.
func about(info broker.StreamInfo, from, to broker.ID) int64 {
	switch {
	case info.Length == 0 || to.Less(from):
		return 0
	case from.Compare(info.FirstID) <= 0 && info.LastID.Compare(to) <= 0:
		return info.Length
	}
	span := float64(info.LastID.Ms-min(info.FirstID.Ms, info.LastID.Ms)) + 1
	part := float64(to.Ms-min(from.Ms, to.Ms)) + 1
	return max(1, int64(float64(info.Length)*min(1, part/span)))
}

// Streams are the streams, in the order in which they are read.
func (r *Reader) Streams() []*Stream { return r.streams }

// Err is the *StreamError that ended Entries early, nil without one.
func (r *Reader) Err() error { return r.failed }

// Expected is roughly how many entries there will be in all.
func (r *Reader) Expected() int64 {
	var n int64
	for _, s := range r.streams {
		chosen := int64(float64(s.About)*r.options.Sample.Share() + 0.5)
		if r.options.Count > 0 {
			chosen = min(chosen, r.options.Count)
		}
		n += max(chosen, s.Given)
	}
	return n
}

// page is what one XRANGE brought.
type page struct {
	entries []broker.Entry
	err     error
}

// Entries reads the streams, each from its oldest entry on, with one page under
// way while the one before is worked on. It ends at the end of the last stream,
// with ctx, or with an error of the server: see Err. It is read once.
func (r *Reader) Entries(ctx context.Context) iter.Seq[engine.DryEntry] {
	return func(yield func(engine.DryEntry) bool) {
		for _, s := range r.streams {
			if !s.Done && !r.stream(ctx, s, yield) {
				return
			}
		}
	}
}

// stream reads one stream and reports whether to go on with the next.
func (r *Reader) stream(ctx context.Context, s *Stream, yield func(engine.DryEntry) bool) bool {
	ctx, cancel := context.WithCancel(ctx)
	pages := make(chan page)
	var fetching sync.WaitGroup
	defer fetching.Wait()
	defer cancel()
	fetching.Go(func() {
		defer close(pages)
		r.fetch(ctx, s.Spec.Name, s.From, s.To, pages)
	})
	for p := range pages {
		if p.err != nil {
			if ctx.Err() == nil {
				r.failed = &StreamError{s.Spec, p.err}
			}
			return false
		}
		for i := range p.entries {
			e := &p.entries[i]
			s.Read, s.Last = s.Read+1, e.ID
			if !r.options.Sample.Takes(e.ID) {
				continue
			}
			s.Given++
			if !yield(engine.DryEntry{Stream: s.Spec, ID: e.ID, Fields: r.fields(e)}) {
				return false
			}
			if s.Given == r.options.Count {
				s.Done = true
				return true
			}
		}
	}
	if ctx.Err() != nil {
		return false
	}
	s.Done = true
	return true
}

// fields are those of an entry. Where few of a page are used they are copied, so
// that each does not keep its whole page in memory.
func (r *Reader) fields(e *broker.Entry) []broker.Field {
	if r.options.Sample.all() {
		return e.Fields
	}
	fields := make([]broker.Field, len(e.Fields))
	for i, f := range e.Fields {
		fields[i] = broker.Field{Name: strings.Clone(f.Name), Value: strings.Clone(f.Value)}
	}
	return fields
}

// fetch reads pages until the end of the range. Each begins after the last id of
// the one before: what is trimmed meanwhile is passed over.
func (r *Reader) fetch(ctx context.Context, stream string, from, to broker.ID, pages chan<- page) {
	size := NewPageSize()
	left := int64(-1)
	if r.options.Count > 0 && r.options.Sample.all() {
		left = r.options.Count
	}
	for {
		count := size.Count
		if left >= 0 {
			count = int(min(int64(count), left))
		}
		entries, err := r.broker.Range(ctx, stream, from, to, count)
		if err == nil && len(entries) > 0 && entries[0].ID.Less(from) {
			err = fmt.Errorf("read range of %s: the server gave %s, which is before %s", stream, entries[0].ID, from)
		}
		select {
		case pages <- page{entries, err}:
		case <-ctx.Done():
			return
		}
		if left -= int64(len(entries)); err != nil || len(entries) < count || left == 0 {
			return
		}
		last := entries[len(entries)-1].ID
		if last.Compare(to) >= 0 {
			return
		}
		from = last.Next()
		size.After(entries)
	}
}
