package mend

import "github.com/yuin/gopher-lua/ast"

func (m *mender) exprs(list []ast.Expr) {
	for i := range list {
		list[i] = m.expr(list[i])
	}
}

// expr returns what stands for an expression.
func (m *mender) expr(e ast.Expr) ast.Expr {
	switch x := e.(type) {
	case *ast.IdentExpr:
		m.mention(x.Value, x.Line())
	case *ast.NumberExpr:
		m.constant("n"+x.Value, x.Line())
	case *ast.StringExpr:
		m.constant("s"+x.Value, x.Line())
	case *ast.LogicalOpExpr:
		x.Lhs, x.Rhs = m.expr(x.Lhs), m.expr(x.Rhs)
		return foldLogical(x)
	case *ast.UnaryNotOpExpr:
		x.Expr = m.expr(x.Expr)
		return foldNot(x)
	case *ast.TableExpr:
		return m.table(x)
	case *ast.FunctionExpr:
		m.function(x, false)
	default:
		m.parts(e)
	}
	return e
}

// parts walks what an expression is made of that stays as it is.
func (m *mender) parts(e ast.Expr) {
	switch x := e.(type) {
	case *ast.AttrGetExpr:
		x.Object, x.Key = m.expr(x.Object), m.expr(x.Key)
	case *ast.FuncCallExpr:
		x.Func, x.Receiver = m.expr(x.Func), m.expr(x.Receiver)
		m.exprs(x.Args)
	case *ast.RelationalOpExpr:
		x.Lhs, x.Rhs = m.expr(x.Lhs), m.expr(x.Rhs)
	case *ast.StringConcatOpExpr:
		x.Lhs, x.Rhs = m.expr(x.Lhs), m.expr(x.Rhs)
	case *ast.ArithmeticOpExpr:
		x.Lhs, x.Rhs = m.expr(x.Lhs), m.expr(x.Rhs)
	case *ast.UnaryMinusOpExpr:
		x.Expr = m.expr(x.Expr)
	case *ast.UnaryLenOpExpr:
		x.Expr = m.expr(x.Expr)
	}
}
