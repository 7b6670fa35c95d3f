package topology

import (
	"slices"
)

// vertex is a node in the layout, or one of the corners of an edge that crosses
// layers (its node is nil).
type vertex struct {
	node  *Node
	layer int
	// width and height are in pixels, 0 for a corner; x and y the upper left.
	width, height, x, y int
	// in and out are the neighbours in the layers beside it.
	in, out []*vertex
}

// layered is the graph in layers: every edge that is not turned round goes from
// one layer to a later one, over a corner in each layer between.
type layered struct {
	layers [][]*vertex
	paths  []*path
}

// path is the way of an edge: its ends and corners from left to right. An edge
// that would go back to the left has only its ends, and goes below everything.
type path struct {
	edge     *Edge
	vertices []*vertex
	back     bool
}

// layer puts nodes into layers: each at the greatest distance from a stream that
// nothing goes to. Edges that close a cycle are found by a search in the order of
// the file, so that a file's drawing never changes by itself.
func layer(g *Graph) *layered {
	order, back := sorted(g)
	depth := map[*Node]int{}
	for _, n := range order {
		for _, e := range g.from(n) {
			if back[e] {
				continue
			}
			step := 1
			if e.Way == Buries {
				step = 2 // beside the streams of replies
			}
			depth[e.To] = max(depth[e.To], depth[n]+step)
		}
	}
	l := &layered{}
	at := map[*Node]*vertex{}
	for _, n := range g.Nodes {
		v := &vertex{node: n}
		at[n] = v
		l.put(v, depth[n])
	}
	for _, e := range g.Edges {
		p := &path{edge: e, back: back[e]}
		l.paths = append(l.paths, p)
		v, to := at[e.From], at[e.To]
		p.vertices = append(p.vertices, v)
		for !p.back && v.layer+1 < to.layer {
			corner := &vertex{}
			l.put(corner, v.layer+1)
			join(v, corner)
			p.vertices = append(p.vertices, corner)
			v = corner
		}
		if !p.back {
			join(v, to)
		}
		p.vertices = append(p.vertices, to)
	}
	return l
}

func (l *layered) put(v *vertex, layer int) {
	for len(l.layers) <= layer {
		l.layers = append(l.layers, nil)
	}
	v.layer = layer
	l.layers[layer] = append(l.layers[layer], v)
}

func join(a, b *vertex) {
	a.out, b.in = append(a.out, b), append(b.in, a)
}

// sorted are the nodes so that every edge but the returned ones goes to a later
// node.
func sorted(g *Graph) (order []*Node, back map[*Edge]bool) {
	back = map[*Edge]bool{}
	const open, done = 1, 2
	state := map[*Node]int{}
	var visit func(n *Node)
	visit = func(n *Node) {
		state[n] = open
		for _, e := range g.from(n) {
			switch state[e.To] {
			case open:
				back[e] = true
			case 0:
				visit(e.To)
			}
		}
		state[n] = done
		order = append(order, n)
	}
	for _, n := range g.Nodes {
		if state[n] == 0 && !g.entered(n) {
			visit(n)
		}
	}
	for _, n := range g.Nodes { // whole cycles, which nothing enters
		if state[n] == 0 {
			visit(n)
		}
	}
	slices.Reverse(order)
	return order, back
}

// entered reports whether an edge goes to a node.
func (g *Graph) entered(n *Node) bool {
	return slices.ContainsFunc(g.Edges, func(e *Edge) bool { return e.To == n })
}
