package memory

import (
	"slices"
	"time"

	"pipeline/engine/broker"
)

// Blocked is how many reads are blocked right now. A read stops counting at
// the moment that it is given entries, before its caller runs: while nothing
// runs elsewhere and every reader is blocked, nothing happens until the clock
// is moved or an operation is called.
func (b *Broker) Blocked() int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.blocked
}

// Activity counts the operations that changed or delivered something. While it
// stands still, no operation had an effect.
func (b *Broker) Activity() uint64 {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.activity
}

// Delete deletes a key with its entries and groups (DEL), and reports whether
// there was one. Blocked reads end with ErrNoGroup. Records, floors and leases
// are keys of their own and stay.
func (b *Broker) Delete(stream string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.keys[stream]
	if s == nil {
		return false
	}
	delete(b.keys, stream)
	b.endLost(s, nil)
	b.changed()
	return true
}

// endLost ends the blocked reads of a group that is gone, or of all groups.
func (b *Broker) endLost(s *stream, g *group) {
	for _, name := range s.groupNames() {
		if lost := s.groups[name]; g == nil || lost == g {
			b.endReadsOf(s, lost, noGroup(s.name, name))
		}
	}
}

// DestroyGroup deletes a group with its pending list (XGROUP DESTROY), and
// reports whether there was one. Its blocked reads end with ErrNoGroup.
func (b *Broker) DestroyGroup(stream, group string) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.keys[stream]
	if s == nil || s.groups[group] == nil {
		return false
	}
	b.endLost(s, s.groups[group])
	b.endEmpty(s)
	delete(s.groups, group)
	b.changed()
	return true
}

// DeleteEntries deletes entries (XDEL), leaves them in pending lists, and
// returns how many there were.
func (b *Broker) DeleteEntries(stream string, ids ...broker.ID) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.keys[stream]
	if s == nil || s.text {
		return 0
	}
	n := 0
	for _, id := range ids {
		if s.delete(id) {
			n++
		}
	}
	if n > 0 {
		b.changed()
	}
	return n
}

// AddAs adds an entry under an id of the caller's choosing (XADD with an id)
// and reports whether the stream took it: an id has to be greater than all
// before it. The stream is made if there is none.
func (b *Broker) AddAs(stream string, id broker.ID, fields []broker.Field) bool {
	b.mu.Lock()
	defer b.mu.Unlock()
	if id.IsZero() || len(fields) == 0 {
		return false
	}
	s, err := b.create(stream)
	if err != nil || !s.last.Less(id) {
		return false
	}
	s.put(id, b.keep(fields))
	b.stir(s)
	b.changed()
	b.wake(b.now())
	return true
}

// SetString makes the key hold a string (SET), whatever it held before.
// Blocked reads end with ErrWrongType, before 7.2 with ErrNoGroup.
func (b *Broker) SetString(key string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if s := b.keys[key]; s != nil {
		if b.version.atLeast(7, 2) {
			b.endReadsOf(s, nil, wrongType(key))
		}
		b.endLost(s, nil)
	}
	b.keys[key] = &stream{name: key, text: true}
	b.changed()
}

// SetIdle makes pending entries look idle for that long, without counting a
// delivery (XCLAIM … IDLE JUSTID under their own consumers), and returns how
// many were pending. As on a server, reads that are already blocked do not wake
// for it.
func (b *Broker) SetIdle(stream, group string, idle time.Duration, ids ...broker.ID) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	s, g, err := b.group(stream, group)
	if err != nil {
		return 0
	}
	n, now := 0, b.now()
	for _, id := range ids {
		p, found := g.pending.get(byID(id))
		if !found {
			continue
		}
		if b.claim(s, g, p, p.consumer.name, now, now-milliseconds(idle), p.count) {
			n++
		}
	}
	if n > 0 {
		b.changed()
	}
	return n
}

// Flush deletes everything (FLUSHDB): streams, groups, records, floors and
// leases. Blocked reads end with ErrNoGroup.
func (b *Broker) Flush() {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range sortedNames(b.keys) {
		b.endLost(b.keys[name], nil)
	}
	clear(b.keys)
	clear(b.beside)
	b.changed()
}

// Disconnect ends every blocked read with ErrUnavailable, as a connection that
// breaks does. Nothing was delivered to them.
func (b *Broker) Disconnect() { b.DisconnectIf(func(broker.Owner) bool { return true }) }

// DisconnectIf is Disconnect for the reads of the owners for which match holds.
// match must not use the broker.
func (b *Broker) DisconnectIf(match func(broker.Owner) bool) {
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, name := range sortedNames(b.keys) {
		for _, w := range slices.Clone(b.keys[name].waiters) {
			if match(w.r.Owner) {
				b.end(w, nil, &broker.Error{Kind: broker.ErrUnavailable, Detail: "the connection was closed"})
			}
		}
	}
}
