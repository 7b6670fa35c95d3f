// Package eval evaluates the expressions of a pipeline file: constant ones to
// values, with sensitive ones marked, and those over entries to spec.Expr.
//
// Problems go to the report as they are found. A value that could not be
// computed is unknown: whatever depends on it stays silent, so that one
// mistake gives one diagnostic.
package eval

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/function"

	"pipeline/lang/diag"
)

// Scope is what the expressions of one pipeline can name. It is not safe for
// concurrent use.
type Scope struct {
	Report *diag.Report
	// LookupEnv serves env(); nil knows nothing.
	LookupEnv func(string) (string, bool)
	// Hostname serves hostname().
	Hostname string
	// BlockNames are the names of the blocks that can be referred to, by type:
	// a mention of one in a place for values is told apart from a typo.
	BlockNames map[string][]string
	// Tests: the expressions are those of a test file.
	Tests bool

	vars, locals map[string]*symbol
	path         []*symbol
	// spent are the steps that evaluation has taken; told, that they were too
	// many.
	spent int
	told  bool
	// callable are the functions with their steps counted.
	callable map[string]function.Function
}

// symbol is a variable or a local, evaluated when first asked for.
type symbol struct {
	name  string
	rng   diag.Range
	state state
	used  bool
	cost  int
	// known: the value is, once looked at.
	looked, known bool
	value         cty.Value
	compute       func() cty.Value
}

// isKnown reports whether the value could be computed. It looks through a
// settled one once.
func (sym *symbol) isKnown() bool {
	if sym.state != done {
		return false
	}
	if !sym.looked {
		sym.looked, sym.known = true, sym.value.IsWhollyKnown()
	}
	return sym.known
}

type state uint8

const (
	fresh state = iota
	running
	done
)

// Variable declares a variable; compute is called once, when first needed, and
// returns cty.DynamicVal when it reported a problem.
func (s *Scope) Variable(name string, rng diag.Range, compute func() cty.Value) {
	if s.vars == nil {
		s.vars = map[string]*symbol{}
	}
	s.vars[name] = &symbol{name: "var." + name, rng: rng, compute: compute}
}

// Local declares a local.
func (s *Scope) Local(name string, rng diag.Range, compute func() cty.Value) {
	if s.locals == nil {
		s.locals = map[string]*symbol{}
	}
	s.locals[name] = &symbol{name: "local." + name, rng: rng, compute: compute}
}

// Resolve evaluates every variable and local, so that all their problems are
// reported, used or not.
func (s *Scope) Resolve() {
	for _, table := range []map[string]*symbol{s.vars, s.locals} {
		for _, name := range sortedNames(table) {
			s.value(table[name])
		}
	}
}

// Symbol is a variable or local, as "var.name" or "local.name", and where it is
// declared.
type Symbol struct {
	Name  string
	Range diag.Range
}

// Unused are the variables and locals that no expression has named so far.
func (s *Scope) Unused() []Symbol {
	var out []Symbol
	for _, table := range []map[string]*symbol{s.vars, s.locals} {
		for _, name := range sortedNames(table) {
			if sym := table[name]; !sym.used {
				out = append(out, Symbol{sym.name, sym.rng})
			}
		}
	}
	return out
}

// Var is the value of a variable; ok is false when it is not declared.
func (s *Scope) Var(name string) (v cty.Value, ok bool) {
	sym := s.vars[name]
	if sym == nil {
		return cty.DynamicVal, false
	}
	return s.value(sym), true
}

// VariableNames are the declared variables, sorted.
func (s *Scope) VariableNames() []string { return sortedNames(s.vars) }

// value evaluates a symbol once, and reports a circle once.
func (s *Scope) value(sym *symbol) cty.Value {
	switch sym.state {
	case done:
		return sym.value
	case running:
		s.cycle(sym)
		return cty.DynamicVal
	}
	sym.state = running
	s.path = append(s.path, sym)
	v := sym.compute()
	s.path = s.path[:len(s.path)-1]
	if sym.state != done {
		sym.value, sym.state = v, done
	}
	return sym.value
}

// cycle reports the circle that ends in sym, and settles all its members as
// unknown, so that none reports it again.
func (s *Scope) cycle(sym *symbol) {
	start := slices.Index(s.path, sym)
	circle := s.path[start:]
	var text strings.Builder
	for _, member := range circle {
		text.WriteString(member.name + " → ")
		member.value, member.state = cty.DynamicVal, done
	}
	d := s.Report.Add(diag.Diagnostic{
		Code: diag.Cycle, Range: sym.rng,
		Summary: sym.name + " refers to itself",
		Detail:  "The circle is " + text.String() + sym.name + ". Give one of them a value of its own.",
	})
	for _, member := range circle[1:] {
		d.Relate(member.rng, member.name+" is defined here")
	}
}

// Use says what an expression may name besides variables and locals.
type Use struct {
	// Env and Hostname allow the function of the name.
	Env, Hostname bool
	// Extra are further names, by root: "each", "stream". One called "var"
	// hides the variables.
	Extra map[string]cty.Value
	// Word: a single word is probably a string whose quotes are missing.
	Word bool
}

// Eval evaluates an expression. ok is false, and the value unknown, when it or
// something it depends on has a problem, which is reported once.
func (s *Scope) Eval(e hclsyntax.Expression, use Use) (v cty.Value, ok bool) {
	if !s.check(e, use) {
		return cty.DynamicVal, false
	}
	if s.told {
		return cty.DynamicVal, false
	}
	ctx, known := s.context(e, use)
	if !known {
		return cty.DynamicVal, false
	}
	if !s.affordable(e, ctx) {
		return cty.DynamicVal, false
	}
	v, diags := e.Value(ctx)
	if s.spent > maxSteps {
		s.exhausted(e)
		return cty.DynamicVal, false
	}
	if diags.HasErrors() {
		s.evalFailed(e, diags, ctx)
		return cty.DynamicVal, false
	}
	if !v.IsWhollyKnown() {
		return cty.DynamicVal, false
	}
	if !s.bounded(e, v) {
		return cty.DynamicVal, false
	}
	return v, true
}

// context gathers the values that an expression names. known is false when one
// of them is not.
func (s *Scope) context(e hclsyntax.Expression, use Use) (*hcl.EvalContext, bool) {
	vars, locals := map[string]cty.Value{}, map[string]cty.Value{}
	known := true
	for _, tr := range e.Variables() {
		if len(tr) < 2 || use.Extra[tr.RootName()] != cty.NilVal {
			continue
		}
		name, _ := stepName(tr[1])
		switch tr.RootName() {
		case "var":
			vars[name] = s.value(s.vars[name])
			known = known && s.vars[name].isKnown()
		case "local":
			locals[name] = s.value(s.locals[name])
			known = known && s.locals[name].isKnown()
		}
	}
	all := map[string]cty.Value{"var": cty.ObjectVal(vars), "local": cty.ObjectVal(locals)}
	maps.Copy(all, use.Extra)
	return &hcl.EvalContext{Variables: all, Functions: s.functions(use)}, known
}

// functions is the table of what may be called.
func (s *Scope) functions(use Use) map[string]function.Function {
	if s.callable == nil {
		s.callable = map[string]function.Function{}
		for name, f := range functions {
			if s.callable[name] = f; name != "try" && name != "can" {
				s.callable[name] = s.counted(name, f)
			}
		}
	}
	if !use.Env && !use.Hostname {
		return s.callable
	}
	all := maps.Clone(s.callable)
	if use.Env {
		all["env"] = envFunc(s.LookupEnv)
	}
	if use.Hostname {
		all["hostname"] = hostnameFunc(s.Hostname)
	}
	return all
}

// bounded refuses values that have grown beyond what a pipeline can need: a
// few lines can double a value over and over.
func (s *Scope) bounded(e hclsyntax.Expression, v cty.Value) bool {
	w := weight{left: maxItems}
	if w.take(v); w.infinite {
		s.fail(diag.ExpressionFailed, e, "this divides by zero, or gives a number that is too large", "")
		return false
	}
	if w.left >= 0 {
		return true
	}
	s.fail(diag.TooComplex, e, "this value is too large", fmt.Sprintf("A value may have %d elements and 1 MiB of text.", maxItems))
	return false
}

// weight is what a value may still hold: elements, and text by tens of bytes.
type weight struct {
	left int
	// infinite: a number came from a division by zero, or is too large.
	infinite bool
}

func (w *weight) take(v cty.Value) {
	w.left--
	if w.left < 0 {
		return
	}
	v, _ = v.Unmark()
	switch {
	case !v.IsKnown() || v.IsNull():
	case v.Type() == cty.String:
		w.left -= len(v.AsString()) * maxItems / (maxText + 1)
	case v.Type() == cty.Number:
		f := v.AsBigFloat()
		w.infinite = w.infinite || f.IsInf() || f.MantExp(nil) > 4*maxExponent || f.MantExp(nil) < -4*maxExponent
	case v.CanIterateElements():
		for it := v.ElementIterator(); w.left >= 0 && it.Next(); {
			_, e := it.Element()
			w.take(e)
		}
	}
}

// at is the range in the report's terms.
func (s *Scope) at(h hcl.Range) diag.Range { return Range(s.Report, h) }

// fail reports an error at a node.
func (s *Scope) fail(code diag.Code, e hclsyntax.Node, summary, detail string) *diag.Diagnostic {
	return s.Report.Add(diag.Diagnostic{Code: code, Range: s.at(e.Range()), Summary: summary, Detail: detail})
}

// text is the source of a node.
func (s *Scope) text(e hclsyntax.Node) string {
	src := s.Report.Source(e.Range().Filename)
	if src == nil {
		return ""
	}
	return string(e.Range().SliceBytes(src.Text))
}

func sortedNames(table map[string]*symbol) []string {
	names := make([]string, 0, len(table))
	for name := range table {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// stepName is the name of a traversal's step: .name or ["name"].
func stepName(step hcl.Traverser) (string, bool) {
	switch t := step.(type) {
	case hcl.TraverseAttr:
		return t.Name, true
	case hcl.TraverseIndex:
		if t.Key.Type() == cty.String {
			return t.Key.AsString(), true
		}
	}
	return "", false
}
