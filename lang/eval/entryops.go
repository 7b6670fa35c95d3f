package eval

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// operators are hcl's operators in our words.
var operators = map[*hclsyntax.Operation]spec.Op{
	hclsyntax.OpEqual: spec.OpEqual, hclsyntax.OpNotEqual: spec.OpNotEqual,
	hclsyntax.OpLessThan: spec.OpLess, hclsyntax.OpLessThanOrEqual: spec.OpLessEqual,
	hclsyntax.OpGreaterThan: spec.OpGreater, hclsyntax.OpGreaterThanOrEqual: spec.OpGreaterEqual,
	hclsyntax.OpLogicalAnd: spec.OpAnd, hclsyntax.OpLogicalOr: spec.OpOr,
}

// binary compiles a comparison or a logical operator.
func (c *compiler) binary(x *hclsyntax.BinaryOpExpr) (spec.Expr, *spec.Type) {
	op, ok := operators[x.Op]
	if !ok {
		d := c.refused(x, "arithmetic is not allowed over an entry", "Compute it in the handler, or publish it as a field. "+allowedForms)
		if x.Op == hclsyntax.OpAdd {
			c.scope.joined(d, x)
		}
		return nil, nil
	}
	left, lt := c.expr(x.LHS)
	right, rt := c.expr(x.RHS)
	if left == nil || right == nil || c.chained(x) {
		return nil, nil
	}
	switch op {
	case spec.OpEqual, spec.OpNotEqual:
		c.comparable(x, op, lt, rt)
	case spec.OpAnd, spec.OpOr:
		c.operand(x.LHS, op, lt, boolType)
		c.bareAlternative(x, rt)
		c.operand(x.RHS, op, rt, boolType)
	default:
		if lt != nil && rt != nil && lt.Kind != rt.Kind && scalar(lt) && scalar(rt) {
			c.comparable(x, op, lt, rt)
		}
		c.operand(x.LHS, op, lt, numberType)
		c.operand(x.RHS, op, rt, numberType)
	}
	return &spec.Binary{Op: op, Left: left, Right: right}, boolType
}

// isOrder reports the comparisons of size.
func isOrder(op *hclsyntax.Operation) bool {
	return op == hclsyntax.OpLessThan || op == hclsyntax.OpLessThanOrEqual || op == hclsyntax.OpGreaterThan || op == hclsyntax.OpGreaterThanOrEqual
}

// chained reports 1 < x < 3, which would compare the result of the first
// comparison.
func (c *compiler) chained(x *hclsyntax.BinaryOpExpr) bool {
	first, ok := x.LHS.(*hclsyntax.BinaryOpExpr)
	if !ok || !isOrder(x.Op) || !isOrder(first.Op) {
		return false
	}
	c.bad = true
	rest := strings.TrimPrefix(c.scope.text(x), c.scope.text(first))
	both := fmt.Sprintf("%s && %s%s", c.scope.text(first), c.scope.text(first.RHS), rest)
	c.scope.fail(diag.TypeMismatch, x, "comparisons are not chained", "Write each of them.").Suggest(both).Edit(c.scope.at(x.Range()), both)
	return true
}

// bareAlternative reports x == "a" || "b", where the second comparison is
// missing.
func (c *compiler) bareAlternative(x *hclsyntax.BinaryOpExpr, t *spec.Type) {
	first, ok := x.LHS.(*hclsyntax.BinaryOpExpr)
	if !ok || c.bad || compatible(t, boolType) || first.Op != hclsyntax.OpEqual && first.Op != hclsyntax.OpNotEqual {
		return
	}
	c.bad = true
	whole := strings.TrimSuffix(c.scope.text(first), c.scope.text(first.RHS)) + c.scope.text(x.RHS)
	c.scope.fail(diag.TypeMismatch, x.RHS, fmt.Sprintf("%s alone is no condition", c.scope.text(x.RHS)), "Each side is a comparison of its own.").
		Suggest(whole).Edit(c.scope.at(x.RHS.Range()), whole)
}

// comparable reports a comparison of types that are never equal.
func (c *compiler) comparable(x *hclsyntax.BinaryOpExpr, op spec.Op, lt, rt *spec.Type) {
	if !compatible(lt, rt) {
		c.bad = true
		d := c.scope.fail(diag.TypeMismatch, x, fmt.Sprintf("%s compares %s with %s", op, A(describe(lt)), A(describe(rt))), "")
		c.fixLiteral(d, x.LHS, lt, rt)
		c.fixLiteral(d, x.RHS, rt, lt)
		if d.Detail == "" {
			d.Detail = "They are never equal: compare values of the same type."
		}
		return
	}
	if lt != nil && rt != nil && (!scalar(lt) || !scalar(rt)) {
		c.bad = true
		c.scope.fail(diag.TypeMismatch, x, fmt.Sprintf("%s does not compare whole lists and objects", op), "Compare their members.")
	}
}

// fixLiteral says how a constant is written in the type it is compared with.
func (c *compiler) fixLiteral(d *diag.Diagnostic, e hclsyntax.Expression, t, other *spec.Type) {
	text, isText := literalText(e)
	switch {
	case isText && other != nil && other.Kind == spec.TypeNumber && isNumber(text),
		isText && other != nil && other.Kind == spec.TypeBool && boolWords[strings.ToLower(text)] != "":
		if word := boolWords[strings.ToLower(text)]; word != "" && other.Kind == spec.TypeBool {
			text = word
		}
		d.Detail = "Write the constant without quotes."
		d.Suggest(text).Edit(c.scope.at(e.Range()), text)
	case t != nil && t.Kind == spec.TypeNumber && other != nil && other.Kind == spec.TypeString:
		if _, isLiteral := e.(*hclsyntax.LiteralValueExpr); isLiteral {
			quoted := `"` + c.scope.text(e) + `"`
			d.Detail = "Write the constant in quotes."
			d.Suggest(quoted).Edit(c.scope.at(e.Range()), quoted)
		}
	}
}

// operand reports an operand of the wrong type.
func (c *compiler) operand(e hclsyntax.Expression, op spec.Op, t, want *spec.Type) {
	if c.bad || compatible(t, want) {
		return
	}
	c.bad = true
	need := A(string(want.Kind))
	if want == boolType {
		need = "true or false"
	}
	d := c.scope.fail(diag.TypeMismatch, e, fmt.Sprintf("%s needs %s, this is %s", op, need, A(describe(t))), "")
	c.fixLiteral(d, e, t, want)
}

// unary compiles ! and a minus.
func (c *compiler) unary(x *hclsyntax.UnaryOpExpr) (spec.Expr, *spec.Type) {
	operand, t := c.expr(x.Val)
	if operand == nil {
		return nil, nil
	}
	op, want := spec.OpNot, boolType
	if x.Op == hclsyntax.OpNegate {
		op, want = spec.OpNeg, numberType
	}
	c.operand(x.Val, op, t, want)
	return &spec.Unary{Op: op, Operand: operand}, want
}

// conditional compiles cond ? then : else.
func (c *compiler) conditional(x *hclsyntax.ConditionalExpr) (spec.Expr, *spec.Type) {
	cond, ct := c.expr(x.Condition)
	yes, yt := c.expr(x.TrueResult)
	no, nt := c.expr(x.FalseResult)
	if cond == nil || yes == nil || no == nil {
		return nil, nil
	}
	if !compatible(ct, boolType) {
		c.bad = true
		c.scope.fail(diag.TypeMismatch, x.Condition, fmt.Sprintf("a condition must be true or false, this is %s", A(describe(ct))), "")
	}
	if !compatible(yt, nt) {
		c.bad = true
		c.scope.fail(diag.TypeMismatch, x, fmt.Sprintf("one result is %s, the other %s", A(describe(yt)), A(describe(nt))), "Both must be of the same type.")
	}
	if yt == nil {
		yt = nt
	}
	return &spec.Conditional{Cond: cond, Then: yes, Else: no}, yt
}

// template compiles "a ${entry.b}".
func (c *compiler) template(x *hclsyntax.TemplateExpr) (spec.Expr, *spec.Type) {
	t := &spec.Template{}
	for _, part := range x.Parts {
		p, pt := c.expr(part)
		if p == nil {
			continue
		}
		if !scalar(pt) {
			c.bad = true
			c.scope.fail(diag.TypeMismatch, part, fmt.Sprintf("%s cannot stand in a template", A(describe(pt))), "Choose one of its members.")
		}
		t.Parts = append(t.Parts, p)
	}
	if c.bad {
		return nil, nil
	}
	return t, stringType
}

// isNumber reports whether a text is a decimal number.
func isNumber(text string) bool {
	digits := false
	for i, r := range text {
		switch {
		case r >= '0' && r <= '9':
			digits = true
		case r == '-' && i == 0, r == '.' && digits:
		default:
			return false
		}
	}
	return digits
}
