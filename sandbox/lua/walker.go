package lua

import (
	"slices"

	"github.com/yuin/gopher-lua/ast"
)

// walker fills an outline. It keeps track of which names are local where it
// stands.
type walker struct {
	out  *outline
	unit *unit
	// top: it stands outside of every function.
	top    bool
	scopes []map[string]bool
	depth  int
	// branch counts the branches, and quiet the protected calls, around it.
	branch, quiet int
	broken        bool
}

// isLocal reports whether a name is a local where the walker stands.
func (w *walker) isLocal(name string) bool {
	return slices.ContainsFunc(w.scopes, func(s map[string]bool) bool { return s[name] })
}

// mention notes that a run of the unit may come to what has the name.
func (w *walker) mention(name string) {
	if w.quiet == 0 {
		w.unit.mentions[name] = true
	}
}

func (w *walker) declare(names ...string) {
	for _, name := range names {
		w.scopes[len(w.scopes)-1][name] = true
	}
}

// block walks statements in a scope of their own.
func (w *walker) block(list []ast.Stmt, names ...string) {
	if w.depth++; w.depth > 4*maxDepth {
		w.broken = true
	}
	w.scopes = append(w.scopes, map[string]bool{})
	w.declare(names...)
	for _, s := range list {
		if w.broken {
			break
		}
		w.statement(s)
	}
	w.scopes = w.scopes[:len(w.scopes)-1]
	w.depth--
}

// maybe walks statements that a run may pass by.
func (w *walker) maybe(list []ast.Stmt, names ...string) {
	w.branch++
	w.block(list, names...)
	w.branch--
}

func (w *walker) statement(s ast.Stmt) {
	switch s := s.(type) {
	case *ast.AssignStmt:
		w.assign(s)
	case *ast.LocalAssignStmt:
		w.local(s)
	case *ast.FuncDefStmt:
		w.function(s)
	case *ast.FuncCallStmt:
		if call, ok := s.Expr.(*ast.FuncCallExpr); ok {
			w.call(call, true)
		}
	case *ast.DoBlockStmt:
		w.block(s.Stmts)
	case *ast.WhileStmt:
		w.exprs(s.Condition)
		w.maybe(s.Stmts)
	case *ast.RepeatStmt:
		// The condition sees the locals of the body.
		w.maybe(append(slices.Clone(s.Stmts), &ast.ReturnStmt{Exprs: []ast.Expr{s.Condition}}))
	case *ast.IfStmt:
		w.exprs(s.Condition)
		w.maybe(s.Then)
		w.maybe(s.Else)
	case *ast.NumberForStmt:
		w.exprs(s.Init, s.Limit, s.Step)
		w.maybe(s.Stmts, s.Name)
	case *ast.GenericForStmt:
		w.exprs(s.Exprs...)
		w.maybe(s.Stmts, s.Names...)
	case *ast.ReturnStmt:
		if w.top && len(s.Exprs) > 0 && len(w.scopes) == 1 {
			w.out.returns = s.Line()
		}
		w.exprs(s.Exprs...)
	}
}

// assign walks an assignment. A function takes the name it is assigned to.
func (w *walker) assign(s *ast.AssignStmt) {
	for i, value := range s.Rhs {
		name, global := "", false
		if i < len(s.Lhs) {
			name, global = w.target(s.Lhs[i])
		}
		w.named(name, global, value)
		if _, isFunction := value.(*ast.FunctionExpr); isFunction && i < len(s.Lhs) {
			w.member(s.Lhs[i], name, value.Line())
		}
	}
	for _, left := range s.Lhs {
		if ident, ok := left.(*ast.IdentExpr); ok {
			if !w.isLocal(ident.Value) {
				w.out.assigned[ident.Value] = true
			}
			continue
		}
		w.exprs(left)
	}
}

// target is the name that an assignment gives to its value: a variable, or the
// member of a table.
func (w *walker) target(left ast.Expr) (name string, global bool) {
	switch left := left.(type) {
	case *ast.IdentExpr:
		return left.Value, !w.isLocal(left.Value)
	case *ast.AttrGetExpr:
		if key, ok := left.Key.(*ast.StringExpr); ok {
			return key.Value, false
		}
	}
	return "", false
}

// member notes a function of the top level that stands in a table.
func (w *walker) member(left ast.Expr, name string, line int) {
	get, ok := left.(*ast.AttrGetExpr)
	if !ok || !w.top {
		return
	}
	w.out.members[name] = line
	if table, ok := get.Object.(*ast.IdentExpr); ok {
		w.out.tables[name] = table.Value
	}
}

func (w *walker) local(s *ast.LocalAssignStmt) {
	for i, value := range s.Exprs {
		name := ""
		if i < len(s.Names) {
			name = s.Names[i]
		}
		if _, isFunction := value.(*ast.FunctionExpr); isFunction {
			w.declare(name) // a function may call itself
			if w.top {
				w.out.locals[name] = s.Line()
			}
		}
		w.named(name, false, value)
	}
	w.declare(s.Names...)
}

// function walks `function name() … end`.
func (w *walker) function(s *ast.FuncDefStmt) {
	if s.Name.Method != "" {
		w.exprs(s.Name.Receiver)
		if w.top {
			w.out.members[s.Name.Method] = s.Line()
		}
		w.define(s.Name.Method, false, s.Func, "self")
		return
	}
	name, global := w.target(s.Name.Func)
	if _, ok := s.Name.Func.(*ast.IdentExpr); ok && global {
		w.out.assigned[name] = true
	} else if !ok {
		w.exprs(s.Name.Func)
	}
	w.member(s.Name.Func, name, s.Line())
	w.define(name, global, s.Func)
}

// named walks a value that is given a name. What the top level names is a unit,
// a table or an alias too: naming it runs nothing.
func (w *walker) named(name string, global bool, value ast.Expr) {
	if fn, ok := value.(*ast.FunctionExpr); ok {
		w.define(name, global, fn)
		return
	}
	if !w.top || name == "" {
		w.exprs(value)
		return
	}
	outer := w.unit
	w.unit = &unit{name: name, global: global, mentions: map[string]bool{}}
	w.out.units = append(w.out.units, w.unit)
	w.exprs(value)
	w.unit.uses = nil
	w.unit = outer
}

// define walks a function as a unit.
func (w *walker) define(name string, global bool, fn *ast.FunctionExpr, names ...string) {
	outer := *w
	w.unit = &unit{name: name, global: global, mentions: map[string]bool{}}
	w.out.units = append(w.out.units, w.unit)
	w.top, w.branch, w.quiet = false, 0, 0
	w.body(fn, names...)
	w.unit, w.top, w.branch, w.quiet = outer.unit, outer.top, outer.branch, outer.quiet
}

func (w *walker) body(fn *ast.FunctionExpr, names ...string) {
	if fn.ParList.HasVargs {
		names = append(names, "arg")
	}
	w.block(fn.Stmts, append(names, fn.ParList.Names...)...)
}
