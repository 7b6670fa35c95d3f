package mend

import "github.com/yuin/gopher-lua/ast"

// fold takes away constants that decide an operator, since the compiler makes a
// bare jump of them, and a loop that begins with one jumps anywhere.

// foldLogical is `and` or `or` whose operands are folded.
func foldLogical(x *ast.LogicalOpExpr) ast.Expr {
	truth, constant := truthOf(x.Lhs)
	switch {
	case !constant:
		return x
	case truth == (x.Operator == "and"):
		return single(x.Rhs)
	}
	return x.Lhs
}

// foldNot is `not` of a folded operand.
func foldNot(x *ast.UnaryNotOpExpr) ast.Expr {
	truth, constant := truthOf(x.Expr)
	switch {
	case !constant:
		return x
	case truth:
		return place(&ast.FalseExpr{}, x)
	}
	return place(&ast.TrueExpr{}, x)
}

// truthOf tells whether an expression is a constant and counts as true.
func truthOf(e ast.Expr) (truth, constant bool) {
	switch e.(type) {
	case *ast.NilExpr, *ast.FalseExpr:
		return false, true
	case *ast.TrueExpr, *ast.NumberExpr, *ast.StringExpr:
		return true, true
	}
	return false, false
}

// single is an expression that stands for one value.
func single(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		x.AdjustRet = true
	case *ast.Comma3Expr:
		x.AdjustRet = true
	}
	return e
}

// multiple reports whether an expression at the end of a list stands for as
// many values as there are.
func multiple(e ast.Expr) bool {
	switch x := e.(type) {
	case *ast.FuncCallExpr:
		return !x.AdjustRet
	case *ast.Comma3Expr:
		return !x.AdjustRet
	}
	return false
}

// branch is a condition that is no constant which makes a bare jump: those
// that are false, and, for an `if`, those that are true, whose block would be
// the first instruction of what is around it.
func branch(condition ast.Expr, both bool) ast.Expr {
	truth, constant := truthOf(condition)
	switch {
	case !constant, truth && !both:
		return condition
	case truth:
		return place(&ast.UnaryNotOpExpr{Expr: place(&ast.NilExpr{}, condition)}, condition)
	}
	return place(&ast.UnaryNotOpExpr{Expr: place(&ast.TrueExpr{}, condition)}, condition)
}
