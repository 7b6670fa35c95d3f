package binary

// code reads the bodies of all functions.
func (m *Module) code(r *reader) {
	n := r.count(MaxFunctions, "functions")
	if r.ok() && n != len(m.Functions) {
		r.broken("it declares other functions than it has")
		return
	}
	m.Bodies = make([]Body, n)
	for i := range m.Bodies {
		size := r.u32()
		c := &checker{m: m, function: uint32(len(m.Imports) + i), body: &m.Bodies[i]}
		if r.ok() && size > MaxBody {
			r.fail(c.refuse("split it", "is %d bytes long; a function may have %d", size, MaxBody))
			return
		}
		body := r.part(size)
		c.r = body
		c.check()
		c.place()
		r.adopt(body)
		if !r.ok() {
			return
		}
	}
}

// checker checks one body.
type checker struct {
	m        *Module
	r        *reader
	function uint32
	body     *Body
	depth    int
}

// refuse words a problem of the function.
func (c *checker) refuse(remedy, format string, args ...any) *RefusedError {
	p := refuse(remedy, format, args...)
	p.Text = "function " + c.m.FunctionName(c.function) + " " + p.Text
	p.placed = true
	return p
}

// place adds the function to a problem that does not name it yet.
func (c *checker) place() {
	if p := c.r.bad; p != nil && !p.placed {
		c.r.bad = &RefusedError{Text: "function " + c.m.FunctionName(c.function) + ": " + p.Text, Remedy: p.Remedy, placed: true}
	}
}

func (c *checker) check() {
	c.locals()
	code := c.r.i
	s := Scanner{m: c.m, r: c.r}
	c.depth = 1
	for c.r.more() {
		if c.depth == 0 {
			c.r.broken("a function goes on after its end")
		}
		in, ok := s.Next()
		if !ok {
			break
		}
		c.instruction(&in)
	}
	if c.r.ok() && c.depth != 0 {
		c.r.broken("a function does not end")
	}
	if c.r.ok() {
		c.body.Code = c.r.b[code:]
	}
}

func (c *checker) locals() {
	// The parameters are locals too.
	total := uint64(len(c.m.TypeOf(c.function).Params))
	groups := c.r.count(MaxLocals, "declarations of locals in one function")
	from := c.r.i
	for range groups {
		total += uint64(c.r.u32())
		c.r.checkType(c.r.byte())
		if !c.r.ok() {
			return
		}
		if total > MaxLocals {
			c.r.fail(c.refuse("split it", "has more than %d locals", MaxLocals))
			return
		}
	}
	c.body.Groups, c.body.Count, c.body.Locals = uint32(groups), uint32(total), c.r.b[from:c.r.i]
}

func (c *checker) instruction(in *Instruction) {
	c.body.Instructions++
	switch in.Op {
	case OpLoop:
		c.body.Loops++
		c.body.Paths += 6 // a loop around it is added, and a look at the fuel
		c.deeper()
	case OpBlock:
		c.body.Paths++
		c.deeper()
	case OpIf:
		c.body.Paths += 3
		c.deeper()
	case OpBrIf:
		c.body.Paths += 2
	case OpBrTable:
		c.body.Paths += uint32(len(in.Targets)) + 1
	case OpEnd:
		c.depth--
	case OpCall:
		if int(in.Index) >= len(c.m.Imports) {
			c.body.Calls++
		}
	case OpCallIndirect:
		c.body.Calls++
	}
	if in.Bulk() {
		if c.body.Bulk++; c.body.Bulk > MaxBulk {
			c.r.fail(c.refuse("split it", "has more than %d instructions that copy or fill memory or tables", MaxBulk))
		}
	}
}

func (c *checker) deeper() {
	if c.depth++; c.depth > MaxNesting {
		c.r.fail(c.refuse("split it", "nests blocks more than %d deep", MaxNesting))
	}
}
