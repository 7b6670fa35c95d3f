package mend

import (
	"slices"
	"strconv"

	"github.com/yuin/gopher-lua/ast"
)

// assign is an assignment. With more than one target everything is read before
// anything is set, through locals of a block around it.
func (m *mender) assign(x *ast.AssignStmt) ast.Stmt {
	for i, target := range x.Lhs {
		x.Lhs[i] = m.target(target)
	}
	m.exprs(x.Rhs)
	if len(x.Lhs) > 1 || len(x.Rhs) > 1 {
		return m.parallel(x)
	}
	if _, ok := x.Lhs[0].(*ast.IdentExpr); !ok {
		return x
	}
	switch value := x.Rhs[0].(type) {
	case *ast.FuncCallExpr:
		// One target takes one value anyway.
		value.AdjustRet = false
	case *ast.LogicalOpExpr:
		return m.parallel(x)
	}
	return x
}

// target is what an assignment sets.
func (m *mender) target(e ast.Expr) ast.Expr {
	get, ok := m.expr(e).(*ast.AttrGetExpr)
	if !ok {
		return e
	}
	switch get.Object.(type) {
	case *ast.StringExpr, *ast.NumberExpr, *ast.ArithmeticOpExpr, *ast.UnaryMinusOpExpr:
		// What `or` gives is a value of its own for the compiler.
		get.Object = place(&ast.LogicalOpExpr{Operator: "or", Lhs: get.Object, Rhs: get.Object}, get)
	}
	return get
}

// parallel reads into locals first and sets from the right then, as the
// reference implementation does.
func (m *mender) parallel(x *ast.AssignStmt) ast.Stmt {
	hold := holder{at: x, set: map[string]bool{}}
	for _, target := range x.Lhs {
		if id, ok := target.(*ast.IdentExpr); ok {
			hold.set[id.Value] = true
		}
	}
	for _, target := range x.Lhs {
		if get, ok := target.(*ast.AttrGetExpr); ok {
			get.Object, get.Key = hold.keep(get.Object), hold.keep(get.Key)
		}
	}
	block := place(&ast.DoBlockStmt{}, x)
	if len(hold.names) > 0 {
		block.Stmts = append(block.Stmts, place(&ast.LocalAssignStmt{Names: hold.names, Exprs: hold.values}, x))
	}
	values := make([]string, len(x.Lhs))
	for i := range values {
		values[i] = "\x00v" + strconv.Itoa(i)
	}
	block.Stmts = append(block.Stmts, place(&ast.LocalAssignStmt{Names: values, Exprs: x.Rhs}, x))
	for i, target := range slices.Backward(x.Lhs) {
		set := &ast.AssignStmt{Lhs: []ast.Expr{target}, Rhs: []ast.Expr{ident(values[i], target)}}
		block.Stmts = append(block.Stmts, place(set, target))
	}
	return block
}

// holder collects what an assignment has to read before it sets anything.
type holder struct {
	at     ast.Stmt
	set    map[string]bool
	names  []string
	values []ast.Expr
}

// keep is e, or the local that holds it when setting could change it.
func (h *holder) keep(e ast.Expr) ast.Expr {
	if _, constant := truthOf(e); constant {
		return e
	}
	if id, ok := e.(*ast.IdentExpr); ok && !h.set[id.Value] {
		return e
	}
	name := "\x00h" + strconv.Itoa(len(h.names))
	h.names, h.values = append(h.names, name), append(h.values, e)
	return ident(name, h.at)
}

// local is `local a, b = …`, or `local function f`, which the parser tells by
// its last line.
func (m *mender) local(x *ast.LocalAssignStmt) ast.Stmt {
	if len(x.Names) == 1 && len(x.Exprs) == 1 {
		if fn, ok := x.Exprs[0].(*ast.FunctionExpr); ok {
			m.named(x, fn)
			return x
		}
	}
	m.exprs(x.Exprs)
	m.declare(x.Names...)
	return x
}

// named is a function with a local name. The compiler takes every such name to
// be known inside; with a second name it does not.
func (m *mender) named(x *ast.LocalAssignStmt, fn *ast.FunctionExpr) {
	name := x.Names[0]
	if x.LastLine() > 0 {
		m.declare(name)
		m.function(fn, false)
		return
	}
	before := m.mentions[name]
	m.function(fn, false)
	m.declare(name)
	if m.mentions[name] > before {
		x.Names = append(x.Names, "\x00other")
	}
}
