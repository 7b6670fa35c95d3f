package testspec

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/value"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// equal evaluates == and !=. Lists that functions make equal those that are
// written out, unlike in hcl: nobody who compares them means their types.
func (c *check) equal(x *hclsyntax.BinaryOpExpr) (bool, []Reason, string) {
	left, right, problem := c.sides(x)
	if problem != "" {
		return false, nil, problem
	}
	difference := differ("", left, right)
	wantEqual := x.Op == hclsyntax.OpEqual
	result := (difference == nil) == wantEqual
	operator := "=="
	if !wantEqual {
		operator = "!="
	}
	reason := c.comparison(x, operator, left, right, result)
	if wantEqual && difference != nil {
		reason.Difference = difference
		reason.Note = typeNote(left, right)
	}
	return result, []Reason{reason}, ""
}

// operators of size.
var orders = map[*hclsyntax.Operation]struct {
	text  string
	holds func(order int) bool
}{
	hclsyntax.OpLessThan:           {"<", func(o int) bool { return o < 0 }},
	hclsyntax.OpLessThanOrEqual:    {"<=", func(o int) bool { return o <= 0 }},
	hclsyntax.OpGreaterThan:        {">", func(o int) bool { return o > 0 }},
	hclsyntax.OpGreaterThanOrEqual: {">=", func(o int) bool { return o >= 0 }},
}

// ordered evaluates a comparison of size, which is one of numbers.
func (c *check) ordered(x *hclsyntax.BinaryOpExpr) (bool, []Reason, string) {
	left, right, problem := c.sides(x)
	if problem != "" {
		return false, nil, problem
	}
	op := orders[x.Op]
	for _, side := range []struct {
		e hclsyntax.Expression
		v cty.Value
	}{{x.LHS, left}, {x.RHS, right}} {
		if side.v.IsNull() || side.v.Type() != cty.Number {
			return false, nil, fmt.Sprintf("%s compares numbers, and %s is not one", op.text, c.phrase(side.e, side.v))
		}
	}
	l, _ := left.Unmark()
	r, _ := right.Unmark()
	result := op.holds(l.AsBigFloat().Cmp(r.AsBigFloat()))
	return result, []Reason{c.comparison(x, op.text, left, right, result)}, ""
}

func (c *check) sides(x *hclsyntax.BinaryOpExpr) (left, right cty.Value, problem string) {
	if left, problem = c.value(x.LHS); problem == "" {
		right, problem = c.value(x.RHS)
	}
	return left, right, problem
}

// comparison describes both sides, and what they were made of.
func (c *check) comparison(x *hclsyntax.BinaryOpExpr, operator string, left, right cty.Value, result bool) Reason {
	reason := c.reason(x, result)
	reason.Operator = operator
	reason.Left = &Side{Text: oneLine(c.late.Text(x.LHS)), Value: show(left), Constant: constant(x.LHS)}
	reason.Right = &Side{Text: oneLine(c.late.Text(x.RHS)), Value: show(right), Constant: constant(x.RHS)}
	for _, v := range append(c.named(x.LHS, reason.Left.Text), c.named(x.RHS, reason.Right.Text)...) {
		if v.Name != reason.Left.Text && v.Name != reason.Right.Text && !slices.Contains(reason.Values, v) {
			reason.Values = append(reason.Values, v)
		}
	}
	return reason
}

// typeNote says that values differ in nothing but their type.
func typeNote(left, right cty.Value) string {
	if left.IsNull() || right.IsNull() || left.Type().Equals(right.Type()) {
		return ""
	}
	if eval.IsSensitive(left) || eval.IsSensitive(right) {
		return ""
	}
	bare := func(v cty.Value) string {
		if v.Type() == cty.String {
			return v.AsString()
		}
		return show(v)
	}
	if bare(left) == bare(right) {
		return fmt.Sprintf("the left side is a %s, the right side a %s", typeName(left), typeName(right))
	}
	return ""
}

// nothing stands where one side of a difference has no more.
const nothing = "nothing"

// differ finds the first place where two values differ, nil when they are equal.
func differ(path string, a, b cty.Value) *Difference {
	here := &Difference{Path: path, Got: show(a), Want: show(b)}
	if eval.IsSensitive(a) || eval.IsSensitive(b) {
		a, _ = a.UnmarkDeep()
		b, _ = b.UnmarkDeep()
		if differ(path, a, b) == nil {
			return nil
		}
		here.Got, here.Want = diag.Hidden, diag.Hidden
		return here
	}
	switch {
	case a.IsNull() || b.IsNull():
		if a.IsNull() && b.IsNull() {
			return nil
		}
		return here
	case isObject(a) && isObject(b):
		return differMembers(path, a.AsValueMap(), b.AsValueMap())
	case isList(a) && isList(b):
		return differItems(path, a.AsValueSlice(), b.AsValueSlice())
	case a.Type() != b.Type() || !a.RawEquals(b) && !sameNumber(a, b):
		return here
	}
	return nil
}

// sameNumber compares numbers by what they are worth: their precision may differ.
func sameNumber(a, b cty.Value) bool {
	return a.Type() == cty.Number && a.AsBigFloat().Cmp(b.AsBigFloat()) == 0
}

func differItems(path string, a, b []cty.Value) *Difference {
	for i := range max(len(a), len(b)) {
		at := path + value.IndexPath(i, "")
		switch {
		case i >= len(a):
			return &Difference{Path: at, Got: nothing, Want: show(b[i])}
		case i >= len(b):
			return &Difference{Path: at, Got: show(a[i]), Want: nothing}
		}
		if d := differ(at, a[i], b[i]); d != nil {
			return d
		}
	}
	return nil
}

func differMembers(path string, a, b map[string]cty.Value) *Difference {
	names := map[string]cty.Value{}
	maps.Copy(names, a)
	maps.Copy(names, b)
	for _, name := range slices.Sorted(maps.Keys(names)) {
		at := value.MemberPath(name, "")
		if path != "" && at[0] != '[' {
			at = "." + at
		}
		at = path + at
		got, hasGot := a[name]
		want, hasWant := b[name]
		switch {
		case !hasGot:
			return &Difference{Path: at, Got: nothing, Want: show(want)}
		case !hasWant:
			return &Difference{Path: at, Got: show(got), Want: nothing}
		}
		if d := differ(at, got, want); d != nil {
			return d
		}
	}
	return nil
}

func isObject(v cty.Value) bool { return v.Type().IsObjectType() || v.Type().IsMapType() }

func isList(v cty.Value) bool {
	return v.Type().IsTupleType() || v.Type().IsListType() || v.Type().IsSetType()
}

// valueOf is a value with its name.
func valueOf(name string, v cty.Value) diag.Value { return diag.Value{Name: name, Value: show(v)} }
