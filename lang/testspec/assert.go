package testspec

import (
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// Assert is one condition that must hold. It may be checked by several
// goroutines at once.
type Assert struct {
	// Condition is what the file says, Message its own explanation or "".
	Condition, Message string
	// Range is where the condition stands.
	Range diag.Range

	late   *eval.Late
	labels Labels
}

// Labels are the blocks whose state can be read, by the names in Roots. Those of
// disabled subscriptions are among them.
type Labels map[string][]string

// NewAssert makes an assert of a condition whose names were checked.
func NewAssert(condition *eval.Late, labels Labels, message string, at diag.Range) *Assert {
	return &Assert{Condition: condition.Text(condition.Expr), Message: message, Range: at, late: condition, labels: labels}
}

// Check evaluates the condition over what was seen. A condition that has no
// value does not hold, and the result says why in words. The state must not be
// changed meanwhile.
func (a *Assert) Check(s *State) Result {
	c := &check{late: a.late, roots: a.roots(s)}
	result := Result{Condition: a.Condition, Message: a.Message, Range: a.Range}
	passed, reasons, problem := c.holds(a.late.Expr)
	switch {
	case problem != "":
		result.Problem, result.Values = problem, c.named(a.late.Expr, "")
	case passed:
		result.Passed = true
	default:
		result.Reasons = reasons
	}
	return result
}

// roots are the values of the roots that the condition names, with the labels
// that it names, or with all where it computes one.
func (a *Assert) roots(s *State) map[string]cty.Value {
	if s == nil {
		s = &State{}
	}
	wanted := map[string]map[string]bool{}
	for _, tr := range a.late.Expr.Variables() {
		root := tr.RootName()
		if !IsRoot(root) {
			continue
		}
		if wanted[root] == nil {
			wanted[root] = map[string]bool{}
		}
		if name, ok := stepName(tr, 1); ok {
			wanted[root][name] = true
			continue
		}
		for _, name := range a.labels[root] {
			wanted[root][name] = true
		}
	}
	out := map[string]cty.Value{}
	for root, labels := range wanted {
		states := members{}
		for label := range labels {
			states[label] = s.state(root, label)
		}
		out[root] = cty.ObjectVal(states)
	}
	return out
}

// check is one evaluation of a condition.
type check struct {
	late  *eval.Late
	roots map[string]cty.Value
}

// holds evaluates a part of a condition. The reasons are the parts that decided;
// a problem says why there is no result.
func (c *check) holds(e hclsyntax.Expression) (result bool, reasons []Reason, problem string) {
	switch x := e.(type) {
	case *hclsyntax.ParenthesesExpr:
		return c.holds(x.Expression)
	case *hclsyntax.TemplateWrapExpr:
		return c.holds(x.Wrapped)
	case *hclsyntax.UnaryOpExpr:
		if x.Op == hclsyntax.OpLogicalNot {
			result, reasons, problem = c.holds(x.Val)
			return !result, reasons, problem
		}
	case *hclsyntax.ConditionalExpr:
		return c.conditional(x)
	case *hclsyntax.BinaryOpExpr:
		switch x.Op {
		case hclsyntax.OpLogicalAnd, hclsyntax.OpLogicalOr:
			return c.both(x)
		case hclsyntax.OpEqual, hclsyntax.OpNotEqual:
			return c.equal(x)
		case hclsyntax.OpLessThan, hclsyntax.OpLessThanOrEqual, hclsyntax.OpGreaterThan, hclsyntax.OpGreaterThanOrEqual:
			return c.ordered(x)
		}
	case *hclsyntax.FunctionCallExpr:
		return c.call(x)
	}
	return c.plain(e)
}

// both evaluates && and ||: the right side only where the left one leaves it
// open.
func (c *check) both(x *hclsyntax.BinaryOpExpr) (bool, []Reason, string) {
	left, reasons, problem := c.holds(x.LHS)
	if problem != "" || left == (x.Op == hclsyntax.OpLogicalOr) {
		return left, reasons, problem
	}
	right, more, problem := c.holds(x.RHS)
	if right == left {
		more = append(reasons, more...)
	}
	return right, more, problem
}

func (c *check) conditional(x *hclsyntax.ConditionalExpr) (bool, []Reason, string) {
	chosen, reasons, problem := c.holds(x.Condition)
	if problem != "" {
		return false, nil, problem
	}
	branch := x.FalseResult
	if chosen {
		branch = x.TrueResult
	}
	result, more, problem := c.holds(branch)
	return result, append(reasons, more...), problem
}

// plain evaluates what must be true or false by itself.
func (c *check) plain(e hclsyntax.Expression) (bool, []Reason, string) {
	result, problem := c.boolean(e)
	if problem != "" {
		return false, nil, problem
	}
	reason := c.reason(e, result)
	reason.Values = c.named(e, reason.Text)
	return result, []Reason{reason}, ""
}

// call evaluates a function; what it was given says why.
func (c *check) call(x *hclsyntax.FunctionCallExpr) (bool, []Reason, string) {
	result, problem := c.boolean(x)
	if problem != "" {
		return false, nil, problem
	}
	reason := c.reason(x, result)
	if x.Name == "can" || x.Name == "try" {
		reason.Values = c.named(x, "")
		return result, []Reason{reason}, ""
	}
	for _, arg := range x.Args {
		v, problem := c.value(arg)
		if problem != "" || constant(arg) {
			continue
		}
		reason.Values = append(reason.Values, diag.Value{Name: oneLine(c.late.Text(arg)), Value: show(v)})
	}
	return result, []Reason{reason}, ""
}

func (c *check) reason(e hclsyntax.Expression, result bool) Reason {
	return Reason{Text: oneLine(c.late.Text(e)), Value: show(cty.BoolVal(result))}
}

// boolean evaluates an expression that must be true or false.
func (c *check) boolean(e hclsyntax.Expression) (bool, string) {
	v, problem := c.value(e)
	if problem != "" {
		return false, problem
	}
	if v.IsNull() || v.Type() != cty.Bool {
		return false, oneLine(c.late.Text(e)) + " is " + show(v) + ", which is neither true nor false"
	}
	v, _ = v.Unmark()
	return v.True(), ""
}

// value evaluates any expression; the problem is in words.
func (c *check) value(e hclsyntax.Expression) (cty.Value, string) {
	v, problem := c.late.Value(e, c.roots)
	if problem == nil {
		return v, ""
	}
	return v, c.words(e, problem)
}
