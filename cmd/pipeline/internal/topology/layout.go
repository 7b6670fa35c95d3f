package topology

import (
	"cmp"
	"slices"

	"pipeline/cmd/pipeline/internal/view"
)

// The measures of the drawing, in pixels. Text is set in a font of equal widths,
// so that its width is known without measuring it.
const (
	margin     = 16
	charWidth  = 8 // of a name
	noteWidth  = 7 // of a note, which is smaller
	lineHeight = 16
	padding    = 12
	least      = 120 // the narrowest box
	rowGap     = 22  // between the boxes of a layer
	cornerGap  = 14  // around the corners of edges
	columnGap  = 56  // between layers, beside the captions of edges
	portGap    = 14  // between the ends of edges at a box
	laneGap    = 14  // between edges that go back below everything
	rounds     = 8
)

// place gives every vertex its place, and returns the size of the drawing.
func (l *layered) place() (width, height int) {
	l.measure()
	for range rounds {
		l.arrange(1, func(v *vertex) []*vertex { return v.in })
		l.arrange(-1, func(v *vertex) []*vertex { return v.out })
	}
	l.arrange(1, func(v *vertex) []*vertex { return v.in })
	for _, layer := range l.layers {
		stack(layer, func(*vertex) float64 { return 0 })
	}
	for range rounds {
		l.level(1, func(v *vertex) []*vertex { return v.in })
		l.level(-1, func(v *vertex) []*vertex { return v.out })
	}
	return l.columns(), l.rows()
}

// measure sizes the boxes.
func (l *layered) measure() {
	for _, layer := range l.layers {
		for _, v := range layer {
			if v.node == nil {
				continue
			}
			v.width = max(least, view.Columns(short(v.node.Name, longest))*charWidth+2*padding)
			for _, line := range v.node.notes() {
				v.width = max(v.width, view.Columns(short(line, longest))*noteWidth+2*padding)
			}
			lines := 2 + len(v.node.notes())
			ports := max(l.ends(v, true), l.ends(v, false))
			v.height = max(lines*lineHeight+padding, (ports+1)*portGap)
		}
	}
}

// ends counts the edges that begin, or end, at a vertex.
func (l *layered) ends(v *vertex, begin bool) (n int) {
	for _, p := range l.paths {
		if begin && p.vertices[0] == v || !begin && p.vertices[len(p.vertices)-1] == v {
			n++
		}
	}
	return n
}

// each visits the layers from the left, or from the right.
func (l *layered) each(direction int, visit func(layer []*vertex)) {
	if direction > 0 {
		for _, layer := range l.layers {
			visit(layer)
		}
		return
	}
	for _, layer := range slices.Backward(l.layers) {
		visit(layer)
	}
}

// arrange orders each layer by where its neighbours in the one before stand,
// which brings most of the crossings out. What has none stays where it is.
func (l *layered) arrange(direction int, beside func(*vertex) []*vertex) {
	rank := map[*vertex]float64{}
	l.each(direction, func(layer []*vertex) {
		for i, v := range layer {
			rank[v] = float64(i)
			if n := beside(v); len(n) > 0 {
				sum := 0.0
				for _, w := range n {
					sum += rank[w]
				}
				rank[v] = sum / float64(len(n))
			}
		}
		slices.SortStableFunc(layer, func(a, b *vertex) int { return cmp.Compare(rank[a], rank[b]) })
		for i, v := range layer {
			rank[v] = float64(i)
		}
	})
}

// level moves each layer's vertices as near as their order allows to the middle
// of their neighbours.
func (l *layered) level(direction int, beside func(*vertex) []*vertex) {
	l.each(direction, func(layer []*vertex) {
		stack(layer, func(v *vertex) float64 {
			n := beside(v)
			if len(n) == 0 {
				return float64(v.y) + float64(v.height)/2
			}
			sum := 0.0
			for _, w := range n {
				sum += float64(w.y) + float64(w.height)/2
			}
			return sum / float64(len(n))
		})
	})
}

// block is a run of vertices that touch each other; at is where the first would
// stand for all of them to be nearest to where they want to be.
type block struct {
	at    float64
	count int
}

// stack places a layer: in its order, without overlap, and with the least sum of
// squared distances between the middles and where wanted has them (pooling
// adjacent violators, as for isotonic regression).
func stack(layer []*vertex, wanted func(*vertex) float64) {
	offsets := make([]float64, len(layer))
	var blocks []block
	offset := 0.0
	for i, v := range layer {
		if i > 0 {
			offset += float64(layer[i-1].height + gapBetween(layer[i-1], v))
		}
		offsets[i] = offset
		blocks = append(blocks, block{wanted(v) - float64(v.height)/2 - offset, 1})
		for n := len(blocks); n > 1 && blocks[n-2].at > blocks[n-1].at; n = len(blocks) {
			a, b := blocks[n-2], blocks[n-1]
			all := float64(a.count + b.count)
			blocks = append(blocks[:n-2], block{(a.at*float64(a.count) + b.at*float64(b.count)) / all, a.count + b.count})
		}
	}
	i := 0
	for _, b := range blocks {
		for range b.count {
			layer[i].y = int(b.at + offsets[i])
			i++
		}
	}
}

func gapBetween(a, b *vertex) int {
	if a.node == nil || b.node == nil {
		return cornerGap
	}
	return rowGap
}

// columns gives the layers their places from left to right.
func (l *layered) columns() int {
	x := margin
	for i, layer := range l.layers {
		widest := 0
		for _, v := range layer {
			widest = max(widest, v.width)
		}
		for _, v := range layer {
			v.x = x
			if v.node == nil {
				v.width = widest // the edge goes straight through the layer
			}
		}
		x += widest
		if i < len(l.layers)-1 || l.back() > 0 {
			x += columnGap + l.captions(i)
		}
	}
	return x + margin
}

// captions is the width of the widest caption of an edge that begins in a layer.
func (l *layered) captions(layer int) (widest int) {
	for _, p := range l.paths {
		if p.vertices[0].layer == layer {
			widest = max(widest, view.Columns(short(p.edge.caption(), longest))*noteWidth)
		}
	}
	return widest
}

// back counts the edges that go back.
func (l *layered) back() (n int) {
	for _, p := range l.paths {
		if p.back {
			n++
		}
	}
	return n
}

// rows moves everything below the upper margin, and returns the height.
func (l *layered) rows() int {
	top, bottom := 0, 0
	first := true
	for _, layer := range l.layers {
		for _, v := range layer {
			if first {
				top, bottom, first = v.y, v.y+v.height, false
			}
			top, bottom = min(top, v.y), max(bottom, v.y+v.height)
		}
	}
	for _, layer := range l.layers {
		for _, v := range layer {
			v.y += margin - top
		}
	}
	return bottom - top + 2*margin
}
