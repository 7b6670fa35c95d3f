package lang

import (
	"fmt"
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// hop is one way that entries take from stream to stream.
type hop struct {
	from, to *spec.Stream
	at       diag.Range
	text     string
	// reply tells a reply from a dead letter.
	reply bool
}

// checkCycles warns of entries that can come back to the stream they began in,
// by way of others. What a group sends to its own stream is an error of its own.
func (l *loader) checkCycles() {
	ways := map[*spec.Stream][]hop{}
	var streams []*spec.Stream
	for _, g := range l.built.groups {
		for _, h := range l.hops(g) {
			if h.from == h.to || h.to == nil {
				continue
			}
			if ways[h.from] == nil {
				streams = append(streams, h.from)
			}
			ways[h.from] = append(ways[h.from], h)
		}
	}
	told := map[int]bool{}
	knots := knots(streams, ways)
	l.checkDeadlocks(streams, ways, func(s *spec.Stream) { told[knots[s]] = true })
	for _, s := range streams {
		if told[knots[s]] {
			continue
		}
		if circle := way(s, ways, knots); circle != nil {
			told[knots[s]] = true
			l.cycle(circle)
		}
	}
}

// hops are the ways out of a group's stream.
func (l *loader) hops(g *builtGroup) []hop {
	var out []hop
	if g.spec.Stream == nil || !g.enabled() {
		return nil
	}
	for _, s := range g.subs {
		if !s.enabled {
			continue
		}
		for _, r := range append(s.node.all("reply"), s.node.all("route")...) {
			if to := r.val("to"); to.ref != nil {
				out = append(out, hop{g.spec.Stream, l.built.streams[to.ref], to.rng, fmt.Sprintf("%q replies to %s here", s.node.label, l.built.streams[to.ref].Name), true})
			}
		}
	}
	if d := g.node.one("dead_letter"); d != nil && d.val("to").ref != nil {
		out = append(out, hop{g.spec.Stream, g.spec.DeadLetter, d.val("to").rng, fmt.Sprintf("group %q sends dead letters to %s here", g.node.label, g.spec.DeadLetter.Name), false})
	} else if d == nil {
		out = append(out, hop{g.spec.Stream, g.spec.DeadLetter, l.header(g.node), fmt.Sprintf("group %q sends dead letters to %s", g.node.label, g.spec.DeadLetter.Name), false})
	}
	return out
}

// knots numbers the streams so that two have the same number when each leads to
// the other (Tarjan's strongly connected components).
func knots(streams []*spec.Stream, ways map[*spec.Stream][]hop) map[*spec.Stream]int {
	number, low, knot := map[*spec.Stream]int{}, map[*spec.Stream]int{}, map[*spec.Stream]int{}
	var open []*spec.Stream
	var visit func(s *spec.Stream)
	visit = func(s *spec.Stream) {
		number[s] = len(number) + 1
		low[s] = number[s]
		open = append(open, s)
		for _, h := range ways[s] {
			if number[h.to] == 0 {
				visit(h.to)
				low[s] = min(low[s], low[h.to])
			} else if knot[h.to] == 0 {
				low[s] = min(low[s], number[h.to])
			}
		}
		if low[s] != number[s] {
			return
		}
		for {
			last := open[len(open)-1]
			open = open[:len(open)-1]
			knot[last] = number[s]
			if last == s {
				return
			}
		}
	}
	for _, s := range streams {
		if number[s] == 0 {
			visit(s)
		}
	}
	return knot
}

// way is the shortest way from a stream back to it, nil when there is none.
func way(start *spec.Stream, ways map[*spec.Stream][]hop, knots map[*spec.Stream]int) []hop {
	came := map[*spec.Stream]hop{}
	queue := []*spec.Stream{start}
	for len(queue) > 0 {
		s := queue[0]
		queue = queue[1:]
		for _, h := range ways[s] {
			if h.to == start {
				circle := []hop{h}
				for at := h.from; at != start; at = came[at].from {
					circle = append([]hop{came[at]}, circle...)
				}
				return circle
			}
			if _, seen := came[h.to]; !seen && knots[h.to] == knots[start] {
				came[h.to] = h
				queue = append(queue, h.to)
			}
		}
	}
	return nil
}

// round names the streams of a circle.
func round(circle []hop) string {
	var names strings.Builder
	for _, h := range circle {
		names.WriteString(h.from.Name + " → ")
	}
	return names.String() + circle[0].from.Name
}

// cycle reports a circle at its first hop.
func (l *loader) cycle(circle []hop) {
	d := l.add(diag.Warning, diag.ReplyCycle, circle[0].at, "entries can go round: "+round(circle),
		"What goes the whole way comes back as a new entry, for ever. See to it that one step ends it: a when that stops holding, or another stream.")
	for _, h := range circle[1:] {
		d.Relate(h.at, h.text)
	}
}
