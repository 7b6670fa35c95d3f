package mend

import "github.com/yuin/gopher-lua/ast"

// function walks a function. Before a goto the compiler closes, for the
// functions that have taken them, the locals from a register on: the first of
// what is left, or 0 where nothing has to be closed. So 0 must never be right:
// then whoever has the code can take such instructions out. A function without
// parameters gets a local of its own in the first register for that.
func (m *mender) function(x *ast.FunctionExpr, method bool) {
	m.fn = &function{parent: m.fn, constants: map[string]bool{}}
	m.open(nil)
	if method {
		m.declare("self")
	}
	m.declare(x.ParList.Names...)
	if x.ParList.HasVargs {
		m.declare("arg")
	}
	x.Stmts = m.stmts(x.Stmts, true)
	if m.fn.jumps && !method && len(x.ParList.Names) == 0 && !x.ParList.HasVargs {
		pad := place(&ast.LocalAssignStmt{Names: []string{Pad}}, x)
		x.Stmts = append([]ast.Stmt{pad}, x.Stmts...)
	}
	m.close()
	m.fn = m.fn.parent
}
