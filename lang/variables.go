package lang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// variable is one variable block on its way to a value.
type variable struct {
	node      *node
	name      string
	typ       *spec.Type
	typed     bool
	sensitive bool
}

// declare makes variables and locals known to the scope, and evaluates all of
// them once.
func (l *loader) declare() {
	given := l.givenValues()
	vars := l.root.all("variable")
	locals := l.locals()
	for _, n := range vars {
		if n.label == "" || l.named["variable"][n.label] != n {
			continue
		}
		v := &variable{node: n, name: n.label}
		l.scope.Variable(v.name, l.header(n), func() cty.Value { return l.variableValue(v, given) })
	}
	for _, attr := range locals {
		rng := eval.Range(l.report, attr.NameRange)
		l.scope.Local(attr.Name, rng, func() cty.Value {
			v, _ := l.scope.Eval(attr.Expr, eval.Use{})
			return v
		})
	}
	l.undeclared(given)
	l.scope.Resolve()
}

// locals are the arguments of all locals blocks, each name once.
func (l *loader) locals() []*hclsyntax.Attribute {
	var out []*hclsyntax.Attribute
	seen := map[string]*hclsyntax.Attribute{}
	for _, n := range l.root.all("locals") {
		for _, attr := range n.free {
			if first := seen[attr.Name]; first != nil {
				l.fail(diag.DuplicateName, eval.Range(l.report, attr.NameRange), fmt.Sprintf("a second local %q", attr.Name), "Rename one.").
					Relate(eval.Range(l.report, first.NameRange), "the first is here")
				continue
			}
			seen[attr.Name] = attr
			if n.file.isPoisoned(attr.Expr.Range().Start.Byte, attr.Expr.Range().End.Byte) {
				l.scope.Local(attr.Name, eval.Range(l.report, attr.NameRange), func() cty.Value { return cty.DynamicVal })
				continue
			}
			out = append(out, attr)
		}
	}
	return out
}

// variableValue computes a variable: the first of --var, --var-file, the
// environment and the default, converted to its type and validated.
func (l *loader) variableValue(v *variable, given givenValues) cty.Value {
	l.settings(v)
	v.typ, v.typed = &spec.Type{Kind: spec.TypeAny}, true
	if attr := v.node.args["type"]; attr != nil {
		v.typ, v.typed = l.scope.ParseType(attr.Expr)
	}
	def, defOK := l.defaultValue(v, given.has(v.name))
	value, ok := def, defOK
	if raw, isGiven := given.of(v.name); isGiven {
		value, ok = l.readGiven(v, raw)
	} else if v.node.args["default"] == nil {
		ok = false
		l.fail(diag.VariableNotSet, l.header(v.node), fmt.Sprintf("the variable %q has no value", v.name),
			fmt.Sprintf("Set it with --var %s=…, in a --var-file, or with PIPELINE_VAR_%s; or give it a default.", v.name, v.name))
	}
	if !ok || !v.typed {
		return cty.DynamicVal
	}
	if v.sensitive {
		l.hideValue(value)
		value, _ = value.UnmarkDeep()
		value = value.Mark(eval.Sensitive)
	}
	if !l.validate(v, value) {
		return cty.DynamicVal
	}
	return value
}

// settings reads the arguments of the block that are plain constants.
func (l *loader) settings(v *variable) {
	v.node.vals = map[string]*value{}
	for _, name := range []string{"description", "sensitive"} {
		arg := v.node.schema.Arg(name)
		v.node.vals[name] = l.argument(v.node, arg)
	}
	v.sensitive = v.node.val("sensitive").flag
	if v.sensitive {
		if attr := v.node.args["default"]; attr != nil {
			l.hideLiterals(attr.Expr)
		}
	}
}

// defaultValue evaluates the default. With another value given it is only
// looked at when it asks nothing of the environment.
func (l *loader) defaultValue(v *variable, given bool) (cty.Value, bool) {
	attr := v.node.args["default"]
	if attr == nil || l.poisoned(v.node, attr) {
		return cty.DynamicVal, false
	}
	if given && callsEnv(attr.Expr) {
		return cty.DynamicVal, false
	}
	got, ok := l.scope.Eval(attr.Expr, eval.Use{Env: true, Word: true})
	if !ok || !v.typed {
		return cty.DynamicVal, false
	}
	out, err := eval.Convert(got, v.typ)
	if err != nil {
		d := l.fail(diag.WrongType, eval.Range(l.report, attr.Expr.Range()), fmt.Sprintf("the default of %q is not %s", v.name, eval.A(string(v.typ.Kind))), upperFirst(err.Error())+".")
		if text, isText := eval.LiteralText(attr.Expr); isText && v.typ.Kind == spec.TypeBool && boolWord(text) != "" {
			d.Suggest(boolWord(text)).Edit(d.Range, boolWord(text))
		}
		d.Suggest(eval.Meant(err)).Relate(eval.Range(l.report, v.node.args["type"].Expr.Range()), "the type is declared here")
		return cty.DynamicVal, false
	}
	return out, true
}

// callsEnv reports whether an expression calls env.
func callsEnv(e hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) diagnostics {
		call, ok := n.(*hclsyntax.FunctionCallExpr)
		found = found || ok && call.Name == "env"
		return nil
	})
	return found
}

// hideValue keeps the texts of a sensitive value out of the report.
func (l *loader) hideValue(v cty.Value) {
	v, _ = v.UnmarkDeep()
	_ = cty.Walk(v, func(_ cty.Path, part cty.Value) (bool, error) {
		if part.IsNull() || !part.IsKnown() {
			return true, nil
		}
		switch part.Type() {
		case cty.String:
			l.report.Secret(part.AsString())
		case cty.Number:
			l.report.Secret(eval.Number(part))
		}
		return true, nil
	})
}

// validate checks a value against the validation blocks of its variable.
func (l *loader) validate(v *variable, val cty.Value) bool {
	ok := true
	for _, rule := range v.node.all("validation") {
		ok = l.rule(v, val, rule) && ok
	}
	return ok
}

// rule checks one validation block.
func (l *loader) rule(v *variable, val cty.Value, rule *node) bool {
	attr := rule.args["condition"]
	message := l.argument(rule, rule.schema.Arg("error_message"))
	if attr == nil || l.poisoned(rule, attr) {
		return true
	}
	use := eval.Use{Extra: map[string]cty.Value{"var": cty.ObjectVal(map[string]cty.Value{v.name: val})}}
	got, ok := l.scope.Eval(attr.Expr, use)
	if !ok {
		return false
	}
	rng := eval.Range(l.report, attr.Expr.Range())
	got, _ = got.UnmarkDeep()
	if got.Type() != cty.Bool || got.IsNull() {
		d := l.fail(diag.WrongType, rng, "a condition must be true or false, this is "+eval.A(eval.TypeName(got.Type())), "Compare the value with something.")
		if text, isText := eval.LiteralText(attr.Expr); isText && strings.Contains(text, "var.") {
			d.Detail = "Write the condition without quotes."
			d.Suggest(text).Edit(rng, text)
		}
		return false
	}
	if got.True() {
		return true
	}
	text := message.text
	if text == "" {
		text = "It does not meet the condition."
	}
	d := l.fail(diag.ValidationFailed, l.header(v.node), fmt.Sprintf("the value of %q is not allowed", v.name), text)
	d.Values = append(d.Values, diag.Value{Name: "var." + v.name, Value: eval.Show(val)})
	d.Relate(rng, "this rule does not hold")
	return false
}

// undeclared reports values given for variables that do not exist.
func (l *loader) undeclared(given givenValues) {
	names := l.names("variable")
	for _, raw := range given.all() {
		if slices.Contains(names, raw.name) || slices.Contains(l.opts.Elsewhere, raw.name) {
			continue
		}
		d := l.fail(diag.VariableUndeclared, raw.rng, fmt.Sprintf("%s sets %q, which is not declared", raw.from, raw.name), "")
		if d.Suggest(diag.Nearest(raw.name, names)); d.Suggestion == "" {
			d.Detail = "The pipeline declares no variable."
			if len(names) > 0 {
				d.Detail = "Declared are " + list(names) + "."
			}
		}
	}
}
