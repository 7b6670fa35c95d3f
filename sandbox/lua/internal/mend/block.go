package mend

import "github.com/yuin/gopher-lua/ast"

// block walks statements in a scope of their own.
func (m *mender) block(list []ast.Stmt, l *loop, emitted bool, names ...string) []ast.Stmt {
	m.open(l)
	defer m.close()
	m.declare(names...)
	return m.stmts(list, emitted)
}

// stmts walks the statements of the current scope. emitted tells that the
// compiler has emitted an instruction, other than a jump, that every way into
// the list passes: what comes first then is not where a loop jumps back to.
func (m *mender) stmts(list []ast.Stmt, emitted bool) []ast.Stmt {
	out := make([]ast.Stmt, 0, len(list))
	for _, s := range list {
		switch x := s.(type) {
		case *ast.LabelStmt:
			out, emitted = append(out, x), false
			continue
		case *ast.BreakStmt:
			out = append(out, m.leave(x, !emitted))
		case *ast.DoBlockStmt:
			x.Stmts = m.block(x.Stmts, nil, emitted)
			out = append(out, x)
			emitted = emitted || emits(x.Stmts)
			continue
		default:
			out = append(out, m.stmt(s))
		}
		emitted = true
	}
	return out
}

// emits reports whether a list has any statement that is more than a label.
func emits(list []ast.Stmt) bool {
	for _, s := range list {
		switch x := s.(type) {
		case *ast.LabelStmt:
		case *ast.DoBlockStmt:
			if emits(x.Stmts) {
				return true
			}
		default:
			return true
		}
	}
	return false
}

// stmt returns what stands for a statement.
func (m *mender) stmt(s ast.Stmt) ast.Stmt {
	switch x := s.(type) {
	case *ast.AssignStmt:
		return m.assign(x)
	case *ast.LocalAssignStmt:
		return m.local(x)
	case *ast.FuncCallStmt:
		x.Expr = m.expr(x.Expr)
	case *ast.FuncDefStmt:
		x.Name.Func, x.Name.Receiver = m.expr(x.Name.Func), m.expr(x.Name.Receiver)
		m.function(x.Func, x.Name.Receiver != nil)
	case *ast.ReturnStmt:
		m.exprs(x.Exprs)
	case *ast.IfStmt:
		x.Condition = branch(m.expr(x.Condition), true)
		x.Then = m.block(x.Then, nil, true)
		x.Else = m.block(x.Else, nil, true)
	case *ast.GotoStmt:
		m.fn.jumps = true
	default:
		return m.loop(s)
	}
	return s
}
