package lang

import (
	"fmt"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// value is an argument, read by the schema's kind. Without one in the file it
// holds the default.
type value struct {
	// set: the file gives it. ok: it has no problem, and can be relied on.
	set, ok bool
	rng     diag.Range
	expr    hclsyntax.Expression

	text    string
	list    []string
	flag    bool
	number  float64
	integer int64
	dur     time.Duration
	ref     *node
	// any is a value of any type.
	any cty.Value
}

// val is a block's argument; it is never nil for one of the schema.
func (n *node) val(name string) *value {
	if v := n.vals[name]; v != nil {
		return v
	}
	return &value{}
}

// evaluate reads the arguments of a block and of all below it.
func (l *loader) evaluate(n *node) {
	n.vals = map[string]*value{}
	for _, arg := range n.schema.Args {
		n.vals[arg.Name] = l.argument(n, arg)
	}
	for _, c := range n.blocks {
		if name := c.schema.Name; name != "variable" && name != "locals" {
			l.evaluate(c)
		}
	}
}

// argument reads one argument.
func (l *loader) argument(n *node, arg *schema.Arg) *value {
	attr := n.args[arg.Name]
	if attr == nil {
		v := &value{ok: !n.bad && !arg.Required}
		if arg.Default != "" {
			readDefault(v, arg)
		}
		return v
	}
	v := &value{set: true, expr: attr.Expr, rng: eval.Range(l.report, attr.Expr.Range())}
	if l.poisoned(n, attr) {
		return v
	}
	switch arg.Kind {
	case schema.Expression, schema.Headers, schema.Type, schema.Condition, schema.Outcome:
		v.ok = true
	case schema.Reference:
		v.ref, v.ok = l.reference(attr.Expr, arg)
	default:
		v.ok = l.constant(n, arg, attr, v)
	}
	return v
}

// poisoned reports whether an argument's value was repaired to something that
// is not meant.
func (l *loader) poisoned(n *node, attr *hclsyntax.Attribute) bool {
	return n.file != nil && n.file.isPoisoned(attr.Expr.Range().Start.Byte, attr.Expr.Range().End.Byte)
}

func (f *file) isPoisoned(start, end int) bool {
	for _, p := range f.poison {
		if p.start < end && start < p.end {
			return true
		}
	}
	return false
}

// constant evaluates and converts a constant argument.
func (l *loader) constant(n *node, arg *schema.Arg, attr *hclsyntax.Attribute, v *value) bool {
	if arg.Secret {
		l.hideLiterals(attr.Expr)
	}
	use := eval.Use{Hostname: arg.Name == "consumer" && n.schema.Name == "subscription", Word: arg.Kind == schema.String, Extra: l.extra}
	got, ok := l.scope.Eval(attr.Expr, use)
	if !ok {
		return false
	}
	if arg.Secret {
		l.secret(got)
	} else if eval.IsSensitive(got) {
		l.fail(diag.ExpressionNotAllowed, v.rng, fmt.Sprintf("%s cannot be a sensitive value", arg.Name), "It is shown in logs and tables. Only url, username and password may be sensitive.")
		return false
	}
	got, _ = got.UnmarkDeep()
	v.any = got
	if got.IsNull() {
		if arg.Required {
			l.fail(diag.NullValue, v.rng, fmt.Sprintf("%s is null", arg.Name), "It must be set.")
			return false
		}
		v.set = false
		if arg.Default != "" {
			readDefault(v, arg)
		}
		return true
	}
	c := &converter{l: l, arg: arg, v: v, expr: attr.Expr, got: got}
	return c.convert()
}

// secret keeps the value of a secret argument out of every text.
func (l *loader) secret(v cty.Value) {
	plain, _ := v.UnmarkDeep()
	if plain.Type() == cty.String && !plain.IsNull() {
		l.report.Secret(plain.AsString())
	}
}

// hideLiterals keeps the constants of an expression out of source lines, but
// for the names that env is given.
func (l *loader) hideLiterals(e hclsyntax.Expression) {
	names := map[hclsyntax.Node]bool{}
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) (none diagnostics) {
		if call, ok := n.(*hclsyntax.FunctionCallExpr); ok && call.Name == "env" && len(call.Args) > 0 {
			names[call.Args[0]] = true
		}
		if t, ok := n.(*hclsyntax.TemplateExpr); ok && names[t] {
			for _, part := range t.Parts {
				names[part] = true
			}
		}
		if lit, ok := n.(*hclsyntax.LiteralValueExpr); ok && !names[lit] {
			l.report.Hide(eval.Range(l.report, lit.Range()))
		}
		return nil
	})
}
