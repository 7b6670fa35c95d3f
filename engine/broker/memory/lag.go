package memory

import "pipeline/engine/broker"

// A server counts what it has added and what each group has read, so that the
// lag is a difference. A deletion makes the count of a group wrong if it is
// ahead of the group's position; then a position can only be counted from the
// ends of the stream, and elsewhere the lag is not known.

// gaps reports whether an entry after the position may have been deleted.
func (s *stream) gaps(from broker.ID) bool {
	if s.entries.len() == 0 || s.deleted.IsZero() || s.deleted.Less(s.firstID()) {
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
	case s.last.Less(id):
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

// passed reports whether a trim may have passed the group, whose own count is
// then not trusted. Servers before 8.0 do trust it.
func (g *group) passed(s *stream, v version) bool {
	return v.atLeast(8, 0) && (s.entries.len() == 0 || g.last.Less(s.firstID()))
}

// advance notes that the entry was delivered as a new one. Before 7.2 a
// server looks for gaps only behind the entry, and so does not see that it has
// just passed one.
func (g *group) advance(s *stream, id broker.ID, v version) {
	from := g.last
	if !v.atLeast(7, 2) {
		from = id
	}
	if g.read == unknown || g.passed(s, v) || s.gaps(from) {
		g.read = s.countTo(id)
	} else {
		g.read++
	}
	g.last = id
}

// lag is how many entries the group has not been given yet. From 8.0 on that
// is known of an empty stream wherever the group stands.
func (g *group) lag(s *stream, v version) (lag int64, known bool) {
	if s.added == 0 || v.atLeast(8, 0) && s.entries.len() == 0 {
		return 0, true
	}
	read := g.read
	if read == unknown || g.passed(s, v) || s.gaps(g.last) {
		read = s.countTo(g.last)
	}
	if read == unknown {
		return 0, false
	}
	return s.added - read, true
}
