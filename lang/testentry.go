package lang

import (
	"encoding/base64"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/testspec"
)

// maxPublished bounds what all tests publish together, in elements of values.
const maxPublished = 250_000

// publish makes the entries of a publish or existing block; to is the argument
// that names the stream.
func (b *testBuilder) publish(n *node, to string) []testspec.Publish {
	stream := n.val(to).ref
	if stream == nil {
		return nil
	}
	common := testspec.Publish{Stream: stream.label, Pos: b.loader.pos(n)}
	if v := n.val("key"); v.set && v.ok {
		common.Key, common.HasKey = v.text, true
	}
	if v := n.val("headers"); v.set && v.ok {
		common.Headers = b.headers(v)
	}
	switch {
	case n.args["raw"] != nil:
		return b.raw(n.val("raw"), common)
	case n.args["entry"] != nil:
		return b.bodies(n.val("entry"), common, stream, false)
	case n.args["entries"] != nil:
		return b.bodies(n.val("entries"), common, stream, true)
	}
	return nil
}

// bodies makes one entry of a value, or one of each of its elements.
func (b *testBuilder) bodies(v *value, common testspec.Publish, stream *node, many bool) []testspec.Publish {
	if !v.ok {
		return nil
	}
	values := []cty.Value{v.any}
	if many {
		if v.any.IsNull() || !v.any.CanIterateElements() || v.any.Type().IsObjectType() || v.any.Type().IsMapType() {
			text := b.loader.sourceOf(v.expr.Range())
			b.loader.fail(diag.WrongType, v.rng, fmt.Sprintf("entries must be a list of bodies, this is %s", eval.A(eval.TypeName(v.any.Type()))), "For one body write entry = ….").
				Suggest("["+oneLineOf(text)+"]").Edit(v.rng, "["+text+"]")
			return nil
		}
		values = v.any.AsValueSlice()
	}
	var out []testspec.Publish
	for i, body := range values {
		if !b.afford(body, v.rng) {
			return nil
		}
		e := v.expr
		if list, ok := e.(*hclsyntax.TupleConsExpr); many && ok && len(list.Exprs) == len(values) {
			e = list.Exprs[i]
		}
		b.fits(body, e, stream)
		p := common
		p.Entry = testspec.ToBody(body)
		out = append(out, p)
	}
	return out
}

func oneLineOf(text string) string { return strings.Join(strings.Fields(text), " ") }

// afford counts the elements of a body against what tests may publish.
func (b *testBuilder) afford(v cty.Value, rng diag.Range) bool {
	b.suite.items += elements(v)
	if b.suite.items <= maxPublished {
		return true
	}
	b.loader.fail(diag.TooComplex, rng, "the tests publish too much", fmt.Sprintf("All tests together may publish values of %d elements.", maxPublished))
	return false
}

// elements counts a value and all that it holds.
func elements(v cty.Value) int {
	n := 1
	if v, _ = v.Unmark(); v.IsNull() || !v.CanIterateElements() {
		return n
	}
	for it := v.ElementIterator(); it.Next(); {
		_, e := it.Element()
		n += elements(e)
	}
	return n
}

// texts reads an object of strings.
func (b *testBuilder) texts(v *value, what string, read func(name string, v cty.Value) (string, string)) ([]testspec.Field, bool) {
	l := b.loader
	if !v.ok {
		return nil, false
	}
	if v.any.IsNull() || !v.any.Type().IsObjectType() && !v.any.Type().IsMapType() {
		l.fail(diag.WrongType, v.rng, fmt.Sprintf("%s must be an object of strings, this is %s", what, eval.A(eval.TypeName(v.any.Type()))), fmt.Sprintf("Write %s = { name = \"…\" }.", what))
		return nil, false
	}
	members := v.any.AsValueMap()
	var out []testspec.Field
	for _, name := range slices.Sorted(maps.Keys(members)) {
		text, problem := read(name, members[name])
		if problem == "" {
			out = append(out, testspec.Field{Name: name, Value: text})
			continue
		}
		rng := memberRange(l, v, name)
		d := l.fail(diag.WrongType, rng, fmt.Sprintf("%s: %s %s", what, name, problem), "On the wire everything is text; raw takes { base64 = \"…\" } for any bytes.")
		if m := members[name]; !m.IsNull() && (m.Type() == cty.Number || m.Type() == cty.Bool) {
			d.Suggest(fmt.Sprintf("%q", eval.Show(m)))
			if rng != v.rng && isConstant(memberExpr(v.expr, name)) {
				d.Edit(rng, fmt.Sprintf("%q", eval.Show(m)))
			}
		}
		return nil, false
	}
	return out, true
}

// memberExpr is the value of a member of an object that is written out, or nil.
func memberExpr(e hclsyntax.Expression, name string) hclsyntax.Expression {
	object := bodyOf(e)
	if object == nil {
		return nil
	}
	for _, item := range object.Items {
		key, diags := item.KeyExpr.Value(nil)
		if !diags.HasErrors() && key.Type() == cty.String && !key.IsNull() && key.AsString() == name {
			return item.ValueExpr
		}
	}
	return nil
}

func memberRange(l *loader, v *value, name string) diag.Range {
	if e := memberExpr(v.expr, name); e != nil {
		return eval.Range(l.report, e.Range())
	}
	return v.rng
}

func plainText(_ string, v cty.Value) (text, problem string) {
	if v.IsNull() || v.Type() != cty.String {
		return "", "must be a string, this is " + eval.A(eval.TypeName(v.Type()))
	}
	return v.AsString(), ""
}

// headers are the headers of an entry. Those of the engine are written by it, or
// as raw fields.
func (b *testBuilder) headers(v *value) []testspec.Field {
	fields, ok := b.texts(v, "headers", plainText)
	if !ok {
		return nil
	}
	for _, f := range fields {
		if reservedHeader(f.Name) {
			b.loader.fail(diag.ReservedName, memberRange(b.loader, v, f.Name), fmt.Sprintf("the header %q is the engine's", f.Name), "The partition key is set by key. A producer that writes such headers itself is imitated by raw, as h:"+f.Name+".")
			return nil
		}
	}
	return fields
}

// raw makes an entry of fields as they are.
func (b *testBuilder) raw(v *value, common testspec.Publish) []testspec.Publish {
	fields, ok := b.texts(v, "raw", func(name string, v cty.Value) (text, problem string) {
		if !v.IsNull() && v.Type().IsObjectType() && len(v.Type().AttributeTypes()) == 1 && v.Type().HasAttribute("base64") {
			encoded, problem := plainText(name, v.GetAttr("base64"))
			bytes, err := base64.StdEncoding.DecodeString(encoded)
			if problem == "" && err != nil {
				problem = "is no base64"
			}
			return string(bytes), problem
		}
		return plainText(name, v)
	})
	if !ok {
		return nil
	}
	if len(fields) == 0 {
		b.loader.fail(diag.InvalidValue, v.rng, "raw has no fields", "An entry has at least one.")
		return nil
	}
	common.Raw = fields
	return []testspec.Publish{common}
}
