package lua

import "github.com/yuin/gopher-lua/ast"

// stmts rewrites the statements of a block that begins at line.
func (r *rewriter) stmts(list []ast.Stmt, line int) {
	r.enter(line)
	defer func() { r.depth-- }()
	for _, s := range list {
		r.stmt(s)
	}
}

func (r *rewriter) stmt(s ast.Stmt) {
	switch x := s.(type) {
	case *ast.AssignStmt:
		r.exprs(x.Lhs)
		r.exprs(x.Rhs)
	case *ast.LocalAssignStmt:
		r.exprs(x.Exprs)
	case *ast.FuncCallStmt:
		x.Expr = r.expr(x.Expr)
	case *ast.FuncDefStmt:
		x.Name.Func, x.Name.Receiver = r.expr(x.Name.Func), r.expr(x.Name.Receiver)
		r.function(x.Func)
	case *ast.ReturnStmt:
		r.exprs(x.Exprs)
	default:
		r.block(s)
	}
}

// block rewrites a statement that holds others.
func (r *rewriter) block(s ast.Stmt) {
	switch x := s.(type) {
	case *ast.DoBlockStmt:
		r.stmts(x.Stmts, x.Line())
	case *ast.WhileStmt:
		x.Condition = r.expr(x.Condition)
		r.stmts(x.Stmts, x.Line())
	case *ast.RepeatStmt:
		x.Condition = r.expr(x.Condition)
		r.stmts(x.Stmts, x.Line())
	case *ast.IfStmt:
		x.Condition = r.expr(x.Condition)
		r.stmts(x.Then, x.Line())
		r.stmts(x.Else, x.Line())
	case *ast.NumberForStmt:
		x.Init, x.Limit, x.Step = r.expr(x.Init), r.expr(x.Limit), r.expr(x.Step)
		r.stmts(x.Stmts, x.Line())
	case *ast.GenericForStmt:
		r.exprs(x.Exprs)
		r.stmts(x.Stmts, x.Line())
	}
}
