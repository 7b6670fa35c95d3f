package mend

import (
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// loop is a loop with, when a break needs it, a label behind it.
func (m *mender) loop(s ast.Stmt) ast.Stmt {
	l := &loop{}
	out := s
	switch x := s.(type) {
	case *ast.WhileStmt:
		x.Condition = branch(m.expr(x.Condition), false)
		x.Stmts = m.block(x.Stmts, l, false)
	case *ast.RepeatStmt:
		// The condition sees the locals of the body.
		m.open(l)
		x.Stmts = m.stmts(x.Stmts, false)
		x.Condition = m.expr(x.Condition)
		m.close()
	case *ast.NumberForStmt:
		x.Init, x.Limit, x.Step = m.expr(x.Init), m.expr(x.Limit), m.expr(x.Step)
		x.Stmts = m.block(x.Stmts, l, false, x.Name)
	case *ast.GenericForStmt:
		m.exprs(x.Exprs)
		x.Stmts = m.block(x.Stmts, l, false, x.Names...)
		out = iteration(x)
	}
	if l.exit == "" {
		return out
	}
	label := place(&ast.LabelStmt{Name: l.exit}, s)
	return place(&ast.DoBlockStmt{Stmts: []ast.Stmt{out, label}}, s)
}

// iteration gives a `for … in` its three values. The compiler counts the
// loop's own variables instead.
func iteration(x *ast.GenericForStmt) ast.Stmt {
	if len(x.Exprs) == 1 && multiple(x.Exprs[0]) {
		return x
	}
	names := []string{"\x00f", "\x00s", "\x00c"}
	hold := place(&ast.LocalAssignStmt{Names: names, Exprs: x.Exprs}, x)
	hold.SetLastLine(0)
	x.Exprs = nil
	for _, name := range names {
		x.Exprs = append(x.Exprs, ident(name, x))
	}
	return place(&ast.DoBlockStmt{Stmts: []ast.Stmt{hold, x}}, x)
}

// leave is a break. Where the compiler would not close the locals on the way
// that functions have taken, or where it stands first and would be a bare jump,
// it is a goto to behind the loop.
func (m *mender) leave(x *ast.BreakStmt, first bool) ast.Stmt {
	captured := false
	s := m.scope
	for s != nil && s.fn == m.fn && s.loop == nil {
		captured = captured || s.captured
		s = s.parent
	}
	if s == nil || s.fn != m.fn || !captured && !first {
		return x
	}
	if s.loop.exit == "" {
		m.labels++
		s.loop.exit = "\x00exit" + strconv.Itoa(m.labels)
	}
	m.fn.jumps = true
	return place(&ast.GotoStmt{Label: s.loop.exit}, x)
}
