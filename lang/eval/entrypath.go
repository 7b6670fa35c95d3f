package eval

import (
	"fmt"
	"math/big"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// walk follows steps from a path of type t, and checks each against the type.
func (c *compiler) walk(p *spec.Path, t *spec.Type, steps hcl.Traversal, text string) (spec.Expr, *spec.Type) {
	for i, st := range steps {
		step, ok := c.step(st)
		if !ok {
			return nil, nil
		}
		if i == 0 && len(p.Steps) == 0 && c.envelope(t, steps, text) {
			return nil, nil
		}
		if t, ok = c.member(t, step, st, text); !ok {
			c.bad = true
			return nil, nil
		}
		p.Steps = append(p.Steps, step)
		if step.IsIndex {
			text += fmt.Sprintf("[%d]", step.Index)
		} else {
			text += "." + step.Name
		}
	}
	return p, t
}

// envelope reports entry.body.account: the root is the body already.
func (c *compiler) envelope(t *spec.Type, steps hcl.Traversal, text string) bool {
	if t == nil || t.Kind != spec.TypeObject || len(steps) < 2 {
		return false
	}
	word, _ := stepName(steps[0])
	next, _ := stepName(steps[1])
	if t.Attr(word) != nil || rootSynonyms[word] == "" && word != "data" && word != "json" || t.Attr(next) == nil {
		return false
	}
	c.bad = true
	d := c.scope.failAt(diag.UnknownField, steps[0].SourceRange(), fmt.Sprintf("%s has no field %q", text, word), fmt.Sprintf("%s is the body itself.", text))
	d.Suggest(text+"."+next).Edit(c.scope.at(steps[0].SourceRange()), "")
	c.declared(d, text)
	return true
}

// step reads one step of a traversal.
func (c *compiler) step(st hcl.Traverser) (spec.Step, bool) {
	if name, ok := stepName(st); ok {
		return spec.Step{Name: name}, true
	}
	index, ok := st.(hcl.TraverseIndex)
	if ok && !index.Key.IsNull() && index.Key.Type() == cty.Number {
		i, acc := index.Key.AsBigFloat().Int64()
		if acc == big.Exact && i >= 0 && i < 1<<31 {
			return spec.Step{Index: int(i), IsIndex: true}, true
		}
	}
	c.scope.failAt(diag.ExpressionNotAllowed, st.SourceRange(), "a step is a name or the number of an element", allowedForms)
	c.bad = true
	return spec.Step{}, false
}

// member is the type of a step into t. A type that is not known accepts any.
func (c *compiler) member(t *spec.Type, step spec.Step, st hcl.Traverser, text string) (*spec.Type, bool) {
	if t == nil || t.Kind == spec.TypeAny {
		return nil, true
	}
	switch {
	case t.Kind == spec.TypeList && step.IsIndex, t.Kind == spec.TypeMap && !step.IsIndex:
		return t.Elem, true
	case t.Kind == spec.TypeObject && !step.IsIndex:
		if a := t.Attr(step.Name); a != nil {
			return a.Type, true
		}
		return nil, c.noField(t, step.Name, st, text)
	}
	d := c.scope.failAt(diag.UnknownField, st.SourceRange(), fmt.Sprintf("%s is %s, it has no such member", text, A(string(t.Kind))), "")
	if t.Kind == spec.TypeList && !step.IsIndex {
		d.Detail = "An element is chosen by its number, from 0."
		if slices.Contains(typeFields(t.Elem), step.Name) {
			d.Suggest("[0]."+step.Name).Edit(c.scope.at(st.SourceRange()), "[0]."+step.Name)
		}
	}
	c.declared(d, text)
	return nil, false
}

// noField reports a field that the type does not declare.
func (c *compiler) noField(t *spec.Type, name string, st hcl.Traverser, text string) bool {
	names := attrNames(t)
	d := c.scope.failAt(diag.UnknownField, st.SourceRange(), fmt.Sprintf("%s has no field %q", text, name),
		"Declared are "+strings.Join(names, ", ")+".")
	if near := diag.Nearest(name, names); near != "" {
		d.Suggest(near)
		if _, isAttr := st.(hcl.TraverseAttr); isAttr {
			d.Edit(c.scope.at(st.SourceRange()), "."+near)
		}
	} else {
		c.otherBody(d, text, name)
	}
	c.declared(d, text)
	return false
}

// otherBody suggests the field of a name in the body that was not named: in the
// reply for entry.name, and the other way round. A reply whose fields are not
// declared may have any.
func (c *compiler) otherBody(d *diag.Diagnostic, text, name string) {
	switch {
	case text == "reply" && contains(typeFields(c.bodies.Entry), name):
		d.Suggest("entry." + name)
	case text == "entry" && c.bodies.HasReply && !c.bodies.ReplyOpaque && (contains(typeFields(c.bodies.ReplyType), name) || c.bodies.ReplyType == nil || c.bodies.ReplyType.Kind == spec.TypeAny):
		d.Suggest("reply." + name)
	}
}

// declared adds where the type of a path is declared.
func (c *compiler) declared(d *diag.Diagnostic, text string) {
	if strings.HasPrefix(text, "reply") {
		d.Relate(c.bodies.ReplyAt, fmt.Sprintf("stream.%s declares its entries here", c.bodies.ReplyOf))
		return
	}
	d.Relate(c.bodies.EntryAt, fmt.Sprintf("stream.%s declares its entries here", c.bodies.EntryOf))
}

// typeFields are the declared fields of an object type.
func typeFields(t *spec.Type) []string {
	if t == nil {
		return nil
	}
	return attrNames(t)
}

func contains(list []string, s string) bool { return slices.Contains(list, s) }

// describe is the word for a type that may be unknown.
func describe(t *spec.Type) string {
	if t == nil {
		return "value"
	}
	return string(t.Kind)
}

// scalar reports whether a type is, or may be, a string, number or bool.
func scalar(t *spec.Type) bool {
	if t == nil {
		return true
	}
	switch t.Kind {
	case spec.TypeList, spec.TypeMap, spec.TypeObject:
		return false
	}
	return true
}

// compatible reports whether values of the types can be equal.
func compatible(a, b *spec.Type) bool {
	return a == nil || b == nil || a.Kind == spec.TypeAny || b.Kind == spec.TypeAny || a.Kind == b.Kind
}
