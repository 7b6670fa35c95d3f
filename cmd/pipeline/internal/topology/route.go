package topology

import (
	"cmp"
	"slices"
)

// point is a place in the drawing, in pixels from the upper left.
type point struct{ x, y int }

// curve is a piece of an edge's line: straight, or bent between two points that it
// leaves and reaches level.
type curve struct {
	from, to point
	straight bool
}

// line is an edge as it is drawn.
type line struct {
	edge   *Edge
	curves []curve
	// label is where the middle of the caption stands.
	label point
}

// ports are the places at which edges leave or reach boxes: those of one side
// stand apart, in the order of what is at their other end.
type ports map[*path]int

// portsOf spreads the edges of every box along its right, or left, side.
func (l *layered) portsOf(right bool) ports {
	at := ports{}
	for _, layer := range l.layers {
		for _, v := range layer {
			if v.node != nil {
				l.spread(at, v, right)
			}
		}
	}
	return at
}

func (l *layered) spread(at ports, v *vertex, right bool) {
	type end struct {
		path *path
		next int
	}
	var ends []end
	for _, p := range l.paths {
		own, next := p.vertices[0], p.vertices[1]
		if !right {
			own, next = p.vertices[len(p.vertices)-1], p.vertices[len(p.vertices)-2]
		}
		if own != v {
			continue
		}
		y := next.y + next.height/2
		if p.back {
			y = 1 << 30 // below everything
		}
		ends = append(ends, end{p, y})
	}
	slices.SortStableFunc(ends, func(a, b end) int { return cmp.Compare(a.next, b.next) })
	for i, e := range ends {
		at[e.path] = v.y + v.height*(i+1)/(len(ends)+1)
	}
}

// route draws every edge. Edges that go back are below bottom, each in a lane of
// its own; the new bottom is returned.
func (l *layered) route(bottom int) ([]line, int) {
	leave, reach := l.portsOf(true), l.portsOf(false)
	var lines []line
	for _, p := range l.paths {
		from, to := p.vertices[0], p.vertices[len(p.vertices)-1]
		start, end := point{from.x + from.width, leave[p]}, point{to.x, reach[p]}
		if p.back {
			lines = append(lines, goBack(p.edge, start, end, l.right(from.layer), bottom))
			bottom += laneGap
			continue
		}
		lines = append(lines, l.forward(p, start, end))
	}
	return lines, bottom
}

// right is where the widest box of a layer ends.
func (l *layered) right(layer int) (x int) {
	for _, v := range l.layers[layer] {
		x = max(x, v.x+v.width)
	}
	return x
}

func (l *layered) forward(p *path, start, end point) line {
	out := line{edge: p.edge}
	at := start
	add := func(to point, straight bool) {
		if at != to {
			out.curves = append(out.curves, curve{at, to, straight})
		}
		at = to
	}
	// A box may be narrower than its layer.
	add(point{l.right(p.vertices[0].layer), at.y}, true)
	bend := at
	for i, v := range p.vertices[1:] {
		to := end
		if v.node == nil {
			to = point{v.x, v.y}
		}
		if i == 0 {
			out.label = point{(bend.x + to.x) / 2, (bend.y + to.y) / 2}
		}
		add(to, false)
		if v.node == nil {
			add(point{v.x + v.width, v.y}, true)
		}
	}
	return out
}

// goBack draws an edge to an earlier layer: out to the right, down, below
// everything to the left, and up again.
func goBack(e *Edge, start, end point, right, lane int) line {
	const turn = laneGap
	down, up := point{right + turn, lane}, point{end.x - turn, lane}
	return line{
		edge: e,
		curves: []curve{
			{start, point{right, start.y}, true}, {point{right, start.y}, down, false}, {down, up, true}, {up, end, false},
		},
		label: point{(down.x + up.x) / 2, lane},
	}
}
