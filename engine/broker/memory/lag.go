package memory

import "pipeline/engine/broker"

// A server counts what it has added and what each group has read, so that the
// lag is a difference. A deletion makes the count of a group wrong if it is
// ahead of the group's position; then a position can only be counted from the
// ends of the stream, and elsewhere the lag is not known.

// gaps reports whether an entry after the position may have been deleted.
func (s *stream) gaps(from broker.ID) bool {
	if s.entries.len() == 0 || s.deleted.IsZero() {
		return false
	}
	return !s.deleted.Less(from)
}

// countTo is how many entries were ever added up to the id, or unknown.
func (s *stream) countTo(id broker.ID) int64 {
	switch {
	case s.added == 0:
		return 0
	case s.entries.len() == 0 && !s.last.Less(id), id == s.last:
		return s.added
	case !id.IsZero() && id.Less(s.deleted), s.last.Less(id):
		return unknown
	}
	first := s.firstID()
	if !s.deleted.IsZero() && !s.deleted.Less(first) {
		return unknown
	}
	switch before := s.added - int64(s.entries.len()); id.Compare(first) {
	case -1:
		return before
	case 0:
		return before + 1
	}
	return unknown
}

// advance notes that the entry was delivered as a new one.
func (g *group) advance(s *stream, id broker.ID) {
	if g.read != unknown && !s.gaps(g.last) {
		g.read++
	} else {
		g.read = s.countTo(id)
	}
	g.last = id
}

// lag is how many entries the group has not been given yet.
func (g *group) lag(s *stream) (lag int64, known bool) {
	read := g.read
	if s.added == 0 {
		return 0, true
	}
	if read == unknown || s.gaps(g.last) {
		read = s.countTo(g.last)
	}
	if read == unknown {
		return 0, false
	}
	return s.added - read, true
}
