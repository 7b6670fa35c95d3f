package topology

import (
	"testing"

	"pgregory.net/rapid"
)

// box is where something stands.
type box struct{ left, top, right, bottom int }

func (v *vertex) box() box { return box{v.x, v.y, v.x + v.width, v.y + v.height} }

func (b box) holds(p point) bool {
	return p.x > b.left && p.x < b.right && p.y > b.top && p.y < b.bottom
}

func (b box) meets(o box) bool {
	return b.left < o.right && o.left < b.right && b.top < o.bottom && o.top < b.bottom
}

// points are places along a curve, its ends among them.
func (c curve) points() (all []point) {
	const steps = 40
	mid := (c.from.x + c.to.x) / 2
	for i := range steps + 1 {
		t := float64(i) / steps
		p := point{c.from.x + int(t*float64(c.to.x-c.from.x)), c.from.y + int(t*float64(c.to.y-c.from.y))}
		if !c.straight {
			at := func(a, b, c, d int) int {
				u := 1 - t
				return int(u*u*u*float64(a) + 3*u*u*t*float64(b) + 3*u*t*t*float64(c) + t*t*t*float64(d))
			}
			p = point{at(c.from.x, mid, mid, c.to.x), at(c.from.y, c.from.y, c.to.y, c.to.y)}
		}
		all = append(all, p)
	}
	return all
}

// Whatever the pipeline: boxes stand apart and inside, every edge goes from the
// right of its beginning to the left of its end, without a gap, inside, and through
// no box.
func TestBoxesStandApartAndEdgesGoAroundThem(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		l := layer(drawn(t))
		width, height := l.place()
		lines, bottom := l.route(height - margin + laneGap)
		height = max(height, bottom+margin)
		inside := box{-1, -1, width + 1, height + 1}
		var boxes []*vertex
		for _, layer := range l.layers {
			for _, v := range layer {
				if v.node != nil {
					boxes = append(boxes, v)
				}
			}
		}
		for i, v := range boxes {
			if b := v.box(); !inside.holds(point{b.left, b.top}) || !inside.holds(point{b.right, b.bottom}) {
				t.Fatalf("%s at %v is outside of %d × %d", v.node.ID, b, width, height)
			}
			for _, w := range boxes[:i] {
				if v.box().meets(w.box()) {
					t.Fatalf("%s at %v meets %s at %v", v.node.ID, v.box(), w.node.ID, w.box())
				}
			}
		}
		for i, line := range lines {
			checkLine(t, l.paths[i], line, boxes, inside)
		}
	})
}

func checkLine(t *rapid.T, p *path, line line, boxes []*vertex, inside box) {
	name := line.edge.From.ID + " to " + line.edge.To.ID
	from, to := p.vertices[0].box(), p.vertices[len(p.vertices)-1].box()
	at := line.curves[0].from
	if at.x != from.right || at.y <= from.top || at.y >= from.bottom {
		t.Fatalf("%s begins at %v, not at the right of %v", name, at, from)
	}
	for _, c := range line.curves {
		if c.from != at {
			t.Fatalf("%s jumps from %v to %v", name, at, c.from)
		}
		at = c.to
		for _, q := range c.points() {
			if !inside.holds(q) {
				t.Fatalf("%s is outside at %v", name, q)
			}
			for _, v := range boxes {
				if v.box().holds(q) {
					t.Fatalf("%s goes through %s at %v", name, v.node.ID, q)
				}
			}
		}
	}
	if at.x != to.left || at.y <= to.top || at.y >= to.bottom {
		t.Fatalf("%s ends at %v, not at the left of %v", name, at, to)
	}
}

// No edge goes to the left but those that close a cycle.
func TestEdgesGoToTheRightUnlessTheyCloseACycle(t *testing.T) {
	back := 0
	for _, p := range layer(odd()).paths {
		if p.back {
			back++
			continue
		}
		if first, last := p.vertices[0], p.vertices[len(p.vertices)-1]; first.layer >= last.layer {
			t.Errorf("%s in layer %d to %s in layer %d", p.edge.From.ID, first.layer, p.edge.To.ID, last.layer)
		}
	}
	if back != 3 {
		t.Errorf("%d edges go back, want those of the three subscriptions that reply to where entries come from", back)
	}
}
