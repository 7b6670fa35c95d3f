package lang

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/testspec"
)

// maxInstances is how often for_each may run a test.
const maxInstances = 1000

// instance is one value of for_each; each is nil without one.
type instance struct {
	name string
	each map[string]cty.Value
}

// test adds a test to the suite, once for each value of its for_each. When one
// of them has a problem, the others, which are like it, are left out.
func (t *testFile) test(n *node) {
	instances, ok := t.instances(n)
	if !ok {
		return
	}
	for _, i := range instances {
		before := t.suite.report.Added(diag.Error)
		if t.instance(n, i); t.suite.report.Added(diag.Error) > before {
			return
		}
	}
}

// instance evaluates a test with the values of one instance.
func (t *testFile) instance(n *node, i instance) {
	given, ok := t.variables(n, i)
	if !ok {
		return
	}
	v := t.suite.variant(given)
	expect := n.one("expect_error")
	if v.pipeline == nil && expect == nil {
		t.suite.include(v)
		return
	}
	l := t.loader
	l.scope, l.extra = t.scope(v), i.each
	n.vals = map[string]*value{"server": l.argument(n, n.schema.Arg("server"))}
	for _, c := range n.blocks {
		l.evaluate(c)
	}
	test := &testspec.Test{
		Name: n.label, Label: n.label, Instance: i.name, Pos: l.pos(n), Server: t.server(n), Pipeline: v.pipeline,
	}
	if i.each != nil {
		test.Name += "/" + i.name
	}
	if v.pipeline == nil {
		test.Problems = v.loader.report
	}
	b := &testBuilder{testFile: t, variant: v, each: i.each}
	b.build(test, n)
	t.suite.suite.Tests = append(t.suite.suite.Tests, test)
}

// scope is what expressions can name: the variables of a variant, and the locals
// of the file.
func (t *testFile) scope(v *variant) *eval.Scope {
	if s := t.scopes[v]; s != nil {
		return s
	}
	l := t.loader
	s := &eval.Scope{Report: l.report, Tests: true, BlockNames: v.loader.scope.BlockNames}
	t.scopes[v], l.scope = s, s
	for _, name := range v.loader.scope.VariableNames() {
		s.Variable(name, diag.Range{}, func() cty.Value { value, _ := v.loader.scope.Var(name); return value })
	}
	for _, n := range l.root.all("locals") {
		for _, attr := range n.free {
			poisoned := l.poisoned(n, attr)
			s.Local(attr.Name, eval.Range(l.report, attr.NameRange), func() cty.Value {
				if poisoned {
					return cty.DynamicVal
				}
				value, _ := s.Eval(attr.Expr, eval.Use{})
				return value
			})
		}
	}
	s.Resolve()
	return s
}

// eval evaluates an expression with the values of the pipeline as it is without
// variables of a test. Where that cannot be loaded, its errors are reported.
func (t *testFile) eval(e hclsyntax.Expression, extra map[string]cty.Value) (cty.Value, bool) {
	before := t.suite.report.Added(diag.Error)
	v, ok := t.scope(t.suite.base).Eval(e, eval.Use{Extra: extra, Word: true})
	if !ok && t.suite.report.Added(diag.Error) == before {
		t.suite.include(t.suite.base)
	}
	return v, ok
}

// instances are the values of for_each.
func (t *testFile) instances(n *node) ([]instance, bool) {
	attr := n.args["for_each"]
	if attr == nil {
		return []instance{{}}, true
	}
	l := t.loader
	if l.poisoned(n, attr) {
		return nil, false
	}
	v, ok := t.eval(attr.Expr, nil)
	if !ok {
		return nil, false
	}
	rng := eval.Range(l.report, attr.Expr.Range())
	switch {
	case eval.IsSensitive(v):
		l.fail(diag.ExpressionNotAllowed, rng, "for_each cannot be a sensitive value", "It is shown in the names of tests.")
		return nil, false
	case v.IsNull() || !v.CanIterateElements():
		d := l.fail(diag.WrongType, rng, fmt.Sprintf("for_each must be an object or a list, this is %s", eval.A(eval.TypeName(v.Type()))), "Each member or element is one run of the test.")
		if v.Type() == cty.Number {
			d.Suggest(fmt.Sprintf("range(%s)", eval.Number(v)))
		}
		return nil, false
	case v.LengthInt() == 0:
		l.fail(diag.InvalidValue, rng, "for_each is empty", "The test would never run.")
		return nil, false
	case v.LengthInt() > maxInstances:
		l.fail(diag.OutOfRange, rng, fmt.Sprintf("for_each has %d values, at most %d are allowed", v.LengthInt(), maxInstances), "Use fewer values.")
		return nil, false
	}
	return t.named(instancesOf(v, t.memberOrder(attr.Expr)), rng)
}

// named checks that the names of instances differ.
func (t *testFile) named(all []instance, rng diag.Range) ([]instance, bool) {
	seen := map[string]bool{}
	for _, i := range all {
		if seen[i.name] {
			t.loader.fail(diag.DuplicateName, rng, fmt.Sprintf("for_each has %q twice", i.name), "Each value is the name of one run. distinct(…) leaves out what is there already.")
			return nil, false
		}
		seen[i.name] = true
	}
	return all, true
}

// instancesOf are the members or elements of a value; order are the names of
// members in the order of the file, if that is known.
func instancesOf(v cty.Value, order []string) []instance {
	var out []instance
	add := func(key string, value cty.Value) {
		each := cty.ObjectVal(map[string]cty.Value{"key": cty.StringVal(key), "value": value})
		out = append(out, instance{key, map[string]cty.Value{"each": each}})
	}
	if v.Type().IsObjectType() || v.Type().IsMapType() {
		members := v.AsValueMap()
		names := slices.Sorted(maps.Keys(members))
		if len(order) == len(names) {
			names = order
		}
		for _, name := range names {
			add(name, members[name])
		}
		return out
	}
	items := v.AsValueSlice()
	texts := !slices.ContainsFunc(items, func(e cty.Value) bool { return e.IsNull() || e.Type() != cty.String })
	for i, e := range items {
		if texts {
			add(e.AsString(), e)
		} else {
			add(strconv.Itoa(i), e)
		}
	}
	return out
}

// memberOrder are the names of an object's members in the order of the file, nil
// where the object is not written out or a name stands twice.
func (t *testFile) memberOrder(e hclsyntax.Expression) []string {
	object := bodyOf(e)
	if object == nil {
		return nil
	}
	var names []string
	for _, item := range object.Items {
		key, ok := t.eval(item.KeyExpr, nil)
		if !ok || key.IsNull() || key.Type() != cty.String || slices.Contains(names, key.AsString()) {
			return nil
		}
		names = append(names, key.AsString())
	}
	return names
}

// variables are the values that a test gives to variables of the pipeline.
func (t *testFile) variables(n *node, i instance) (map[string]raw, bool) {
	block := n.one("variables")
	if block == nil {
		return nil, true
	}
	l := t.loader
	given, good := map[string]raw{}, true
	for _, attr := range block.free {
		rng := eval.Range(l.report, attr.NameRange)
		if l.named["variable"][attr.Name] == nil {
			t.noVariable(attr.Name, rng)
			good = false
			continue
		}
		if l.poisoned(block, attr) {
			good = false
			continue
		}
		v, ok := t.eval(attr.Expr, i.each)
		if !ok {
			good = false
			continue
		}
		v, _ = v.UnmarkDeep()
		given[attr.Name] = raw{name: attr.Name, from: "the test", rng: rng, value: v, ok: true}
	}
	if len(given) == 0 {
		return nil, good
	}
	return given, good
}

// noVariable reports a value for a variable that the pipeline does not declare.
func (t *testFile) noVariable(name string, rng diag.Range) {
	l := t.loader
	if t.suite.base.loader.lost["variable"] {
		return
	}
	names := l.names("variable")
	d := l.fail(diag.VariableUndeclared, rng, fmt.Sprintf("the pipeline declares no variable %q", name), "")
	if near := diag.Nearest(name, names); near != "" {
		d.Suggest(near).Edit(rng, near)
		return
	}
	d.Detail = "It declares none."
	if len(names) > 0 {
		d.Detail = "Declared are " + list(names) + "."
	}
}

// variantKey tells values of variables apart.
func variantKey(given map[string]raw) string {
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(given)) {
		text, err := ctyjson.Marshal(given[name].value, cty.DynamicPseudoType)
		if err != nil {
			text = []byte(eval.Show(given[name].value))
		}
		fmt.Fprintf(&b, "%s=%s\n", name, text)
	}
	return b.String()
}

// unused warns of locals that no test uses.
func (t *testFile) unused() {
	l := t.loader
	l.locals() // reports names that are there twice
	if l.report.HasErrors() || len(t.scopes) == 0 {
		return
	}
	counts := map[eval.Symbol]int{}
	for _, s := range t.scopes {
		for _, symbol := range s.Unused() {
			counts[symbol]++
		}
	}
	for symbol, n := range counts {
		name, isLocal := strings.CutPrefix(symbol.Name, "local.")
		if isLocal && n == len(t.scopes) {
			l.add(diag.Warning, diag.Unused, symbol.Range, fmt.Sprintf("local %q is not used", name), fmt.Sprintf("No expression names %s. Remove it, or use it.", symbol.Name))
		}
	}
}
