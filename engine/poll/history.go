package poll

import "time"

// Kept is how far back the history goes, and points how many looks that is.
const (
	Kept   = time.Hour
	points = int(Kept / Every)
)

// Point is what one look found, without names: Streams and Groups are in the
// order of Snapshot, groups stream by stream. A point of 200 groups takes about
// 10 KB, an hour of them about 7 MB.
type Point struct {
	// At is when the server was asked. Up is false where it did not answer, and
	// there are no streams and groups then.
	At      time.Time
	Up      bool
	Streams []StreamPoint
	Groups  []GroupPoint
}

// StreamPoint is a stream at one moment. Length and Added are -1 where they are not
// known.
type StreamPoint struct{ Length, Added int64 }

// GroupPoint is a group at one moment. Everything is -1 where it is not known.
type GroupPoint struct {
	Lag, Pending, Read               int64
	OldestPending, OldestUndelivered time.Duration
}

func pointOf(s *Snapshot) *Point {
	p := &Point{At: s.Asked, Up: s.Up()}
	if !p.Up {
		return p
	}
	groups := 0
	for i := range s.Streams {
		groups += len(s.Streams[i].Groups)
	}
	p.Streams, p.Groups = make([]StreamPoint, len(s.Streams)), make([]GroupPoint, 0, groups)
	for i := range s.Streams {
		stream := &s.Streams[i]
		p.Streams[i] = StreamPoint{-1, -1}
		if stream.Known {
			p.Streams[i] = StreamPoint{stream.Length, stream.Added}
		}
		for j := range stream.Groups {
			p.Groups = append(p.Groups, stream.Groups[j].point())
		}
	}
	return p
}

func (g *Group) point() GroupPoint {
	if !g.Known {
		return GroupPoint{-1, -1, -1, -1, -1}
	}
	p := GroupPoint{-1, g.Pending, g.Read, g.OldestPending, g.OldestUndelivered}
	if g.LagKnown {
		p.Lag = g.Lag
	}
	return p
}

// history is a ring of points: next is where the oldest stands once it is full.
type history struct {
	ring []*Point
	next int
}

func (h *history) add(p *Point) {
	if len(h.ring) < points {
		h.ring = append(h.ring, p)
		return
	}
	h.ring[h.next] = p
	h.next = (h.next + 1) % points
}

func (h *history) points() []*Point {
	out := make([]*Point, 0, len(h.ring))
	out = append(out, h.ring[h.next:]...)
	return append(out, h.ring[:h.next]...)
}
