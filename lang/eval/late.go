package eval

import (
	"maps"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
)

// Late is an expression of which some names get their values later. It is
// read-only: it may be evaluated by several goroutines at once.
type Late struct {
	// Expr is the expression.
	Expr   hclsyntax.Expression
	values map[string]cty.Value
	source *diag.Source
}

// Late checks the names and calls of an expression whose Extra roots have no
// values yet, and takes up those of all others. ok is false when there is a
// problem, which is reported once.
func (s *Scope) Late(e hclsyntax.Expression, use Use) (l *Late, ok bool) {
	if !s.check(e, use) {
		return nil, false
	}
	ctx, known := s.context(e, use)
	if !known {
		return nil, false
	}
	_ = hclsyntax.Walk(e, loopMeter{}) // finds nothing to report
	return &Late{Expr: e, values: ctx.Variables, source: s.Report.Source(e.Range().Filename)}, true
}

// Value evaluates the expression or a part of it, with the values of the roots
// that had none. Where it has no value, the problem says why.
func (l *Late) Value(e hclsyntax.Expression, roots map[string]cty.Value) (v cty.Value, problem *diag.Diagnostic) {
	run := &Scope{Report: &diag.Report{}}
	steps := &budget{left: maxSteps}
	if l.source != nil {
		run.Report.AddSource(l.source)
	}
	all := maps.Clone(l.values)
	maps.Copy(all, roots)
	all[budgetName] = cty.CapsuleVal(budgetType, steps)
	ctx := &hcl.EvalContext{Variables: all, Functions: run.functions(Use{})}
	v, diags := e.Value(ctx)
	if steps.left < 0 || run.spent > maxSteps {
		run.fail(diag.TooComplex, e, "evaluating this takes too long", "Make the lists shorter.")
	} else if diags.HasErrors() {
		run.evalFailed(e, diags, ctx)
	} else if v.IsWhollyKnown() && run.bounded(e, v) {
		return v, nil
	}
	if found := run.Report.All(); len(found) > 0 {
		return cty.DynamicVal, &found[0]
	}
	return cty.DynamicVal, &diag.Diagnostic{Code: diag.ExpressionFailed, Summary: "this has no value"}
}

// Constant reports whether an expression, or a part of one, names none of the
// roots that get their values later.
func (l *Late) Constant(e hclsyntax.Expression, late func(root string) bool) bool {
	for _, tr := range e.Variables() {
		if late(tr.RootName()) {
			return false
		}
	}
	return true
}

// Text is the source of a node.
func (l *Late) Text(e hclsyntax.Node) string {
	if l.source == nil {
		return ""
	}
	return string(e.Range().SliceBytes(l.source.Text))
}

// Piece is the text between two offsets of the file, "" beyond it.
func (l *Late) Piece(start, end int) string {
	if l.source == nil || start < 0 || start > end || end > len(l.source.Text) {
		return ""
	}
	return string(l.source.Text[start:end])
}
