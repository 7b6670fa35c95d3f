package memory

import (
	"context"

	"pipeline/engine/broker"
)

// CreateGroup implements broker.Broker.
func (b *Broker) CreateGroup(ctx context.Context, stream, group, start string) (bool, error) {
	op := operation{name: "create group", stream: stream, group: group}
	var at broker.ID
	if start != "$" {
		var err error
		if at, err = broker.ParseID(start); err != nil {
			return false, op.fail(invalid(err.Error() + `, "$" or "0"`))
		}
	}
	created := false
	err := b.do(ctx, op, func(int64) (err error) {
		_, created, err = b.createGroup(stream, group, func(last broker.ID) broker.ID {
			if start == "$" {
				return last
			}
			return at
		})
		return err
	})
	return created && err == nil, err
}

// RestoreGroup implements broker.Broker.
func (b *Broker) RestoreGroup(ctx context.Context, stream, group string) (broker.ID, bool, error) {
	var at broker.ID
	restored := false
	err := b.do(ctx, operation{name: "restore group", stream: stream, group: group}, func(int64) (err error) {
		at, restored, err = b.createGroup(stream, group, func(broker.ID) broker.ID { return broker.ID{} })
		return err
	})
	if err != nil {
		return broker.ID{}, false, err
	}
	return at, restored, nil
}

// createGroup creates a group that is absent: at its floor, which says that it
// was lost, else at start, which is given the stream's last id.
func (b *Broker) createGroup(streamName, name string, start func(last broker.ID) broker.ID) (broker.ID, bool, error) {
	if s := b.keys[streamName]; s == nil || !s.text && s.groups[name] == nil {
		if err := b.room(); err != nil {
			return broker.ID{}, false, err
		}
	}
	existed := b.keys[streamName] != nil
	s, err := b.create(streamName)
	if err != nil || s.groups[name] != nil {
		return broker.ID{}, false, err
	}
	x := b.besideOf(streamName, name)
	at := start(s.last)
	if x.hasFloor {
		at = x.floor
		if s.last.Less(at) {
			at = broker.ID{}
		}
	}
	g := newGroup(name, at)
	if existed && at == s.last {
		g.read = s.added
	}
	s.groups[name] = g
	x.floor, x.hasFloor = at, true
	b.changed()
	return at, true, nil
}

// SaveFloor implements broker.Broker. It also drops records that a crash left
// behind.
func (b *Broker) SaveFloor(ctx context.Context, stream, group string) error {
	return b.do(ctx, operation{name: "save floor of", stream: stream, group: group}, func(int64) error {
		_, g, err := b.group(stream, group)
		if err != nil {
			return err
		}
		at := g.last
		if oldest, _, found := g.pending.first(); found {
			at = oldest.id.Prev()
		}
		x := b.besideOf(stream, group)
		x.sweep(g)
		if !x.hasFloor || x.floor.Less(at) {
			if err := b.room(); err != nil {
				return err
			}
			x.floor, x.hasFloor = at, true
			b.changed()
		}
		return nil
	})
}

// Floor implements broker.Broker.
func (b *Broker) Floor(ctx context.Context, stream, group string) (broker.ID, bool, error) {
	var at broker.ID
	found := false
	err := b.do(ctx, operation{name: "read floor of", stream: stream, group: group}, func(int64) error {
		if x := b.beside[groupName{stream, group}]; x != nil && x.hasFloor {
			at, found = x.floor, true
		}
		return nil
	})
	if err != nil {
		return broker.ID{}, false, err
	}
	return at, found, nil
}

// RemoveConsumer implements broker.Broker.
func (b *Broker) RemoveConsumer(ctx context.Context, o broker.Owner) (bool, error) {
	gone := false
	err := b.do(ctx, on(o, "remove consumer "+o.Consumer+" of"), func(int64) error {
		_, g, err := b.group(o.Stream, o.Group)
		if err != nil {
			return err
		}
		c := g.consumers[o.Consumer]
		gone = c == nil || c.pending.len() == 0
		if gone && c != nil {
			delete(g.consumers, o.Consumer)
			b.changed()
		}
		return nil
	})
	return gone && err == nil, err
}
