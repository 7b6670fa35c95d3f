package lang

import (
	"fmt"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// blockAsArgument reports a block that is written with an equals sign; false
// when none is meant.
func (l *loader) blockAsArgument(n *node, f *file, attr *hclsyntax.Attribute, rng diag.Range) bool {
	b := meantBlock(n.schema, attr.Name)
	object, isObject := attr.Expr.(*hclsyntax.ObjectConsExpr)
	if b == nil || b.Name != attr.Name && !nearer(b, attr.Name) && !isObject {
		return false
	}
	l.excuse(b)
	d := l.fail(diag.BlockAsArgument, rng, fmt.Sprintf("%s is a block, not an argument", b.Name), "Write "+shape(b)+", without an equals sign.")
	if b.Name != attr.Name {
		d.Suggest(b.Name)
	}
	if isObject {
		l.objectAsBlock(d, n, f, attr, object, b)
		return true
	}
	l.valueAsBlock(d, attr, b)
	return true
}

// objectAsBlock says how an object becomes a block, and reads it as one, so
// that nothing in it is missed.
func (l *loader) objectAsBlock(d *diag.Diagnostic, n *node, f *file, attr *hclsyntax.Attribute, object *hclsyntax.ObjectConsExpr, b *schema.Block) {
	body, plain := bodyFrom(object, f.src.Text)
	if body == nil || len(b.Labels) > 0 {
		l.lose(b, &hclsyntax.Block{})
		return
	}
	if plain && b.Name == attr.Name {
		d.Edit(f.src.Range(attr.NameRange.End.Byte, object.SrcRange.Start.Byte), " ")
	}
	l.block(n, f, &hclsyntax.Block{
		Type: b.Name, Body: body, TypeRange: attr.NameRange,
		OpenBraceRange: object.OpenRange, CloseBraceRange: object.OpenRange,
	})
}

// bodyFrom is an object as the body of a block, nil when its keys are no names.
// plain: it is written as a body would be.
func bodyFrom(object *hclsyntax.ObjectConsExpr, text []byte) (body *hclsyntax.Body, plain bool) {
	body = &hclsyntax.Body{Attributes: hclsyntax.Attributes{}, SrcRange: object.SrcRange, EndRange: object.SrcRange}
	plain = true
	line := object.OpenRange.Start.Line
	for _, item := range object.Items {
		key, ok := item.KeyExpr.(*hclsyntax.ObjectConsKeyExpr)
		if !ok {
			return nil, false
		}
		name := hclsyntax.Variables(key)
		root := ""
		if traversal, isName := key.Wrapped.(*hclsyntax.ScopeTraversalExpr); isName && len(name) == 0 {
			root = traversal.Traversal.RootName()
		}
		rng := key.Range()
		between := text[rng.End.Byte:item.ValueExpr.Range().Start.Byte]
		plain = plain && root != "" && rng.Start.Line > line && slices.Contains(between, '=')
		line = item.ValueExpr.Range().End.Line
		if root == "" {
			if root, _ = eval.LiteralText(key.Wrapped); !hclsyntax.ValidIdentifier(root) {
				return nil, false
			}
		}
		full := rng
		full.End = item.ValueExpr.Range().End
		if end := full.End.Byte; end < len(text) && text[end] == ',' {
			plain = false
		}
		body.Attributes[root] = &hclsyntax.Attribute{Name: root, Expr: item.ValueExpr, SrcRange: full, NameRange: rng, EqualsRange: rng}
	}
	return body, plain
}

// valueAsBlock shows the block with a value as its main argument.
func (l *loader) valueAsBlock(d *diag.Diagnostic, attr *hclsyntax.Attribute, b *schema.Block) {
	if b.Name == "grant" {
		l.grants(d, attr)
		return
	}
	arg := mainArgument(b, attr.Expr)
	text := ""
	if arg != nil {
		text = arg.Name + " = " + l.sourceOf(attr.Expr.Range())
		d.Detail = fmt.Sprintf("Write %s { %s }.", b.Name, text)
	}
	switch {
	case arg != nil && !canBeMade(b, arg) && len(b.Labels) == 0:
		d.Suggest(fmt.Sprintf("%s { %s }", b.Name, text))
	case arg != nil && canBeMade(b, arg):
		d.Edit(eval.Range(l.report, attr.SrcRange), l.block1(b.Name, text, attr.SrcRange))
	case arg == nil && l.sourceOf(attr.Expr.Range()) == "true" && canBeMade(b, nil):
		d.Edit(eval.Range(l.report, attr.SrcRange), b.Name+" { }")
	}
}

// grants shows the blocks for a list of grants.
func (l *loader) grants(d *diag.Diagnostic, attr *hclsyntax.Attribute) {
	kind, isText := eval.LiteralText(attr.Expr)
	if list, ok := attr.Expr.(*hclsyntax.TupleConsExpr); ok && len(list.Exprs) == 1 {
		kind, isText = eval.LiteralText(list.Exprs[0])
	}
	if !isText || nearLabel(kind, []string{"log"}) == "" && kind != "log" {
		return
	}
	d.Detail = `Write grant "log" {}, a block for each.`
	d.Edit(eval.Range(l.report, attr.SrcRange), `grant "log" {}`)
}

// mainArgument is the argument of a block that a bare value is meant for: the
// first of the value's kind.
func mainArgument(b *schema.Block, e hclsyntax.Expression) *schema.Arg {
	for _, a := range b.Args {
		if takes(a, e) {
			return a
		}
	}
	return nil
}

// takes reports whether an argument can have a value, by how that is written.
func takes(a *schema.Arg, e hclsyntax.Expression) bool {
	text, isText := eval.LiteralText(e)
	switch a.Kind {
	case schema.Reference:
		tr, ok := e.(*hclsyntax.ScopeTraversalExpr)
		return ok && tr.Traversal.RootName() == a.Target
	case schema.Duration:
		_, err := eval.ParseDuration(text)
		tr, isVar := e.(*hclsyntax.ScopeTraversalExpr)
		return isText && err == nil || isVar && tr.Traversal.RootName() == "var"
	case schema.Integer:
		lit, ok := e.(*hclsyntax.LiteralValueExpr)
		return ok && eval.TypeName(lit.Val.Type()) == "number"
	case schema.Condition:
		_, ok := e.(*hclsyntax.BinaryOpExpr)
		return ok
	}
	return false
}
