package lang

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// referable are the types of blocks whose labels are unique in the pipeline.
var referable = []string{"stream", "handler", "retry", "group", "subscription", "variable"}

// indexNames gathers the blocks that can be referred to, and reports names that
// are taken twice.
func (l *loader) indexNames() {
	for _, n := range l.root.blocks {
		l.indexNode(n)
		if n.schema.Name != "group" {
			continue
		}
		for _, sub := range n.all("subscription") {
			l.indexNode(sub)
			l.uniqueRoutes(sub)
		}
	}
	l.scope.BlockNames = map[string][]string{}
	for _, kind := range referable {
		if kind != "variable" {
			l.scope.BlockNames[kind] = l.names(kind)
		}
	}
}

// referred is the tree whose blocks references name.
func (l *loader) referred() *node {
	if l.refs != nil {
		return l.refs
	}
	return l.root
}

// names are the labels of a type of block, sorted.
func (l *loader) names(kind string) []string {
	if known, ok := l.scope.BlockNames[kind]; ok {
		return known // once all blocks are indexed
	}
	out := []string{}
	for name := range l.named[kind] {
		out = append(out, name)
	}
	slices.Sort(out)
	return out
}

func (l *loader) indexNode(n *node) {
	kind := n.schema.Name
	if !slices.Contains(referable, kind) || n.label == "" {
		return
	}
	if l.named[kind] == nil {
		l.named[kind] = map[string]*node{}
	}
	if first := l.named[kind][n.label]; first != nil {
		n.bad = true
		l.taken(n, first)
		return
	}
	l.named[kind][n.label] = n
}

// taken reports a name that another block has.
func (l *loader) taken(n, first *node) {
	detail := "Rename one."
	if n.schema.Name == "subscription" {
		detail = "Names of subscriptions are unique in the whole pipeline. Rename one."
	}
	l.fail(diag.DuplicateName, l.header(n), fmt.Sprintf("a second %s %q", n.schema.Name, n.label), detail).
		Relate(l.header(first), "the first is here")
}

func (l *loader) uniqueRoutes(sub *node) {
	seen := map[string]*node{}
	for _, r := range sub.all("route") {
		if first := seen[r.label]; first != nil && r.label != "" {
			l.taken(r, first)
			continue
		}
		seen[r.label] = r
	}
}

// reference resolves an argument that names another block.
func (l *loader) reference(e hclsyntax.Expression, arg *schema.Arg) (*node, bool) {
	rng := eval.Range(l.report, e.Range())
	if text, isText := eval.LiteralText(e); isText {
		return nil, l.stringReference(rng, text, arg)
	}
	inner, inTemplate := templateReference(e)
	tr, ok := inner.(*hclsyntax.ScopeTraversalExpr)
	if ok && inTemplate {
		return nil, l.stringReference(rng, l.sourceOf(tr.Range()), arg)
	}
	if !ok {
		l.computedReference(e, arg, rng)
		return nil, false
	}
	root := tr.Traversal.RootName()
	if root == arg.Target && len(tr.Traversal) == 2 {
		if step, isAttr := tr.Traversal[1].(hcl.TraverseAttr); isAttr {
			return l.lookup(arg, step.Name, tr)
		}
	}
	return nil, l.wrongReference(tr, arg, rng)
}

// computedReference reports an expression where a reference belongs: a list, a
// template, an index, a call.
func (l *loader) computedReference(e hclsyntax.Expression, arg *schema.Arg, rng diag.Range) {
	d := l.fail(diag.WrongReference, rng, fmt.Sprintf("%s must name %s", arg.Name, eval.A(arg.Target)), fmt.Sprintf("Write %s.name: a reference is not computed.", arg.Target))
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok {
		if len(list.Exprs) == 1 {
			only := l.sourceOf(list.Exprs[0].Range())
			d.Suggest(only).Edit(rng, only)
		} else if arg.Name == "to" && len(list.Exprs) > 1 {
			d.Detail = "It names one stream. For several, write one route block for each."
			d.Suggest("route")
		}
	}
}

// templateReference is the name inside of "${stream.orders}", or e itself.
func templateReference(e hclsyntax.Expression) (hclsyntax.Expression, bool) {
	if wrap, ok := e.(*hclsyntax.TemplateWrapExpr); ok {
		return wrap.Wrapped, true
	}
	return e, false
}

// lookup finds the block a reference names.
func (l *loader) lookup(arg *schema.Arg, name string, tr *hclsyntax.ScopeTraversalExpr) (*node, bool) {
	if n := l.named[arg.Target][name]; n != nil {
		return n, true
	}
	if l.lost[arg.Target] || l.lost["."+name] {
		return nil, false
	}
	rng := eval.Range(l.report, tr.Range())
	d := l.fail(diag.UnknownReference, rng, fmt.Sprintf("there is no %s %q", arg.Target, name), "")
	if near := diag.Nearest(name, l.names(arg.Target)); near != "" {
		d.Suggest(near).Edit(eval.Range(l.report, tr.Traversal[1].SourceRange()), "."+near)
		return nil, false
	}
	for _, s := range l.referred().all(arg.Target) {
		if v := s.args["name"]; v != nil {
			if text, _ := eval.LiteralText(v.Expr); text == name {
				d.Suggest(s.label)
				return nil, false
			}
		}
	}
	d.Detail = fmt.Sprintf("Declare it: %s %q { … }.", arg.Target, name)
	if only := l.onlyUnused(arg.Target); only != "" {
		d.Detail = fmt.Sprintf("Declare it: %s %q { … }; or it has another name by now: nothing refers to %q.", arg.Target, name, only)
		d.Suggest(only).Edit(eval.Range(l.report, tr.Traversal[1].SourceRange()), "."+only)
	}
	return nil, false
}

// onlyUnused is the only block of a type that nothing in the files refers to,
// or "": it was probably renamed where it is declared.
func (l *loader) onlyUnused(kind string) string {
	if l.report.Full() {
		return ""
	}
	used := l.referredNames(kind)
	found := ""
	for _, name := range l.names(kind) {
		if used[name] {
			continue
		}
		if found != "" {
			return ""
		}
		found = name
	}
	return found
}

// referredNames are the names behind kind. in the text of the files.
func (l *loader) referredNames(kind string) map[string]bool {
	names := map[string]bool{}
	for _, f := range l.files {
		for rest := f.src.Text; ; {
			i := bytes.Index(rest, []byte(kind+"."))
			if i < 0 {
				break
			}
			rest = rest[i+len(kind)+1:]
			end := 0
			for end < len(rest) && isNameByte(rest[end]) {
				end++
			}
			names[string(rest[:end])] = true
		}
	}
	return names
}

func isNameByte(c byte) bool {
	return c == '_' || c == '-' || c >= '0' && c <= '9' || c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= 0x80
}

// spelledOut is the block whose label, or name on the server, is written as a
// path: stream.shop.results, or "".
func (l *loader) spelledOut(kind string, tr hcl.Traversal) string {
	var parts []string
	for _, step := range tr[1:] {
		attr, ok := step.(hcl.TraverseAttr)
		if !ok {
			return ""
		}
		parts = append(parts, attr.Name)
	}
	if found := l.byServerName(kind, strings.Join(parts, ".")); found != "" {
		return found
	}
	if label := strings.Join(parts, "_"); l.named[kind][label] != nil {
		return label
	}
	return ""
}

// stringReference reports a string where a reference belongs.
func (l *loader) stringReference(rng diag.Range, text string, arg *schema.Arg) bool {
	name := strings.TrimPrefix(text, arg.Target+".")
	d := l.fail(diag.ReferenceAsString, rng, fmt.Sprintf("%s takes a reference, not a string", arg.Name),
		fmt.Sprintf("Write %s.name, without quotes.", arg.Target))
	if l.named[arg.Target][name] == nil {
		if found := l.byServerName(arg.Target, name); found != "" {
			name = found
		} else {
			name = diag.Nearest(name, l.names(arg.Target))
		}
		if name == "" && arg.Target == "handler" {
			name = l.handlerOf(text)
		}
	}
	if name != "" {
		d.Suggest(arg.Target+"."+name).Edit(rng, arg.Target+"."+name)
	}
	return false
}

// handlerOf is the only handler of a script, or "".
func (l *loader) handlerOf(script string) string {
	found := ""
	for _, n := range l.referred().all("handler") {
		source, _ := eval.LiteralText(attrExpr(n.args["source"]))
		function, _ := eval.LiteralText(attrExpr(n.args["function"]))
		if script != source && script != function {
			continue
		}
		if found != "" {
			return ""
		}
		found = n.label
	}
	return found
}

// attrExpr is the value of an argument that may not be there.
func attrExpr(a *hclsyntax.Attribute) hclsyntax.Expression {
	if a == nil {
		return nil
	}
	return a.Expr
}

// byServerName is the label of the block whose name on the server is given.
func (l *loader) byServerName(kind, name string) string {
	for _, n := range l.referred().all(kind) {
		if a := n.args["name"]; a != nil {
			if text, isText := eval.LiteralText(a.Expr); isText && text == name {
				return n.label
			}
		}
	}
	return ""
}

// wrongReference reports a name of another shape or kind.
func (l *loader) wrongReference(tr *hclsyntax.ScopeTraversalExpr, arg *schema.Arg, rng diag.Range) bool {
	root := tr.Traversal.RootName()
	name := ""
	if len(tr.Traversal) > 1 {
		if step, ok := tr.Traversal[1].(hcl.TraverseAttr); ok {
			name = step.Name
		}
	}
	d := l.fail(diag.WrongReference, rng, fmt.Sprintf("%s must name %s", arg.Name, eval.A(arg.Target)), fmt.Sprintf("Write %s.name.", arg.Target))
	first := eval.Range(l.report, tr.Traversal[0].SourceRange())
	switch {
	case len(tr.Traversal) == 1 && l.named[arg.Target][root] != nil:
		d.Suggest(arg.Target+"."+root).Edit(rng, arg.Target+"."+root)
	case len(tr.Traversal) == 2 && root == arg.Target && name == "":
		if index, ok := tr.Traversal[1].(hcl.TraverseIndex); ok && index.Key.Type() == cty.String && hclsyntax.ValidIdentifier(index.Key.AsString()) {
			d.Suggest(arg.Target+"."+index.Key.AsString()).Edit(rng, arg.Target+"."+index.Key.AsString())
		}
	case len(tr.Traversal) > 2 && root == arg.Target && l.spelledOut(root, tr.Traversal) != "":
		whole := root + "." + l.spelledOut(root, tr.Traversal)
		d.Suggest(whole).Edit(rng, whole)
	case len(tr.Traversal) > 2 && root == arg.Target && l.named[arg.Target][name] != nil:
		d.Suggest(arg.Target+"."+name).Edit(rng, arg.Target+"."+name)
	case name != "" && l.named[arg.Target][name] != nil:
		d.Suggest(arg.Target).Edit(first, arg.Target)
		if slices.Contains(referable, root) {
			d.Summary += ", this is " + eval.A(root)
		}
	case name != "" && diag.Nearest(root, []string{arg.Target}) != "":
		d.Suggest(arg.Target).Edit(first, arg.Target)
	case len(tr.Traversal) == 1:
		if near := diag.Nearest(root, l.names(arg.Target)); near != "" {
			d.Suggest(arg.Target + "." + near)
		}
	case root == "var" || root == "local":
		d.Detail = fmt.Sprintf("A variable holds values, not blocks. Write %s.name; with enabled, a variable can choose between two subscriptions.", arg.Target)
	case slices.Contains(referable, root):
		d.Summary += ", this is " + eval.A(root)
	default:
		if names := l.names(arg.Target); len(names) > 0 {
			d.Detail = fmt.Sprintf("Declared are %s.%s.", arg.Target, strings.Join(names, ", "+arg.Target+"."))
		}
	}
	return false
}
