package memory

import (
	"maps"
	"slices"

	"pipeline/engine/broker"
)

// Snapshot is all that a broker held at one moment.
type Snapshot struct {
	keys   map[string]*stream
	beside map[groupName]*beside
}

// Snapshot remembers everything that the broker holds, for Restore.
func (b *Broker) Snapshot() *Snapshot {
	b.mu.Lock()
	defer b.mu.Unlock()
	return copied(b.keys, b.beside)
}

// Restore takes the broker back to what it held then, as a server that starts
// again, or fails over, without its last writes. Blocked reads end with
// ErrUnavailable. A snapshot can be restored more than once.
func (b *Broker) Restore(s *Snapshot) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.endReads(&broker.Error{Kind: broker.ErrUnavailable, Detail: "the connection was closed"})
	fresh := copied(s.keys, s.beside)
	b.keys, b.beside, b.stirred = fresh.keys, fresh.beside, nil
	b.changed()
}

// SetFull makes the server refuse what needs memory, with ErrOutOfMemory, or
// take it again: entries to add, groups to create, names to take, floors to
// write. As on a server, acknowledging, claiming and renewing go on, and so does
// a record that is written behind a claim.
func (b *Broker) SetFull(full bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.full = full
}

// room is nil, or the error of a server without memory.
func (b *Broker) room() error {
	if b.full {
		return &broker.Error{Kind: broker.ErrOutOfMemory, Detail: "OOM command not allowed when used memory > 'maxmemory'"}
	}
	return nil
}

func copied(keys map[string]*stream, all map[groupName]*beside) *Snapshot {
	s := &Snapshot{keys: make(map[string]*stream, len(keys)), beside: make(map[groupName]*beside, len(all))}
	for name, old := range keys {
		s.keys[name] = old.copy()
	}
	for name, old := range all {
		s.beside[name] = old.copy()
	}
	return s
}

// copy is the stream without the reads that are blocked on it.
func (s *stream) copy() *stream {
	c := *s
	c.waiters, c.stirred = nil, false
	c.entries = s.entries.copy()
	c.groups = make(map[string]*group, len(s.groups))
	for name, g := range s.groups {
		c.groups[name] = g.copy()
	}
	return &c
}

func (g *group) copy() *group {
	c := &group{name: g.name, last: g.last, read: g.read, placed: g.placed, consumers: make(map[string]*consumer, len(g.consumers))}
	for name, old := range g.consumers {
		c.consumers[name] = &consumer{name: name, seen: old.seen}
	}
	for at := g.pending.from(key{}); ; {
		k, old, ok := at.next()
		if !ok {
			return c
		}
		p := *old
		p.consumer = c.consumers[old.consumer.name]
		c.pending.set(k, &p)
		c.byTime.set(p.timeKey(), &p)
		p.consumer.pending.set(k, &p)
	}
}

func (x *beside) copy() *beside {
	c := &beside{records: x.records.copy(), floor: x.floor, hasFloor: x.hasFloor, leases: maps.Clone(x.leases), alive: maps.Clone(x.alive)}
	for base, leases := range c.leases {
		c.leases[base] = slices.Clone(leases)
	}
	for set, m := range x.marks {
		*c.marksOf(set) = markSet{begun: m.begun, latest: m.latest, maps: [2]map[string]broker.Mark{maps.Clone(m.maps[0]), maps.Clone(m.maps[1])}}
	}
	return c
}

// copy is the list with the same values.
func (l *list[T]) copy() list[T] {
	c := list[T]{size: l.size, blocks: make([]*block[T], len(l.blocks))}
	for i, b := range l.blocks {
		c.blocks[i] = &block[T]{keys: slices.Clone(b.keys), values: slices.Clone(b.values)}
	}
	return c
}
