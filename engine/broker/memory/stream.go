package memory

import (
	"slices"

	"pipeline/engine/broker"
)

// stream is what a key holds: a stream, or a string where a test wants a key
// of another type.
type stream struct {
	name string
	text bool

	entries list[[]broker.Field]
	// last is the last generated id, added how many entries were ever added.
	last  broker.ID
	added int64
	// deleted is the greatest id that was deleted (not trimmed): beyond it,
	// positions can be counted.
	deleted broker.ID
	groups  map[string]*group

	// waiters are the blocked reads, longest first; stirred says that one of
	// them may have something to read.
	waiters []*waiter
	stirred bool
}

// append adds an entry at the given time and returns its id: the time, or the
// id after the last one where the clock has not moved or went back.
func (s *stream) append(ms int64, fields []broker.Field) broker.ID {
	id := broker.ID{Ms: uint64(max(0, ms))}
	if !s.last.Less(id) {
		id = s.last.Next()
	}
	s.put(id, fields)
	return id
}

// put adds an entry behind all others.
func (s *stream) put(id broker.ID, fields []broker.Field) {
	s.entries.set(byID(id), fields)
	s.last = id
	s.added++
}

// body returns the fields of an entry, and whether it still exists.
func (s *stream) body(id broker.ID) ([]broker.Field, bool) { return s.entries.get(byID(id)) }

// firstID is the id of the oldest entry, zero without one.
func (s *stream) firstID() broker.ID {
	k, _, _ := s.entries.first()
	return k.id
}

// delete is XDEL.
func (s *stream) delete(id broker.ID) bool {
	if _, found := s.entries.remove(byID(id)); !found {
		return false
	}
	if s.deleted.Less(id) {
		s.deleted = id
	}
	return true
}

// groupNames are in the order in which a server lists them.
func (s *stream) groupNames() []string { return sortedNames(s.groups) }

func sortedNames[V any](m map[string]V) []string {
	names := make([]string, 0, len(m))
	for name := range m {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}
