package web

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
)

// How much of a stream is looked at for the replies of an entry, and by how much at a
// time: a server answers such a page in a fifth of a millisecond.
const (
	mostFollowed  = 2000
	followedAtOne = 250
	mostCaused    = 20
	// apartClocks is how far before the entry a reply may seem to be: in a cluster the
	// two streams have their ids from two servers.
	apartClocks = time.Second
)

// causedData are the replies that an entry caused, as far as anything tells them. The
// server keeps no link from an entry to its replies; what travels from one to the other
// are the headers correlation-id and traceparent.
type causedData struct {
	// By is the header that relates them, "" where the entry has none; ID is its value.
	By, ID  string
	Replies []replyOf
	// Streams are those that its subscriptions reply to, with what was looked at.
	Streams []followed
}

// replyOf is a message with the same correlation-id, or of the same trace.
type replyOf struct {
	ID, Link, Stream string
	At               time.Time
}

// followed is a stream that was looked at.
type followed struct {
	Stream  string
	Entries int64
	// Whole: nothing of the stream from the entry's time on was left out. Until is how far
	// it was read else.
	Whole  bool
	Until  time.Time
	Denied bool
}

// caused looks for the replies of an entry: in each stream that its subscriptions reply
// to, from the entry's time on, so many messages and no more.
func (s *Site) caused(ctx context.Context, stream *spec.Stream, e *broker.Entry) (d causedData, err error) {
	destinations := s.destinations(stream)
	if len(destinations) == 0 {
		return d, nil
	}
	correlation, trace := header(e, codec.HeaderCorrelationID), traceOf(header(e, codec.HeaderTraceParent))
	switch {
	case correlation != "":
		d.By, d.ID = codec.HeaderCorrelationID, correlation
	case trace != "":
		d.By, d.ID = codec.HeaderTraceParent, trace
	}
	same := func(to *spec.Stream, o *broker.Entry) bool {
		if o.ID == e.ID && to.Name == stream.Name {
			return false // it replies to its own stream, and this is itself
		}
		if correlation != "" {
			return header(o, codec.HeaderCorrelationID) == correlation
		}
		return traceOf(header(o, codec.HeaderTraceParent)) == trace
	}
	for _, to := range destinations {
		f := followed{Stream: view.Clean(to.Name)}
		if d.By != "" {
			if err := s.followReplies(ctx, to, e.ID, same, &f, &d); err != nil {
				return d, err
			}
		}
		d.Streams = append(d.Streams, f)
	}
	d.ID = view.Fit(view.Clean(d.ID), longError)
	if printed := s.view.Letters(s.Pipeline, false); printed.Masks(stream) {
		d.ID = "" // it may hold what the body has, and the headers below show it masked
	}
	return d, nil
}

func (s *Site) followReplies(ctx context.Context, to *spec.Stream, id broker.ID, same func(*spec.Stream, *broker.Entry) bool, f *followed, d *causedData) error {
	from, bytes := broker.ID{Ms: id.Ms - min(id.Ms, uint64(apartClocks.Milliseconds()))}, 0
	for f.Entries < mostFollowed && bytes < mostBytes/4 && len(d.Replies) < mostCaused {
		page, err := s.Reader.Range(ctx, to.Name, from, broker.MaxID, followedAtOne)
		if errors.Is(err, broker.ErrNoPermission) {
			f.Denied = true
			return nil
		}
		if err != nil {
			return err
		}
		for i := range page {
			o := &page[i]
			f.Entries++
			for _, field := range o.Fields {
				bytes += len(field.Name) + len(field.Value)
			}
			if same(to, o) && len(d.Replies) < mostCaused {
				d.Replies = append(d.Replies, replyOf{
					ID: o.ID.String(), Link: link("/entry", "stream", to.Name, "id", o.ID.String()), Stream: view.Clean(to.Name), At: deadletters.At(o.ID),
				})
			}
		}
		if len(page) < followedAtOne {
			f.Whole = true
			return nil
		}
		last := page[len(page)-1].ID
		f.Until, from = deadletters.At(last), last.Next()
	}
	return nil
}

// destinations are the streams that the subscriptions of a stream reply to.
func (s *Site) destinations(stream *spec.Stream) (all []*spec.Stream) {
	for _, sub := range s.Pipeline.Subscriptions() {
		if sub.Group.Stream.Name != stream.Name {
			continue
		}
		routes := sub.Routes
		if sub.Reply != nil {
			routes = append(slices.Clone(routes), sub.Reply)
		}
		for _, r := range routes {
			if !slices.ContainsFunc(all, func(known *spec.Stream) bool { return known.Name == r.To.Name }) {
				all = append(all, r.To)
			}
		}
	}
	return all
}

// header is a header of an entry, "" for none.
func header(e *broker.Entry, name string) string {
	for i := range e.Fields {
		if rest, ok := strings.CutPrefix(e.Fields[i].Name, codec.HeaderPrefix); ok && rest == name {
			return e.Fields[i].Value
		}
	}
	return ""
}

// traceOf is the id of a trace: the second part of a traceparent (W3C Trace Context,
// 3.2), "" where it is none.
func traceOf(traceparent string) string {
	parts := strings.Split(traceparent, "-")
	if len(parts) < 4 || len(parts[1]) != 32 || strings.Trim(parts[1], "0") == "" {
		return ""
	}
	return parts[1]
}
