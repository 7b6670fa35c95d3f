package lang_test

import (
	"bytes"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/ext/typeexpr"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	"github.com/zclconf/go-cty/cty/function"

	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// stockDecoder reads a file as a program does that leaves all to hcl: it parses,
// decodes bodies by a schema, evaluates arguments and converts them to their
// types. The schema is the language's own table.
type stockDecoder struct {
	diags hcl.Diagnostics
	ctx   *hcl.EvalContext
	// entries are the types of streams by label; entry is the one in force.
	entries map[string]cty.Type
	entry   cty.Type
}

// stockReport is what hcl prints for a file, without colour; "" when it has
// nothing against it.
func stockReport(source string) string {
	file, diags := hclsyntax.ParseConfig([]byte(source), "p.hcl", hcl.InitialPos)
	d := &stockDecoder{diags: diags, entries: map[string]cty.Type{}, entry: cty.DynamicPseudoType}
	if !diags.HasErrors() {
		d.ctx = d.context(file.Body.(*hclsyntax.Body))
		d.body(file.Body, schema.Pipeline)
	}
	if len(d.diags) == 0 {
		return ""
	}
	var out bytes.Buffer
	w := hcl.NewDiagnosticTextWriter(&out, map[string]*hcl.File{"p.hcl": file}, 100, false)
	if err := w.WriteDiagnostics(d.diags); err != nil {
		return err.Error()
	}
	return out.String()
}

// context knows the variables and locals of a file, and functions by name only.
func (d *stockDecoder) context(body *hclsyntax.Body) *hcl.EvalContext {
	vars, locals := map[string]cty.Value{}, map[string]cty.Value{}
	for _, b := range body.Blocks {
		switch {
		case b.Type == "variable" && len(b.Labels) == 1:
			vars[b.Labels[0]] = cty.DynamicVal
			if def := b.Body.Attributes["default"]; def != nil {
				if v, diags := def.Expr.Value(nil); !diags.HasErrors() {
					vars[b.Labels[0]] = v
				}
			}
		case b.Type == "locals":
			for name := range b.Body.Attributes {
				locals[name] = cty.DynamicVal
			}
		case b.Type == "stream" && len(b.Labels) == 1:
			if entry := b.Body.Attributes["entry"]; entry != nil {
				if ty, _, diags := typeexpr.TypeConstraintWithDefaults(entry.Expr); !diags.HasErrors() {
					d.entries[b.Labels[0]] = ty
				}
			}
		}
	}
	anything := function.New(&function.Spec{
		VarParam: &function.Parameter{Name: "args", Type: cty.DynamicPseudoType, AllowUnknown: true, AllowDynamicType: true, AllowNull: true},
		Type:     function.StaticReturnType(cty.DynamicPseudoType),
		Impl:     func([]cty.Value, cty.Type) (cty.Value, error) { return cty.DynamicVal, nil },
	})
	functions := map[string]function.Function{}
	for _, name := range eval.FunctionNames() {
		functions[name] = anything
	}
	return &hcl.EvalContext{
		Variables: map[string]cty.Value{"var": cty.ObjectVal(vars), "local": cty.ObjectVal(locals)},
		Functions: functions,
	}
}

// body decodes one body and all below it.
func (d *stockDecoder) body(body hcl.Body, block *schema.Block) {
	if block.Free {
		attrs, diags := body.JustAttributes()
		d.diags = append(d.diags, diags...)
		for _, name := range slices.Sorted(maps.Keys(attrs)) {
			_, diags := attrs[name].Expr.Value(d.ctx)
			d.diags = append(d.diags, diags...)
		}
		return
	}
	content, diags := body.Content(bodySchema(block))
	d.diags = append(d.diags, diags...)
	for _, a := range block.Args {
		if attr := content.Attributes[a.Name]; attr != nil {
			d.argument(attr, a)
		}
	}
	counts := map[string]int{}
	for _, b := range content.Blocks {
		label := ""
		if len(b.Labels) > 0 {
			label = b.Labels[0]
		}
		s := block.Block(b.Type, label)
		if counts[b.Type]++; s.Max > 0 && counts[b.Type] > s.Max {
			d.diags = append(d.diags, &hcl.Diagnostic{Severity: hcl.DiagError, Summary: "Duplicate " + b.Type + " block", Detail: "Only one block of this type is expected.", Subject: &b.DefRange})
		}
		d.body(b.Body, s)
	}
}

// bodySchema is a block of the table as hcl wants it.
func bodySchema(block *schema.Block) *hcl.BodySchema {
	out := &hcl.BodySchema{}
	for _, a := range block.Args {
		out.Attributes = append(out.Attributes, hcl.AttributeSchema{Name: a.Name, Required: a.Required})
	}
	for _, name := range block.BlockNames() {
		header := hcl.BlockHeaderSchema{Type: name}
		for _, l := range block.Block(name, "").Labels {
			header.LabelNames = append(header.LabelNames, l.Name)
		}
		out.Blocks = append(out.Blocks, header)
	}
	return out
}

// argument evaluates and converts one argument by its kind.
func (d *stockDecoder) argument(attr *hcl.Attribute, a *schema.Arg) {
	switch a.Kind {
	case schema.Reference:
		tr, diags := hcl.AbsTraversalForExpr(attr.Expr)
		d.diags = append(d.diags, diags...)
		if !diags.HasErrors() && a.Name == "stream" && len(tr) == 2 {
			if step, ok := tr[1].(hcl.TraverseAttr); ok && d.entries[step.Name] != cty.NilType {
				d.entry = d.entries[step.Name]
			}
		}
		return
	case schema.Type:
		_, _, diags := typeexpr.TypeConstraintWithDefaults(attr.Expr)
		d.diags = append(d.diags, diags...)
		return
	}
	ctx := d.ctx
	if a.Kind == schema.Expression || a.Kind == schema.Headers {
		ctx = d.ctx.NewChild()
		ctx.Variables = map[string]cty.Value{"entry": cty.UnknownVal(d.entry), "headers": cty.UnknownVal(cty.Map(cty.String)), "reply": cty.DynamicVal}
	}
	v, diags := attr.Expr.Value(ctx)
	d.diags = append(d.diags, diags...)
	if diags.HasErrors() {
		return
	}
	if _, err := convert.Convert(v, stockType(a)); err != nil {
		rng := attr.Expr.Range()
		d.diags = append(d.diags, &hcl.Diagnostic{
			Severity: hcl.DiagError, Summary: "Unsuitable value type", Detail: "Unsuitable value: " + err.Error(), Subject: &rng, Expression: attr.Expr, EvalContext: ctx,
		})
	}
}

// stockType is the type that a field of Go would have.
func stockType(a *schema.Arg) cty.Type {
	switch a.Kind {
	case schema.String, schema.Duration, schema.Size:
		return cty.String
	case schema.Strings:
		return cty.List(cty.String)
	case schema.Integer, schema.Number:
		return cty.Number
	case schema.Bool, schema.Condition:
		return cty.Bool
	case schema.Expression:
		if a.Name == "when" {
			return cty.Bool
		}
		return cty.String
	}
	return cty.DynamicPseudoType
}
