package fuel

import "pipeline/sandbox/wasm/internal/binary"

// point is a place in a body where fuel is taken: for all that is executed
// from there to the next point, or would be if nothing were jumped over.
type point struct {
	at   int
	cost uint32
	// look: the counter is compared with zero here, as it is at the head of
	// each loop.
	look bool
}

// planner finds the points of one body.
//
// Whoever executes an instruction must have passed its point before. Control
// enters a stretch of code only at its start or where a block ends that
// something jumps out of. So a stretch goes on across the end of a block only
// if the block began within the same stretch, and every loop starts one.
type planner struct {
	points []point
	// open are the points in force where the open blocks began; -1 stands for
	// a loop.
	open []int
}

// plan returns the points in the order of their places.
func plan(m *binary.Module, b *binary.Body) []point {
	p := planner{points: []point{{cost: Call, look: b.Calls > 0}}}
	p.open = append(p.open, 0)
	s := m.Scan(b)
	for in, ok := s.Next(); ok; in, ok = s.Next() {
		p.step(&in)
	}
	if total := p.total(); total > trifle {
		p.points[0].look = true
	}
	return p.points
}

func (p *planner) total() (sum uint64) {
	for _, x := range p.points {
		sum += uint64(x.cost)
	}
	return sum
}

func (p *planner) step(in *binary.Instruction) {
	switch in.Op {
	case binary.OpBlock:
		p.open = append(p.open, p.current())
	case binary.OpIf:
		p.pay(1)
		p.open = append(p.open, p.current())
	case binary.OpLoop:
		p.open = append(p.open, -1)
		p.start(in.End)
	case binary.OpElse:
		if p.open[len(p.open)-1] != p.current() {
			p.start(in.End)
		}
	case binary.OpEnd:
		began := p.open[len(p.open)-1]
		if p.open = p.open[:len(p.open)-1]; len(p.open) > 0 && began != p.current() {
			p.start(in.End)
		}
	case binary.OpCall, binary.OpCallIndirect:
		p.pay(1)
		p.breathe(in.End)
	default:
		p.pay(1)
		p.breathe(in.End)
	}
}

func (p *planner) current() int { return len(p.points) - 1 }

func (p *planner) pay(n uint32) { p.points[len(p.points)-1].cost += n }

// start begins a new stretch.
func (p *planner) start(at int) { p.points = append(p.points, point{at: at}) }

// breathe begins a new stretch when this one is long.
func (p *planner) breathe(at int) {
	if p.points[len(p.points)-1].cost >= stretch {
		p.start(at)
	}
}
