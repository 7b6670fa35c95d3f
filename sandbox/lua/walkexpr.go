package lua

import "github.com/yuin/gopher-lua/ast"

// constants are those of other languages, and Lua's: who reads one does not ask
// whether it exists.
var constants = map[string]string{"null": "nil", "NULL": "nil", "None": "nil", "undefined": "nil", "True": "true", "False": "false"}

// exprs walks expressions; one that is not there is nil.
func (w *walker) exprs(list ...ast.Expr) {
	for _, e := range list {
		if e == nil || w.broken {
			continue
		}
		if w.depth++; w.depth > 4*maxDepth {
			w.broken = true
		} else {
			w.expr(e)
		}
		w.depth--
	}
}

func (w *walker) expr(e ast.Expr) {
	switch e := e.(type) {
	case *ast.IdentExpr:
		switch {
		case w.isLocal(e.Value):
			w.mention(e.Value)
		case constants[e.Value] != "":
			w.branch++ // it is nil, which no run fails of
			w.use(use{root: e.Value, line: e.Line()})
			w.branch--
		default:
			w.mention(e.Value)
			w.out.asked[e.Value] = true
		}
	case *ast.AttrGetExpr:
		w.index(e)
	case *ast.TableExpr:
		w.table(e)
	case *ast.FuncCallExpr:
		w.call(e, false)
	case *ast.LogicalOpExpr:
		w.exprs(e.Lhs)
		w.branch++
		w.exprs(e.Rhs)
		w.branch--
	case *ast.RelationalOpExpr:
		w.exprs(e.Lhs, e.Rhs)
	case *ast.StringConcatOpExpr:
		// A chain is as deep as it is long.
		for ok := true; ok; {
			w.exprs(e.Lhs)
			next := e.Rhs
			if e, ok = next.(*ast.StringConcatOpExpr); !ok {
				w.exprs(next)
			}
		}
	case *ast.ArithmeticOpExpr:
		w.exprs(e.Lhs, e.Rhs)
	case *ast.UnaryMinusOpExpr:
		w.exprs(e.Expr)
	case *ast.UnaryNotOpExpr:
		w.exprs(e.Expr)
	case *ast.UnaryLenOpExpr:
		w.exprs(e.Expr)
	case *ast.FunctionExpr:
		w.nameless(e)
	}
}

// nameless walks a function without a name: a part of the function around it.
// One of the top level may be called at any time, or never.
func (w *walker) nameless(fn *ast.FunctionExpr) {
	if w.top {
		w.define("", false, fn)
		return
	}
	w.branch++
	w.body(fn)
	w.branch--
}

func (w *walker) table(t *ast.TableExpr) {
	for _, f := range t.Fields {
		key, isName := f.Key.(*ast.StringExpr)
		if !isName {
			w.exprs(f.Key)
		}
		fn, isFunction := f.Value.(*ast.FunctionExpr)
		if !isName || !isFunction {
			w.exprs(f.Value)
			continue
		}
		if w.top {
			w.out.members[key.Value] = fn.Line()
		}
		w.define(key.Value, false, fn)
	}
}

// index walks a.b: what it reads, and what the name may lead to.
func (w *walker) index(e *ast.AttrGetExpr) {
	key, isName := e.Key.(*ast.StringExpr)
	if isName {
		w.mention(key.Value)
	} else {
		w.exprs(e.Key)
	}
	root, ok := w.global(e.Object)
	if !ok {
		w.exprs(e.Object)
		return
	}
	u := use{root: root.Value, line: root.Line()}
	if isName {
		u.member = key.Value
	}
	w.use(u)
}

// global is the name of a global; a local's is only mentioned.
func (w *walker) global(e ast.Expr) (*ast.IdentExpr, bool) {
	ident, ok := e.(*ast.IdentExpr)
	return ident, ok && !w.isLocal(ident.Value)
}

func (w *walker) use(u use) {
	w.mention(u.root)
	u.certain = w.branch == 0
	if w.quiet == 0 {
		w.unit.uses = append(w.unit.uses, u)
	}
}

// call walks a call. What a protected call catches is not told of.
func (w *walker) call(e *ast.FuncCallExpr, statement bool) {
	switch {
	case e.Method != "":
		w.mention(e.Method)
		if root, ok := w.global(e.Receiver); ok {
			w.use(use{root: root.Value, member: e.Method, line: root.Line()})
		} else {
			w.exprs(e.Receiver)
		}
	default:
		w.callee(e.Func, statement)
	}
	callee, _ := w.global(e.Func)
	if callee == nil || callee.Value != "pcall" && callee.Value != "xpcall" {
		w.exprs(e.Args...)
		return
	}
	w.quiet++
	w.exprs(e.Args...)
	w.quiet--
}

func (w *walker) callee(fn ast.Expr, statement bool) {
	if root, ok := w.global(fn); ok {
		w.use(use{root: root.Value, line: root.Line(), call: true, statement: statement})
		return
	}
	get, ok := fn.(*ast.AttrGetExpr)
	if !ok {
		w.exprs(fn)
		return
	}
	root, isGlobal := w.global(get.Object)
	key, isName := get.Key.(*ast.StringExpr)
	if !isGlobal || !isName {
		w.exprs(fn)
		return
	}
	w.mention(key.Value)
	w.use(use{root: root.Value, member: key.Value, line: root.Line(), call: true, statement: statement})
}
