package binary

// work bounds what the compiler has to do where that is more than in
// proportion to the length of the code.
func (m *Module) work(r *reader) {
	mutable := 2 // which are added
	for _, g := range m.Globals {
		if g.Mutable {
			mutable++
		}
	}
	var all work
	for i := range m.Bodies {
		b := &m.Bodies[i]
		w := work{
			instructions: int(b.Instructions), squares: int(b.Paths) * int(b.Paths),
			loopLocals: int(b.Loops) * int(b.Count), reloads: int(b.Calls) * mutable,
		}
		all.add(w)
		c := checker{m: m, function: uint32(len(m.Imports) + i)}
		switch {
		case w.instructions > MaxBodyLength:
			r.fail(c.refuse("split it", "has %d instructions; a function may have %d", w.instructions, MaxBodyLength))
		case b.Paths > MaxPaths:
			r.fail(c.refuse("split it", "has about %d ways that its branches can take; a function may have %d", b.Paths, MaxPaths))
		case w.loopLocals > MaxLoopLocals:
			r.fail(c.refuse("split it", "has %d loops and %d locals; loops times locals may be %d", b.Loops, b.Count, MaxLoopLocals))
		case w.reloads > MaxReloads:
			r.fail(c.refuse("split it, or use fewer globals", "has %d calls, and the module %d globals that change; calls times globals may be %d", b.Calls, mutable, MaxReloads))
		}
	}
	if what := all.tooMuch(); what != "" {
		r.fail(refuse("leave out what the handler does not need, or split it into several handlers", "the module as a whole has too many %s to be compiled in reasonable time", what))
	}
}

// work is what a function or a module takes.
type work struct{ instructions, squares, loopLocals, reloads int }

func (w *work) add(x work) {
	w.instructions += x.instructions
	w.squares += x.squares
	w.loopLocals += x.loopLocals
	w.reloads += x.reloads
}

// tooMuch names what a module has too much of.
func (w *work) tooMuch() string {
	switch {
	case w.instructions > MaxInstructions:
		return "instructions"
	case w.squares > MaxPathsSquare:
		return "branches in large functions"
	case w.loopLocals > MaxAllLoopLocals:
		return "locals in functions with loops"
	case w.reloads > MaxAllReloads:
		return "calls and globals"
	}
	return ""
}
