package harness

import (
	"context"
	"fmt"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// Entry is one entry of a stream.
type Entry struct {
	ID broker.ID
	// Fields are its fields byte for byte, in order.
	Fields []broker.Field
	// Headers are its headers without their prefix.
	Headers []outcome.Header
	// Body is the decoded body; null where Invalid says why it has none. A dead
	// letter is decoded as the entry that it was.
	Body    value.Value
	Invalid error
	// Letter is what a dead letter says of its entry, nil for other entries.
	Letter *codec.DeadLetter
}

// Pending is one pending entry of a group.
type Pending struct {
	ID       broker.ID
	Consumer string
	// Deliveries includes the current one.
	Deliveries int64
	// Idle is how long it has been untouched. One that waits for a time is aged
	// so that it is idle for min_idle when that comes.
	Idle time.Duration
	// Record is what is written down about it beside the pending list.
	Record broker.Record
}

// Event is what a worker told of.
type Event struct {
	// Worker is its name.
	Worker string
	// At is when, by the harness's clock; Time is what the worker's showed.
	At time.Time
	observe.Event
}

// all is more entries than any test holds.
const all = 1 << 30

// Entries are the entries of a stream, by its label or its key on the server. A
// stream that does not exist has none.
func (h *Harness) Entries(stream string) []Entry {
	name := stream
	if s := h.stream(stream); s != nil {
		name = s.Name
	}
	raw, err := h.server.Range(context.Background(), name, broker.ID{}, broker.MaxID, all)
	if err != nil {
		return nil // a key of another type holds no entries
	}
	entries := make([]Entry, len(raw))
	for i := range raw {
		entries[i] = h.decode(name, raw[i])
	}
	return entries
}

// decode reads an entry of the stream with a key.
func (h *Harness) decode(name string, raw broker.Entry) Entry {
	e := Entry{ID: raw.ID, Fields: slices.Clone(raw.Fields)}
	if letter, ok := codec.ParseDeadLetter(raw.Fields); ok {
		e.Letter = &letter
		if h.decoders[letter.Stream] != nil {
			name = letter.Stream
		}
	}
	e.Headers = codec.AppendHeaders(nil, raw.Fields)
	d := h.decoders[name]
	if d == nil {
		return e
	}
	var body codec.Body
	if e.Invalid = d.Decode(raw.Fields, new(value.Arena), &body); e.Invalid == nil {
		e.Body = body.Value
	}
	return e
}

// Pending are the pending entries of a group by its label, by id. A group that is
// absent has none.
func (h *Harness) Pending(group string) []Pending {
	var pending []Pending
	for _, g := range h.cfg.Pipeline.Groups {
		if g.Label != group {
			continue
		}
		ps, err := h.server.Pending(context.Background(), g.Stream.Name, g.Name, "", broker.ID{}, all)
		if err != nil {
			return nil // there is no group yet, or no more
		}
		ids := make([]broker.ID, len(ps))
		for i, p := range ps {
			ids[i] = p.ID
		}
		records, _ := h.server.Records(context.Background(), g.Stream.Name, g.Name, ids) // fails only once closed
		for i, p := range ps {
			pending = append(pending, Pending{ID: p.ID, Consumer: p.Consumer, Deliveries: p.Deliveries, Idle: p.Idle, Record: records[i]})
		}
	}
	return pending
}

// Events are what workers told of, in order.
func (h *Harness) Events() []Event { return slices.Clone(h.events) }

// Workers are all that were started, in order.
func (h *Harness) Workers() []*Worker { return slices.Clone(h.workers) }

// Encode makes an entry for a stream, by its label or its key on the server, as
// publishers do it: the body in the stream's codec, the partition key that the
// message gives or the stream declares, the headers. It refuses a body that is
// not of the stream's type; what is to be invalid is made of fields.
func (h *Harness) Encode(stream string, m codec.Message) (broker.Add, error) {
	s := h.stream(stream)
	if s == nil {
		return broker.Add{}, fmt.Errorf("encode: the pipeline has no stream %q", stream)
	}
	encoder, err := codec.NewEncoder(s)
	if err != nil {
		return broker.Add{}, fmt.Errorf("encode: %w", err)
	}
	if !m.HasKey {
		if m.Key, m.HasKey, err = encoder.Key(&codec.Env{Entry: m.Body, Headers: m.Headers}); err != nil {
			return broker.Add{}, err
		}
	}
	fields, err := encoder.Encode(nil, &m)
	return broker.Add{Stream: s.Name, Fields: fields}, err
}

// stream is the one with the label, or else with the key; nil for none.
func (h *Harness) stream(name string) *spec.Stream {
	streams := h.streams()
	for _, s := range streams {
		if s.Label == name {
			return s
		}
	}
	for _, s := range streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}
