package testspec

import (
	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// Checker checks conditions without running anything: their names against the
// pipeline, and the types of what they compare. It is not safe for concurrent
// use.
type Checker struct {
	Report *diag.Report
	Labels Labels
	// Bodies are the declared types of bodies by the block whose state they stand
	// in: "stream.payments"; nil, or absent, is any value.
	Bodies map[string]*spec.Type
	// Lost are labels that could not be read: what they name is not missed.
	Lost func(root, label string) bool

	late   *eval.Late
	locals map[string]known
	items  map[*hclsyntax.AnonSymbolExpr]known
	// states counts the paths into the state, lenient the calls around that ask
	// whether there is something.
	states, lenient int
	bad             bool
}

// known is what is known of a part of a condition without running.
type known struct {
	// shape is nil when nothing is known.
	shape *Shape
	// value is that of a constant; cty.NilVal else.
	value cty.Value
	// body is the declared type of the bodies in it.
	body *spec.Type
	// inBody: it is a body, or a part of one.
	inBody bool
	// text is how it is written: calls[*].deliveries.
	text string
}

func (k known) isConstant() bool { return k.value != cty.NilVal }

// Condition checks one condition; false when it cannot be evaluated.
func (c *Checker) Condition(late *eval.Late) bool {
	c.late, c.locals, c.items, c.states, c.lenient, c.bad = late, map[string]known{}, map[*hclsyntax.AnonSymbolExpr]known{}, 0, 0, false
	k := c.of(late.Expr)
	if c.bad {
		return false
	}
	c.wantBool(late.Expr, k, "a condition")
	if c.states == 0 && !c.bad {
		c.warn(diag.NeedlessCondition, late.Expr, "this condition reads nothing of what happened",
			"It would be the same in every run. The state is subscription.NAME, stream.NAME and group.NAME.")
	}
	return !c.bad
}

func (c *Checker) fail(code diag.Code, n hclsyntax.Node, summary, detail string) *diag.Diagnostic {
	return c.failAt(code, n.Range(), summary, detail)
}

func (c *Checker) failAt(code diag.Code, rng hcl.Range, summary, detail string) *diag.Diagnostic {
	c.bad = true
	return c.Report.Add(diag.Diagnostic{Code: code, Range: eval.Range(c.Report, rng), Summary: summary, Detail: detail})
}

func (c *Checker) warn(code diag.Code, n hclsyntax.Node, summary, detail string) *diag.Diagnostic {
	return c.Report.Add(diag.Diagnostic{Severity: diag.Warning, Code: code, Range: eval.Range(c.Report, n.Range()), Summary: summary, Detail: detail})
}

func (c *Checker) text(n hclsyntax.Node) string { return oneLine(c.late.Text(n)) }

// of is what is known of an expression. It reports what cannot be.
func (c *Checker) of(e hclsyntax.Expression) known {
	switch x := eval.Unmetered(e).(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.of(x.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return c.of(x.Wrapped)
	case *hclsyntax.ScopeTraversalExpr:
		return c.traversal(x)
	case *hclsyntax.RelativeTraversalExpr:
		return c.steps(c.of(x.Source), x.Traversal)
	case *hclsyntax.AnonSymbolExpr:
		return c.items[x]
	case *hclsyntax.IndexExpr:
		return c.index(x)
	case *hclsyntax.SplatExpr:
		return c.splat(x)
	case *hclsyntax.ForExpr:
		return c.forExpr(x)
	case *hclsyntax.FunctionCallExpr:
		return c.call(x)
	case *hclsyntax.BinaryOpExpr:
		return c.binary(x)
	case *hclsyntax.UnaryOpExpr:
		return c.unary(x)
	case *hclsyntax.ConditionalExpr:
		c.wantBool(x.Condition, c.of(x.Condition), "a condition")
		return c.either(c.of(x.TrueResult), c.of(x.FalseResult))
	case *hclsyntax.TupleConsExpr:
		return c.constantOr(e, known{shape: &Shape{Kind: KindList}, text: c.text(e)}, x.Exprs...)
	case *hclsyntax.ObjectConsExpr:
		values := make([]hclsyntax.Expression, 0, len(x.Items))
		for _, item := range x.Items {
			values = append(values, item.ValueExpr)
		}
		return c.constantOr(e, known{shape: &Shape{Kind: KindObject}, text: c.text(e)}, values...)
	case *hclsyntax.TemplateExpr:
		return c.constantOr(e, known{shape: stringShape, text: c.text(e)}, x.Parts...)
	}
	return c.constantOr(e, known{text: c.text(e)})
}

// constantOr is the value of an expression that reads no state, or else what is
// known of it; its parts are checked.
func (c *Checker) constantOr(e hclsyntax.Expression, otherwise known, parts ...hclsyntax.Expression) known {
	before := c.states
	constant := true
	for _, p := range parts {
		constant = c.of(p).isConstant() && constant
	}
	if c.states != before || !constant {
		return otherwise
	}
	if v, problem := c.late.Value(e, nil); problem == nil {
		return known{shape: shapeOf(v), value: v, text: c.text(e)}
	}
	return otherwise
}

// shapeOf is the shape of a value.
func shapeOf(v cty.Value) *Shape {
	ty := v.Type()
	switch {
	case v.IsNull():
		return nil
	case ty == cty.String:
		return stringShape
	case ty == cty.Number:
		return numberShape
	case ty == cty.Bool:
		return boolShape
	case isObject(v):
		return &Shape{Kind: KindObject}
	case isList(v):
		return &Shape{Kind: KindList}
	}
	return nil
}

// either is what two alternatives have in common.
func (c *Checker) either(a, b known) known {
	if a.shape != nil && b.shape != nil && sort(a.shape.Kind) == sort(b.shape.Kind) {
		return known{shape: a.shape, body: a.body, text: a.text}
	}
	return known{}
}

// wantBool reports what is certainly neither true nor false.
func (c *Checker) wantBool(e hclsyntax.Expression, k known, what string) {
	if k.shape == nil || k.shape.Kind == KindBool || sort(k.shape.Kind) == "" || c.bad {
		return
	}
	d := c.fail(diag.TypeMismatch, e, what+" must be true or false, this is "+eval.A(describe(k.shape)), "Compare it with something.")
	if s, isText := eval.LiteralText(e); isText && IsRoot(firstWord(s)) {
		d.Detail = "Write the condition without quotes."
		d.Suggest(s).Edit(eval.Range(c.Report, e.Range()), s)
	}
}

func firstWord(s string) string {
	for i, r := range s {
		if r == '.' || r == '[' {
			return s[:i]
		}
	}
	return ""
}

// sort is what can be equal to each other: "" is anything.
func sort(k Kind) string {
	switch k {
	case KindString, KindDuration:
		return "string"
	case KindNumber:
		return "number"
	case KindBool:
		return "bool"
	case KindList:
		return "list"
	case KindObject, KindTexts:
		return "object"
	}
	return ""
}

// describe is the word for a shape.
func describe(s *Shape) string {
	if s == nil {
		return "value"
	}
	if word := sort(s.Kind); word != "" {
		return word
	}
	return "value"
}

// resolved is a shape with the declared type of a body in its place.
func resolved(k known) known {
	if k.shape != nil && k.shape.Kind == KindBody {
		k.shape, k.inBody = typeShape(k.body), true
	}
	return k
}

// typeShape is a declared type as a shape. Bodies may hold more than it says.
func typeShape(t *spec.Type) *Shape {
	if t == nil {
		return anyShape
	}
	switch t.Kind {
	case spec.TypeString:
		return stringShape
	case spec.TypeNumber:
		return numberShape
	case spec.TypeBool:
		return boolShape
	case spec.TypeList:
		return listOf(typeShape(t.Elem))
	case spec.TypeObject:
		s := &Shape{Kind: KindObject}
		for _, a := range t.Attrs {
			s.Fields = append(s.Fields, Member{Name: a.Name, Shape: typeShape(a.Type)})
		}
		return s
	}
	return anyShape
}
