package lua

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/yuin/gopher-lua/ast"

	"pipeline/sandbox"
	"pipeline/sandbox/lua/internal/mend"
)

// maxDepth bounds the nesting of a script: the engine's compiler is recursive.
const maxDepth = 200

// maxOperands is how many operands of a chain of `..` go into one call: each
// takes a register, of which a function has some 200, and calls are nested up
// to three levels.
const maxOperands = 50

// The names of the guards. They are locals of the chunk, and no script can
// write them.
const (
	guardConcat = "\x00concat"
	guardLen    = "\x00len"
	guardEq     = "\x00eq"
	guardLt     = "\x00lt"
	guardLe     = "\x00le"
	guardGt     = "\x00gt"
	guardGe     = "\x00ge"
)

// guardNames is the order in which a chunk takes its guards as arguments.
var guardNames = []string{guardConcat, guardLen, guardEq, guardLt, guardLe, guardGt, guardGe, guardRecord, mend.Join}

// rewriter walks a script once. It refuses what is nested too deeply and
// numbers that would lose digits, and it replaces
//
//   - `..`, which can double a string in one instruction, by a metered one;
//   - `#`, which is silently wrong for lists beyond the array part;
//   - comparisons, which know nothing of exact integers.
//
// Comparisons with a literal that can equal no exact integer stay native.
type rewriter struct {
	source string
	depth  int
	// functions counts the function bodies around the current node.
	functions int
}

// rewrite returns the chunk with its guards.
func rewrite(source string, chunk []ast.Stmt) (out []ast.Stmt, err error) {
	r := &rewriter{source: source}
	defer func() {
		if v := recover(); v != nil {
			e, ok := v.(*sandbox.LoadError)
			if !ok {
				panic(v)
			}
			err = e
		}
	}()
	r.stmts(chunk, 1)
	head := &ast.LocalAssignStmt{Names: guardNames, Exprs: []ast.Expr{&ast.Comma3Expr{}}}
	head.SetLine(1)
	return append([]ast.Stmt{head}, chunk...), nil
}

func (r *rewriter) refuse(line int, remedy, format string, args ...any) {
	panic(&sandbox.LoadError{Source: r.source, Line: line, Problem: fmt.Sprintf(format, args...), Remedy: remedy})
}

func (r *rewriter) enter(line int) {
	if r.depth++; r.depth > maxDepth {
		r.refuse(line, "take parts out into locals or functions", "nested more than %d levels deep", maxDepth)
	}
}

func (r *rewriter) exprs(list []ast.Expr) {
	for i := range list {
		list[i] = r.expr(list[i])
	}
}

// expr returns what stands for e.
func (r *rewriter) expr(e ast.Expr) ast.Expr {
	if e == nil {
		return nil
	}
	r.enter(e.Line())
	defer func() { r.depth-- }()
	switch x := e.(type) {
	case *ast.StringConcatOpExpr:
		return r.concat(x)
	case *ast.RelationalOpExpr:
		return r.compare(x)
	case *ast.UnaryLenOpExpr:
		return guard(guardLen, x, r.expr(x.Expr))
	case *ast.NumberExpr:
		r.number(x)
	case *ast.Comma3Expr:
		if r.functions == 0 {
			r.refuse(x.Line(), "", "`...` has no meaning outside a function")
		}
	case *ast.FunctionExpr:
		r.function(x)
	default:
		r.parts(e)
	}
	return e
}

// parts rewrites what an expression is made of that stays as it is.
func (r *rewriter) parts(e ast.Expr) {
	switch x := e.(type) {
	case *ast.AttrGetExpr:
		x.Object, x.Key = r.expr(x.Object), r.expr(x.Key)
	case *ast.TableExpr:
		for _, f := range x.Fields {
			f.Key, f.Value = r.expr(f.Key), r.expr(f.Value)
		}
	case *ast.FuncCallExpr:
		x.Func, x.Receiver = r.expr(x.Func), r.expr(x.Receiver)
		r.exprs(x.Args)
	case *ast.LogicalOpExpr:
		x.Lhs, x.Rhs = r.expr(x.Lhs), r.expr(x.Rhs)
	case *ast.ArithmeticOpExpr:
		x.Lhs, x.Rhs = r.expr(x.Lhs), r.expr(x.Rhs)
	case *ast.UnaryMinusOpExpr:
		x.Expr = r.expr(x.Expr)
	case *ast.UnaryNotOpExpr:
		x.Expr = r.expr(x.Expr)
	}
}

func (r *rewriter) function(x *ast.FunctionExpr) {
	r.functions++
	r.stmts(x.Stmts, x.Line())
	r.functions--
}

// concat turns a chain of `..`, which is nested to the right, into calls of
// the guard with many operands each. A long chain is no deeper than a short
// one here.
func (r *rewriter) concat(x *ast.StringConcatOpExpr) ast.Expr {
	var parts []ast.Expr
	var rest ast.Expr = x
	for {
		c, ok := rest.(*ast.StringConcatOpExpr)
		if !ok {
			break
		}
		parts = append(parts, r.expr(c.Lhs))
		rest = c.Rhs
	}
	parts = append(parts, r.expr(rest))
	for len(parts) > maxOperands {
		parts = groups(x, parts)
	}
	return guard(guardConcat, x, parts...)
}

// groups joins parts by maxOperands, in order. Concatenation of strings is
// associative, so the result is the same.
func groups(x ast.Expr, parts []ast.Expr) []ast.Expr {
	var out []ast.Expr
	for len(parts) > 0 {
		n := min(maxOperands, len(parts))
		if n == 1 {
			out = append(out, parts[0])
		} else {
			out = append(out, guard(guardConcat, x, parts[:n]...))
		}
		parts = parts[n:]
	}
	return out
}

// compare guards a comparison unless it can involve no exact integer.
func (r *rewriter) compare(x *ast.RelationalOpExpr) ast.Expr {
	x.Lhs, x.Rhs = r.expr(x.Lhs), r.expr(x.Rhs)
	equality := x.Operator == "==" || x.Operator == "~="
	if native(x.Lhs, equality) || native(x.Rhs, equality) {
		return x
	}
	switch x.Operator {
	case "==":
		return guard(guardEq, x, x.Lhs, x.Rhs)
	case "~=":
		not := &ast.UnaryNotOpExpr{Expr: guard(guardEq, x, x.Lhs, x.Rhs)}
		place(not, x)
		return not
	}
	names := map[string]string{"<": guardLt, "<=": guardLe, ">": guardGt, ">=": guardGe}
	return guard(names[x.Operator], x, x.Lhs, x.Rhs)
}

// native reports whether a comparison with e needs no guard: an exact integer
// is never equal to a literal, since literals are smaller; and only a string
// can be ordered against a string.
func native(e ast.Expr, equality bool) bool {
	switch e.(type) {
	case *ast.StringExpr:
		return true
	case *ast.NumberExpr, *ast.NilExpr, *ast.TrueExpr, *ast.FalseExpr, *ast.TableExpr, *ast.FunctionExpr:
		return equality
	}
	return false
}

// guard is a call of a guard that stands in the place of at.
func guard(name string, at ast.Expr, args ...ast.Expr) ast.Expr {
	switch last := args[len(args)-1].(type) {
	case *ast.FuncCallExpr:
		last.AdjustRet = true
	case *ast.Comma3Expr:
		last.AdjustRet = true
	}
	fn := &ast.IdentExpr{Value: name}
	place(fn, at)
	call := &ast.FuncCallExpr{Func: fn, Args: args, AdjustRet: true}
	place(call, at)
	return call
}

func place(e, at ast.Expr) {
	e.SetLine(at.Line())
	e.SetLastLine(at.LastLine())
}

// number refuses an integer literal that a double cannot hold.
func (r *rewriter) number(x *ast.NumberExpr) {
	digits := x.Value
	if strings.HasPrefix(digits, "0x") || strings.HasPrefix(digits, "0X") {
		if n, err := strconv.ParseUint(digits[2:], 16, 64); err == nil && n <= maxSafe {
			return
		}
	} else {
		if strings.ContainsAny(digits, ".eE") {
			if _, err := strconv.ParseFloat(digits, 64); err != nil {
				r.refuse(x.Line(), "", "%s is no number that can be calculated with", short(digits))
			}
			return
		}
		if n, err := strconv.ParseUint(digits, 10, 64); err == nil && n <= maxSafe {
			return
		}
	}
	digits = short(digits)
	r.refuse(x.Line(), `write int("`+digits+`")`, "the number %s is beyond 2^53 and would lose digits", digits)
}
