package memory

import (
	"context"
	"slices"

	"pipeline/engine/broker"
)

// Add implements broker.Broker. All entries are added in one step.
func (b *Broker) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	if len(adds) == 0 {
		return nil, nil
	}
	op := operation{name: "add", stream: adds[0].Stream}
	ids := make([]broker.ID, 0, len(adds))
	var refused error
	err := b.do(ctx, op, func(now int64) error {
		for i := range adds {
			id, err := b.add(&adds[i], now)
			if err != nil {
				refused = operation{name: "add", stream: adds[i].Stream}.fail(err)
				return nil
			}
			ids = append(ids, id)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return ids, refused
}

// add is XADD of one entry.
func (b *Broker) add(m *broker.Add, now int64) (broker.ID, error) {
	if len(m.Fields) == 0 {
		return broker.ID{}, invalid("an entry needs at least one field")
	}
	if err := b.room(); err != nil {
		return broker.ID{}, err
	}
	s, err := b.create(m.Stream)
	if err != nil {
		return broker.ID{}, err
	}
	if s.last == broker.MaxID {
		return broker.ID{}, invalid("the stream has used up the last possible id, nothing can be added to it any more")
	}
	id := s.append(now, b.keep(m.Fields))
	if m.MaxLen > 0 {
		s.trimAbout(m.MaxLen)
	}
	b.stir(s)
	b.changed()
	return id, nil
}

// keepChunk is how many fields are made room for at once.
const keepChunk = 1024

// keep copies fields into a slice of the broker's own, because the caller may
// use his again. Strings do not change and are shared.
func (b *Broker) keep(fields []broker.Field) []broker.Field {
	n := len(fields)
	if n > keepChunk/8 {
		return slices.Clip(slices.Clone(fields))
	}
	if len(b.fields) < n {
		b.fields = make([]broker.Field, keepChunk)
	}
	kept := b.fields[:n:n]
	b.fields = b.fields[n:]
	copy(kept, fields)
	return kept
}

// Range implements broker.Broker.
func (b *Broker) Range(ctx context.Context, name string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return b.ranged(ctx, name, count, func(s *stream) (out []broker.Entry) {
		for at := s.entries.from(byID(first)); len(out) < count; {
			k, fields, ok := at.next()
			if !ok || last.Less(k.id) {
				break
			}
			out = append(out, broker.Entry{ID: k.id, Fields: fields})
		}
		return out
	})
}

// RangeBack implements broker.Broker.
func (b *Broker) RangeBack(ctx context.Context, name string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return b.ranged(ctx, name, count, func(s *stream) (out []broker.Entry) {
		at := s.entries.from(byID(last))
		if _, found := s.entries.find(byID(last)); found {
			at.p.at++
		}
		for len(out) < count {
			k, fields, ok := at.previous()
			if !ok || k.id.Less(first) {
				break
			}
			out = append(out, broker.Entry{ID: k.id, Fields: fields})
		}
		return out
	})
}

// ranged looks at entries of a stream; one that is absent has none.
func (b *Broker) ranged(
	ctx context.Context, name string, count int, look func(s *stream) []broker.Entry,
) (out []broker.Entry, err error) {
	op := operation{name: "read range of", stream: name}
	if count < 1 {
		return nil, op.fail(errCount)
	}
	err = b.do(ctx, op, func(int64) error {
		s, err := b.stream(name)
		if s != nil {
			out = look(s)
		}
		return err
	})
	return out, err
}
