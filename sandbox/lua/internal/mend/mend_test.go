package mend

import (
	"errors"
	"fmt"
	"strings"
	"testing"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"
)

func parsed(t *testing.T, code string) []ast.Stmt {
	t.Helper()
	chunk, err := parse.Parse(strings.NewReader(code), "t")
	if err != nil {
		t.Fatal(err)
	}
	return chunk
}

// TestMinding looks that only what the compiler does wrong is changed: what it
// does well must stay as quick as it was.
func TestMinding(t *testing.T) {
	for _, c := range []struct {
		name, code string
		changed    bool
	}{
		{"one target", "local a a = 1", false},
		{"a sum", "local a a = a + 1", false},
		{"a call", "local a a = f(a)", false},
		{"a field", "t.a = b and c", false},
		{"a chain", "local a a = a and b", true},
		{"two targets", "local a, b a, b = b, a", true},
		{"a list", "return {1, 2, f()}", false},
		{"a loop over pairs", "for k, v in pairs(t) do f(k) end", false},
		{"a loop over a function", "for k in f do g(k) end", true},
		{"a break", "while a do if b then break end end", false},
		{"a break first", "while a do break end", true},
		{"a break past a taken local", "while a do do local x f(function() return x end) break end end", true},
		{"a break past a local", "while a do do local x f(x) break end end", false},
		{"a function's own name", "local f = function() return g() end", false},
		{"a function with the name of another", "local f = function() return f() end", true},
		{"a local function", "local function f() return f() end", false},
		{"a constant condition", "if false then f() end", true},
		{"an endless loop", "while true do f() end", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			before, after := parsed(t, c.code), parsed(t, c.code)
			after, err := Chunk(after)
			if err != nil {
				t.Fatal(err)
			}
			if got := dump(before) != dump(after); got != c.changed {
				t.Errorf("changed: %v\nbefore %s\nafter  %s", got, dump(before), dump(after))
			}
		})
	}
}

func TestRefusals(t *testing.T) {
	var names strings.Builder
	for i := range maxConstants + 1 {
		fmt.Fprintf(&names, "f(%d)\n", i)
	}
	for name, c := range map[string]struct {
		code string
		line int
	}{
		"many constants": {names.String(), maxConstants},
	} {
		_, err := Chunk(parsed(t, c.code))
		r, ok := errors.AsType[*RefusalError](err)
		if !ok || r.Line != c.line || r.Problem == "" || r.Remedy == "" || !strings.Contains(r.Error(), fmt.Sprintf("line %d", c.line)) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// dump is a tree as text, without its lines.
func dump(node any) string {
	switch x := node.(type) {
	case []ast.Stmt:
		return list(x)
	case []ast.Expr:
		return list(x)
	case *ast.DoBlockStmt:
		return "do(" + dump(x.Stmts) + ")"
	case *ast.LocalAssignStmt:
		return fmt.Sprintf("local(%q=%s)", x.Names, dump(x.Exprs))
	case *ast.AssignStmt:
		return "set(" + dump(x.Lhs) + "=" + dump(x.Rhs) + ")"
	case *ast.WhileStmt:
		return "while(" + dump(x.Condition) + dump(x.Stmts) + ")"
	case *ast.IfStmt:
		return "if(" + dump(x.Condition) + dump(x.Then) + dump(x.Else) + ")"
	case *ast.GenericForStmt:
		return fmt.Sprintf("for(%q%s%s)", x.Names, dump(x.Exprs), dump(x.Stmts))
	case *ast.ReturnStmt:
		return "return(" + dump(x.Exprs) + ")"
	case *ast.FuncCallStmt:
		return dump(x.Expr)
	case *ast.FuncCallExpr:
		return fmt.Sprintf("call(%s%s%v)", dump(x.Func), dump(x.Args), x.AdjustRet)
	case *ast.FunctionExpr:
		return "function(" + dump(x.Stmts) + ")"
	case *ast.LogicalOpExpr:
		return x.Operator + "(" + dump(x.Lhs) + dump(x.Rhs) + ")"
	case *ast.UnaryNotOpExpr:
		return "not(" + dump(x.Expr) + ")"
	case *ast.AttrGetExpr:
		return "get(" + dump(x.Object) + dump(x.Key) + ")"
	case *ast.ArithmeticOpExpr:
		return x.Operator + "(" + dump(x.Lhs) + dump(x.Rhs) + ")"
	case *ast.TableExpr:
		return fmt.Sprintf("table(%d)", len(x.Fields))
	case *ast.IdentExpr:
		return x.Value + " "
	}
	return fmt.Sprintf("%T ", node)
}

func list[T any](nodes []T) string {
	parts := make([]string, len(nodes))
	for i, n := range nodes {
		parts[i] = dump(n)
	}
	return "[" + strings.Join(parts, " ") + "]"
}
