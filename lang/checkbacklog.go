package lang

import (
	"fmt"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// checkDeadlocks reports replies that go round through streams which all have a
// max_backlog. When they are full, each group holds replies for which only the
// others can make room, and none of them reads. One stream without a bound ends
// that: its readers go on, and with them the others. told hears of each stream in
// such a circle.
func (l *loader) checkDeadlocks(streams []*spec.Stream, ways map[*spec.Stream][]hop, told func(*spec.Stream)) {
	bounded := map[*spec.Stream][]hop{}
	for _, s := range streams {
		for _, h := range ways[s] {
			if h.reply && h.to.MaxBacklog > 0 {
				bounded[s] = append(bounded[s], h)
			}
		}
	}
	knots := knots(streams, bounded)
	seen := map[int]bool{}
	for _, s := range streams {
		if seen[knots[s]] {
			continue
		}
		circle := way(s, bounded, knots)
		if circle == nil {
			continue
		}
		seen[knots[s]] = true
		told(s)
		l.deadlock(circle)
	}
}

// deadlock reports a circle at the bound of its first stream.
func (l *loader) deadlock(circle []hop) {
	bounds := map[*spec.Stream]*value{}
	for _, n := range l.root.all("stream") {
		bounds[l.built.streams[n]] = n.val("max_backlog")
	}
	d := l.fail(diag.BacklogDeadlock, bounds[circle[0].from].rng, "replies that wait for room can wait for each other: "+round(circle),
		"Once these streams are full, nobody reads them: each group holds replies that wait for another one to read. Remove max_backlog from one of them, or end the circle.")
	for i, h := range circle {
		d.Relate(h.at, h.text)
		if i < len(circle)-1 {
			d.Relate(bounds[h.to].rng, fmt.Sprintf("%s has a max_backlog too", h.to.Name))
		}
	}
}

// checkBacklogs warns of bounds that do not hold what they seem to.
func (l *loader) checkBacklogs() {
	letters := map[*node]*builtGroup{}
	for _, g := range l.built.groups {
		if d := g.node.one("dead_letter"); d != nil && g.enabled() && letters[d.val("to").ref] == nil {
			letters[d.val("to").ref] = g
		}
	}
	for _, n := range l.root.all("stream") {
		bound := n.val("max_backlog")
		if n.bad || !bound.set || !bound.ok {
			continue
		}
		if g := letters[n]; g != nil {
			l.add(diag.Warning, diag.BacklogDeadLetters, bound.rng, fmt.Sprintf("max_backlog of stream %q does not hold dead letters back", n.label),
				"A dead letter never waits: an entry that cannot be handled must not stop those that can. Bound the stream with retention { max_age = \"30d\" }.").
				Relate(g.node.one("dead_letter").val("to").rng, fmt.Sprintf("group %q sends dead letters here", g.node.label))
		}
		r := n.one("retention")
		if r == nil || r.val("protect").set || !r.val("protect").ok {
			continue
		}
		if length := r.val("max_length"); length.set && length.ok && length.integer < bound.integer {
			l.add(diag.Warning, diag.BacklogAboveLength, bound.rng, fmt.Sprintf("stream %q is trimmed to %d entries before its backlog is %d", n.label, length.integer, bound.integer),
				"Unread entries are removed before publishing is slowed down. Make max_length larger than max_backlog, or add protect = \"unacknowledged\".").
				Relate(length.rng, "max_length is set here")
		}
	}
}
