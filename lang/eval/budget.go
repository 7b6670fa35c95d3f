package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"pipeline/lang/diag"
)

// maxSteps bounds the work of all expressions of one pipeline. A step is an
// element or sixteen bytes of text that an expression names, goes over or makes.
// It counts work, not time, so that a file is refused everywhere or nowhere.
// A pipeline needs some thousands; a million take well under a second.
const maxSteps = 1_000_000

// errSteps ends a function when the steps are used up. It is never shown: the
// expression as a whole is refused.
var errSteps = errors.New("too many steps")

// spend uses up steps; false when there are none left.
func (s *Scope) spend(n int) bool {
	if n > maxSteps-s.spent {
		s.spent = maxSteps + 1
		return false
	}
	s.spent += n
	return true
}

// cost is what going over a value takes, in steps.
func cost(v cty.Value) int {
	if v == cty.NilVal {
		return 1
	}
	w := counter{}
	w.count(v)
	return w.steps
}

// counter adds up steps. It stops where nothing is left to be had.
type counter struct{ steps int }

func (c *counter) count(v cty.Value) {
	v, _ = v.Unmark()
	c.steps++
	switch {
	case c.steps > maxSteps || !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		c.steps += len(v.AsString()) / 16
	case v.Type() == cty.Number:
		c.steps += 3 // they are exact, and slow
	case v.CanIterateElements():
		for it := v.ElementIterator(); c.steps <= maxSteps && it.Next(); {
			_, e := it.Element()
			c.count(e)
		}
	}
}

// affordable takes the steps for every value that an expression names, each
// time it does, and sees to it that loops and functions take theirs. False is
// reported, once for the whole pipeline.
func (s *Scope) affordable(e hclsyntax.Expression, ctx *hcl.EvalContext) bool {
	for _, tr := range e.Variables() {
		if !s.spend(s.named(tr, ctx)) {
			s.exhausted(e)
			return false
		}
	}
	_ = hclsyntax.Walk(e, loopWatcher{s}) // finds nothing to report
	return true
}

// named is the cost of a value that is named: a variable's or local's, or that
// of a loop.
func (s *Scope) named(tr hcl.Traversal, ctx *hcl.EvalContext) int {
	table := s.vars
	switch tr.RootName() {
	case "local":
		table = s.locals
	case "var":
	default:
		for ; ctx != nil; ctx = ctx.Parent() {
			if v, ok := ctx.Variables[tr.RootName()]; ok {
				return cost(v)
			}
		}
		return 1
	}
	if len(tr) > 1 {
		if name, ok := stepName(tr[1]); ok && table[name] != nil {
			sym := table[name]
			if sym.cost == 0 && sym.state == done {
				sym.cost = cost(sym.value)
			}
			return max(1, sym.cost)
		}
	}
	return 1
}

// exhausted reports that the steps are used up. Whatever is evaluated after that
// is refused too, without a word.
func (s *Scope) exhausted(e hclsyntax.Expression) {
	if !s.told {
		s.told = true
		s.fail(diag.TooComplex, e, "evaluating this takes too long", fmt.Sprintf("All expressions of a pipeline together may go over %d elements. Make the lists shorter, or compute them outside and give them in a --var-file.", maxSteps))
	}
}

// loopWatcher puts a watcher before what the loops of an expression evaluate
// for each element, and behind the results that a condition unites.
type loopWatcher struct{ scope *Scope }

// Enter implements hclsyntax.Walker.
func (w loopWatcher) Enter(n hclsyntax.Node) hcl.Diagnostics {
	switch x := unwatched(n).(type) {
	case *hclsyntax.ForExpr:
		x.ValExpr = w.scope.watch(x.ValExpr, false)
		if x.KeyExpr != nil {
			x.KeyExpr = w.scope.watch(x.KeyExpr, false)
		}
		if x.CondExpr != nil {
			x.CondExpr = w.scope.watch(x.CondExpr, false)
		}
	case *hclsyntax.ConditionalExpr:
		x.TrueResult = w.scope.watch(x.TrueResult, true)
		x.FalseResult = w.scope.watch(x.FalseResult, true)
	}
	return nil
}

// Exit implements hclsyntax.Walker.
func (loopWatcher) Exit(hclsyntax.Node) hcl.Diagnostics { return nil }

// watched is an expression of a loop that takes its steps before each
// evaluation.
type watched struct {
	hclsyntax.Expression
	scope *Scope
	names []hcl.Traversal
	// united: the type of the value is united with another.
	united bool
}

func (s *Scope) watch(e hclsyntax.Expression, united bool) hclsyntax.Expression {
	if _, already := e.(*watched); already {
		return e
	}
	return &watched{e, s, e.Variables(), united}
}

// unwatched is a node as it was parsed.
func unwatched(n hclsyntax.Node) hclsyntax.Node {
	if w, ok := n.(*watched); ok {
		return w.Expression
	}
	return n
}

// Value implements hclsyntax.Expression. Without steps it is unknown.
func (w *watched) Value(ctx *hcl.EvalContext) (cty.Value, hcl.Diagnostics) {
	steps := 4
	for _, tr := range w.names {
		steps += w.scope.named(tr, ctx)
	}
	if !w.scope.spend(steps) {
		return cty.DynamicVal, nil
	}
	v, diags := w.Expression.Value(ctx)
	if w.united && !w.scope.spend(uniting(v)) {
		return cty.DynamicVal, nil
	}
	return v, diags
}

// uniting is what it takes to find one type for all elements of a value: cty
// compares each with each.
func uniting(v cty.Value) int {
	v, _ = v.Unmark()
	if !v.IsKnown() || v.IsNull() || !v.Type().IsTupleType() && !v.Type().IsObjectType() {
		return 0
	}
	n := v.LengthInt()
	return saturated(n, n) / 20
}

// counted is a function that takes steps for its arguments and its result. It
// converts lists and maps itself, so that this is counted too.
func (s *Scope) counted(name string, f function.Function) function.Function {
	params, rest := f.Params(), f.VarParam()
	if rest != nil {
		loose := loosened(*rest)
		rest = &loose
	}
	given := make([]function.Parameter, len(params))
	for i, p := range params {
		given[i] = loosened(p)
	}
	return function.New(&function.Spec{
		Params: given, VarParam: rest,
		Type: func(args []cty.Value) (cty.Type, error) {
			if !s.spend(callCost(name, args)) {
				return cty.DynamicPseudoType, errSteps
			}
			args, err := s.converted(f, args)
			if err != nil {
				return cty.DynamicPseudoType, err
			}
			return f.ReturnTypeForValues(args)
		},
		Impl: func(args []cty.Value, _ cty.Type) (cty.Value, error) {
			args, err := s.converted(f, args)
			if err != nil {
				return cty.NilVal, err
			}
			v, err := f.Call(args)
			if err == nil && !s.spend(cost(v)) {
				return cty.NilVal, errSteps
			}
			return v, err
		},
	})
}

// loosened is a parameter that takes anything in the place of a collection.
func loosened(p function.Parameter) function.Parameter {
	if p.Type.IsCollectionType() {
		p.Type = cty.DynamicPseudoType
	}
	return p
}

// converted are arguments by the types of the function's own parameters.
func (s *Scope) converted(f function.Function, args []cty.Value) ([]cty.Value, error) {
	out := slices.Clone(args)
	params := f.Params()
	for i, v := range args {
		p := f.VarParam()
		if i < len(params) {
			p = &params[i]
		}
		if p == nil || !p.Type.IsCollectionType() {
			continue
		}
		if !s.spend(uniting(v)) {
			return nil, errSteps
		}
		got, err := convert.Convert(v, p.Type)
		if err != nil {
			return nil, function.NewArgError(i, err)
		}
		out[i] = got
	}
	return out, nil
}

// callCost is the cost of the arguments of a call, by what the function does
// with them.
func callCost(name string, args []cty.Value) int {
	total := 1
	for _, a := range args {
		total += cost(a)
	}
	switch name {
	case "jsonencode": // writes every digit
		total *= 8
	case "distinct": // compares each element with each
		total = squared(total)
	case "coalesce": // unites the types of all
		for _, a := range args {
			total += uniting(a)
		}
	case "regex", "replace": // a pattern is followed through the text in all ways at once
		if pattern, text, ok := searched(name, args); ok {
			total += saturated(len(pattern), len(text)) / 64
		}
	}
	return total
}

func squared(n int) int { return saturated(n, n) / 4 }

// saturated multiplies without overflow.
func saturated(a, b int) int {
	if a != 0 && b > 1<<40/a {
		return 1 << 40
	}
	return a * b
}

// searched is the pattern of a call and the text that it is looked for in.
func searched(name string, args []cty.Value) (pattern, text string, ok bool) {
	if len(args) < 2 {
		return "", "", false
	}
	plain := func(v cty.Value) string {
		if v, _ = v.Unmark(); v.Type() == cty.String && v.IsKnown() && !v.IsNull() {
			return v.AsString()
		}
		return ""
	}
	first, second := plain(args[0]), plain(args[1])
	if name == "regex" {
		return first, second, true
	}
	return second, first, strings.HasPrefix(second, "/")
}
