package testspec

import (
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/value"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// results are the shapes of what functions give; one that is not listed gives
// what cannot be told.
var results = map[string]*Shape{
	"length": numberShape, "sum": numberShape, "tonumber": numberShape,
	"contains": boolShape, "startswith": boolShape, "endswith": boolShape, "can": boolShape, "tobool": boolShape,
	"lower": stringShape, "upper": stringShape, "trimspace": stringShape, "format": stringShape, "join": stringShape, "replace": stringShape,
	"substr": stringShape, "jsonencode": stringShape, "tostring": stringShape, "base64encode": stringShape, "base64decode": stringShape,
	"keys": listOf(stringShape), "split": listOf(stringShape), "range": listOf(numberShape),
	"values": listOf(anyShape), "concat": listOf(anyShape), "flatten": listOf(anyShape), "distinct": listOf(anyShape), "sort": listOf(anyShape),
}

// call checks the arguments of a function.
func (c *Checker) call(x *hclsyntax.FunctionCallExpr) known {
	args := make([]known, len(x.Args))
	constant := true
	if x.Name == "try" || x.Name == "can" {
		c.lenient++
		defer func() { c.lenient-- }()
	}
	for i, arg := range x.Args {
		args[i] = c.of(arg)
		constant = constant && args[i].isConstant()
	}
	if constant {
		if v, problem := c.late.Value(x, nil); problem == nil {
			return known{shape: shapeOf(v), value: v, text: c.text(x)}
		}
	}
	if x.Name == "contains" && len(args) == 2 && args[0].shape != nil && args[0].shape.Kind == KindList && args[0].shape.Elem != nil && args[1].isConstant() {
		elem := resolved(known{shape: args[0].shape.Elem, body: args[0].body})
		c.conflict(x.Args[1], elem.shape, args[1].value, "is in no such list")
	}
	k := known{shape: results[x.Name], text: c.text(x)}
	if slices.Contains([]string{"distinct", "sort", "flatten"}, x.Name) && len(args) == 1 && args[0].shape != nil && args[0].shape.Kind == KindList {
		k.shape, k.body = args[0].shape, args[0].body
	}
	return k
}

func (c *Checker) unary(x *hclsyntax.UnaryOpExpr) known {
	k := c.of(x.Val)
	if x.Op == hclsyntax.OpLogicalNot {
		c.wantBool(x.Val, k, "what stands behind !")
		return known{shape: boolShape, text: c.text(x)}
	}
	return c.constantOr(x, known{shape: numberShape, text: c.text(x)})
}

func (c *Checker) binary(x *hclsyntax.BinaryOpExpr) known {
	left, right := c.of(x.LHS), c.of(x.RHS)
	if c.bad {
		return known{}
	}
	switch x.Op {
	case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
		c.comparable(x, left, right)
	case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
		c.wantBool(x.LHS, left, "what stands before "+c.operator(x))
		c.wantBool(x.RHS, right, "what stands behind "+c.operator(x))
	case hclsyntax.OpLessThan, hclsyntax.OpLessThanOrEqual, hclsyntax.OpGreaterThan, hclsyntax.OpGreaterThanOrEqual:
		c.wantNumber(x, x.LHS, left)
		c.wantNumber(x, x.RHS, right)
	default:
		return c.constantOr(x, known{shape: numberShape, text: c.text(x)})
	}
	return known{shape: boolShape, text: c.text(x)}
}

// operator is the text of an operator.
func (c *Checker) operator(x *hclsyntax.BinaryOpExpr) string {
	return strings.Trim(strings.TrimSpace(c.late.Piece(x.LHS.Range().End.Byte, x.RHS.Range().Start.Byte)), "() \t\n")
}

// wantNumber reports what is certainly no number beside < and its like.
func (c *Checker) wantNumber(x *hclsyntax.BinaryOpExpr, e hclsyntax.Expression, k known) {
	if k.shape == nil || k.shape.Kind == KindNumber || sort(k.shape.Kind) == "" || c.bad {
		return
	}
	d := c.fail(diag.TypeMismatch, e, fmt.Sprintf("%s compares numbers, this is %s", c.operator(x), eval.A(describe(k.shape))), "")
	switch k.shape.Kind {
	case KindDuration:
		d.Detail = "Durations are compared by == with the exact one: the clock stands still in a test."
	case KindList:
		d.Suggest("length(" + c.text(e) + ")")
	default:
		if s, isText := eval.LiteralText(e); isText && value.ValidNumber(s) {
			d.Suggest(s).Edit(eval.Range(c.Report, e.Range()), s)
		}
	}
}

// comparable warns of values that are never equal.
func (c *Checker) comparable(x *hclsyntax.BinaryOpExpr, left, right known) {
	switch {
	case right.isConstant() && !left.isConstant():
		c.conflict(x.RHS, left.shape, right.value, "is never equal to "+left.text)
	case left.isConstant() && !right.isConstant():
		c.conflict(x.LHS, right.shape, left.value, "is never equal to "+right.text)
	case left.shape == nil || right.shape == nil:
	case sort(left.shape.Kind) != "" && sort(right.shape.Kind) != "" && sort(left.shape.Kind) != sort(right.shape.Kind):
		d := c.warn(diag.TypeMismatch, x, fmt.Sprintf("%s compares %s with %s", c.operator(x), eval.A(describe(left.shape)), eval.A(describe(right.shape))), "They are never equal: compare values of the same type.")
		if left.isConstant() && right.isConstant() && left.shape.Kind != KindList && right.shape.Kind != KindList && c.text(x.LHS) != "" {
			d.Detail += " Neither is read from the state."
		}
	}
}

// conflict warns when a constant can never be what a shape says; never continues
// a sentence about it.
func (c *Checker) conflict(e hclsyntax.Expression, s *Shape, v cty.Value, never string) {
	p := clash("", s, v)
	if p == nil {
		return
	}
	d := c.warn(diag.TypeMismatch, e, fmt.Sprintf("%s %s", c.shown(e, v), never), p.detail)
	if p.meant == "" {
		return
	}
	d.Suggest(p.meant)
	if p.path == "" && constant(e) {
		d.Edit(eval.Range(c.Report, e.Range()), p.meant)
	}
}

func (c *Checker) shown(e hclsyntax.Expression, v cty.Value) string {
	if constant(e) {
		return eval.Show(v)
	}
	return c.text(e)
}

// clashed is why a constant cannot be equal to what a shape describes.
type clashed struct{ path, detail, meant string }

// clash compares a constant with a shape, member by member; nil: they can be
// equal.
func clash(path string, s *Shape, v cty.Value) *clashed {
	if s == nil || v.IsNull() || v.IsMarked() || sort(s.Kind) == "" {
		return nil
	}
	got := shapeOf(v)
	if got == nil {
		return nil
	}
	if sort(got.Kind) != sort(s.Kind) {
		return &clashed{path, subject(path) + " is " + eval.A(describe(s)) + ", this is " + eval.A(describe(got)) + ".", meantConstant(s, v)}
	}
	switch s.Kind {
	case KindDuration:
		return clashDuration(path, v.AsString())
	case KindString:
		return clashWord(path, s, v.AsString())
	case KindList:
		for i, item := range v.AsValueSlice() {
			if p := clash(path+value.IndexPath(i, ""), s.Elem, item); p != nil {
				return p
			}
		}
	case KindObject:
		return clashMembers(path, s, v)
	}
	return nil
}

// clashMembers compares the members of an object whose members are known.
func clashMembers(path string, s *Shape, v cty.Value) *clashed {
	if len(s.Fields) == 0 {
		return nil
	}
	for _, f := range s.Fields {
		if m, ok := v.AsValueMap()[f.Name]; ok {
			at := f.Name
			if path != "" {
				at = path + "." + f.Name
			}
			if p := clash(at, f.Shape, m); p != nil {
				return p
			}
		}
	}
	return nil
}

// subject begins a sentence about a part of a constant.
func subject(path string) string {
	if path == "" {
		return "The other side"
	}
	return "What it is compared with at " + path
}

// clashDuration finds durations that are not written as the state has them.
func clashDuration(path, text string) *clashed {
	d, err := eval.ParseDuration(text)
	if err != nil {
		p := &clashed{path: path, detail: "It is compared with a duration, such as \"30s\"."}
		if unit, ok := errors.AsType[*eval.UnitError](err); ok && unit.Suggestion != "" {
			p.meant = strconv.Quote(unit.Suggestion)
		}
		return p
	}
	if canonical := eval.FormatDuration(d); canonical != text {
		return &clashed{path, "Durations of the state have their largest units first.", strconv.Quote(canonical)}
	}
	return nil
}

// wordAliases are what people call outcomes.
var wordAliases = map[string]string{
	"acked": "ack", "acknowledged": "ack", "ok": "ack", "success": "ack", "succeeded": "ack", "done": "ack", "completed": "ack", "processed": "ack",
	"retried": "retry", "retrying": "retry", "nack": "retry", "replied": "reply", "published": "reply", "error": "failed", "failure": "failed", "fail": "failed",
	"dead_letter": "dead", "dead-letter": "dead", "deadlettered": "dead", "dropped": "drop", "skipped": "drop", "undecodable": "invalid", "malformed": "invalid",
	"warning": "warn",
}

// clashWord finds words that are none of a closed list.
func clashWord(path string, s *Shape, text string) *clashed {
	if s.Words == nil || slices.Contains(s.Words, text) {
		return nil
	}
	p := &clashed{path: path, detail: "It is one of " + strings.Join(s.Words, ", ") + "."}
	near := diag.Nearest(text, s.Words)
	if alias := wordAliases[strings.ToLower(text)]; slices.Contains(s.Words, alias) {
		near = alias
	}
	if near != "" {
		p.meant = strconv.Quote(near)
	}
	return p
}

// meantConstant writes a constant in the type that it is compared with, or "".
func meantConstant(s *Shape, v cty.Value) string {
	text := eval.Show(v)
	switch {
	case s.Kind == KindList && s.Elem != nil && clash("", s.Elem, v) == nil:
		return "[" + text + "]"
	case isList(v) && v.LengthInt() == 1 && clash("", s, v.AsValueSlice()[0]) == nil:
		return eval.Show(v.AsValueSlice()[0])
	case s.Kind == KindNumber && v.Type() == cty.String && value.ValidNumber(v.AsString()):
		return v.AsString()
	case s.Kind == KindBool && v.Type() == cty.String && (v.AsString() == "true" || v.AsString() == "false"):
		return v.AsString()
	case s.Kind == KindDuration && v.Type() == cty.Number:
		return strconv.Quote(text + "s")
	case s.Kind == KindString && s.Words == nil && (v.Type() == cty.Number || v.Type() == cty.Bool):
		return strconv.Quote(text)
	}
	return ""
}
