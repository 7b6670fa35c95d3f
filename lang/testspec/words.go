package testspec

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/value"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// maxShown is how much of a value a result shows, in bytes.
const maxShown = 1000

func show(v cty.Value) string { return eval.ShowUpTo(v, maxShown) }

func typeName(v cty.Value) string { return eval.TypeName(v.Type()) }

// oneLine is a piece of a file without its line breaks and indentation.
func oneLine(text string) string { return strings.Join(strings.Fields(text), " ") }

// constant reports whether an expression is a value that is written out.
func constant(e hclsyntax.Expression) bool {
	found := false
	_ = hclsyntax.VisitAll(e, func(n hclsyntax.Node) (none hcl.Diagnostics) {
		switch n.(type) {
		case *hclsyntax.FunctionCallExpr, *hclsyntax.ForExpr, *hclsyntax.BinaryOpExpr, *hclsyntax.ConditionalExpr:
			found = true
		}
		return nil
	})
	return !found && len(e.Variables()) == 0
}

// phrase names an expression with its value.
func (c *check) phrase(e hclsyntax.Expression, v cty.Value) string {
	if constant(e) {
		return show(v)
	}
	return fmt.Sprintf("%s, which is %s,", oneLine(c.late.Text(e)), show(v))
}

// named are the values of the names in an expression, but for the one that is
// the whole of it.
func (c *check) named(e hclsyntax.Expression, whole string) []diag.Value {
	var out []diag.Value
	for _, tr := range e.Variables() {
		v, reached, _ := c.reach(tr)
		name := pathText(tr[:reached])
		if reached < 2 || name == whole || name == pathText(tr[:reached]) && strings.HasPrefix(whole, name+"[*]") {
			continue
		}
		if shown := valueOf(name, v); !slices.Contains(out, shown) {
			out = append(out, shown)
		}
	}
	return out
}

// reach follows a path as far as it goes: the value there, how many steps that
// are, and in words why not further.
func (c *check) reach(tr hcl.Traversal) (v cty.Value, steps int, why string) {
	v, ok := c.roots[tr.RootName()]
	if !ok {
		known, problem := c.late.Value(&hclsyntax.ScopeTraversalExpr{Traversal: tr, SrcRange: tr.SourceRange()}, c.roots)
		if problem != nil {
			return cty.DynamicVal, 0, ""
		}
		return known, len(tr), ""
	}
	for i, step := range tr[1:] {
		v, _ = v.Unmark()
		next, problem := follow(v, step)
		if problem != "" {
			return v, i + 1, pathText(tr[:i+1]) + " " + problem
		}
		v = next
	}
	return v, len(tr), ""
}

// follow takes one step of a path; the problem continues a sentence about v.
func follow(v cty.Value, step hcl.Traverser) (cty.Value, string) {
	switch t := step.(type) {
	case hcl.TraverseAttr:
		return member(v, t.Name)
	case hcl.TraverseIndex:
		if t.Key.Type() == cty.String {
			return member(v, t.Key.AsString())
		}
		i, _ := t.Key.AsBigFloat().Int64()
		switch {
		case v.IsNull():
			return v, fmt.Sprintf("is null: it has no element %d", i)
		case !isList(v):
			return v, fmt.Sprintf("is %s: it has no element %d", eval.A(typeName(v)), i)
		case v.LengthInt() == 0:
			return v, fmt.Sprintf("is empty: it has no element %d", i)
		case i < 0 || i >= int64(v.LengthInt()):
			return v, fmt.Sprintf("has %s: it has no element %d", count(v.LengthInt(), "element"), i)
		}
		return v.Index(t.Key), ""
	}
	return v, "cannot be followed"
}

func member(v cty.Value, name string) (cty.Value, string) {
	switch {
	case v.IsNull():
		return v, fmt.Sprintf("is null: it has no member %q", name)
	case isList(v):
		return v, fmt.Sprintf("is a list: it has no member %q, its elements may", name)
	case !isObject(v):
		return v, fmt.Sprintf("is %s: it has no member %q", eval.A(typeName(v)), name)
	}
	all := v.AsValueMap()
	if next, ok := all[name]; ok {
		return next, ""
	}
	names := slices.Sorted(maps.Keys(all))
	if near := diag.Nearest(name, names); near != "" {
		return v, fmt.Sprintf("has no member %q; it has %q", name, near)
	}
	if len(names) == 0 {
		return v, fmt.Sprintf("has no member %q; it has none", name)
	}
	return v, fmt.Sprintf("has no member %q; it has %s", name, strings.Join(names, ", "))
}

func count(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// words says why an expression has no value: where a path ends, or else what
// the evaluation said.
func (c *check) words(e hclsyntax.Expression, problem *diag.Diagnostic) string {
	for _, tr := range e.Variables() {
		if _, _, why := c.reach(tr); why != "" {
			return why
		}
	}
	text := problem.Summary
	if src := oneLine(c.sourceOf(problem.Range)); src != "" && problem.Code != diag.FunctionFailed {
		text = src + ": " + text
	}
	if detail := strings.TrimSuffix(oneLine(problem.Detail), "."); detail != "" {
		text += ": " + detail
	}
	return cmp.Or(text, "it has no value")
}

func (c *check) sourceOf(r diag.Range) string { return c.late.Piece(r.Start.Byte, r.End.Byte) }

// pathText writes a path as in a file.
func pathText(tr hcl.Traversal) string {
	var b strings.Builder
	for _, step := range tr {
		switch t := step.(type) {
		case hcl.TraverseRoot:
			b.WriteString(t.Name)
		case hcl.TraverseAttr:
			b.WriteString("." + t.Name)
		case hcl.TraverseIndex:
			if t.Key.Type() == cty.String {
				b.WriteString("[" + value.Quote(t.Key.AsString()) + "]")
			} else {
				b.WriteString("[" + eval.Number(t.Key) + "]")
			}
		}
	}
	return b.String()
}

// stepName is the name of a step: .name or ["name"].
func stepName(tr hcl.Traversal, i int) (string, bool) {
	if i >= len(tr) {
		return "", false
	}
	switch t := tr[i].(type) {
	case hcl.TraverseAttr:
		return t.Name, true
	case hcl.TraverseIndex:
		if t.Key.Type() == cty.String {
			return t.Key.AsString(), true
		}
	}
	return "", false
}
