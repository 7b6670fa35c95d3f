package testspec

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// traversal is a path from a name on: of the state, of a for expression, or of a
// constant.
func (c *Checker) traversal(x *hclsyntax.ScopeTraversalExpr) known {
	tr := x.Traversal
	if k, ok := c.locals[tr.RootName()]; ok {
		return c.steps(k, tr[1:])
	}
	root := rootOf(tr.RootName())
	if root == nil {
		return c.constantPath(x)
	}
	c.states++
	if len(tr) == 1 {
		return known{shape: &Shape{Kind: KindObject, Elem: root.Shape}, text: root.Name}
	}
	label, ok := stepName(tr, 1)
	if !ok {
		c.failAt(diag.UnknownReference, tr.SourceRange(), root.Name+" is read by a name", "Write "+root.Name+".NAME.")
		return known{}
	}
	if !slices.Contains(c.Labels[root.Name], label) {
		if c.Lost == nil || !c.Lost(root.Name, label) {
			c.noBlock(root, label, tr)
		}
		c.bad = true
		return known{}
	}
	where := root.Name + "." + label
	return c.steps(known{shape: root.Shape, body: c.Bodies[where], text: where}, tr[2:])
}

// constantPath is a path into a local, a variable or each.
func (c *Checker) constantPath(x *hclsyntax.ScopeTraversalExpr) known {
	tr := x.Traversal
	start := min(2, len(tr))
	v, problem := c.late.Value(&hclsyntax.ScopeTraversalExpr{Traversal: tr[:start], SrcRange: x.SrcRange}, nil)
	if problem != nil {
		return known{text: c.text(x)}
	}
	k := known{shape: shapeOf(v), value: v, text: pathText(tr[:start])}
	for i, step := range tr[start:] {
		next, why := follow(k.value, step)
		if why != "" {
			if c.lenient == 0 {
				c.noConstantMember(k, step, pathText(tr[:start+i])+" "+why)
			}
			return known{}
		}
		k = known{shape: shapeOf(next), value: next, text: k.text + pathText(hcl.Traversal{step})}
	}
	return k
}

// noConstantMember reports a step that a constant does not have.
func (c *Checker) noConstantMember(k known, step hcl.Traverser, summary string) {
	summary, rest, _ := strings.Cut(summary, "; ")
	d := c.failAt(diag.UnknownField, step.SourceRange(), summary, "")
	name, isName := stepName(hcl.Traversal{step}, 0)
	if !isName || k.value.IsNull() || !isObject(k.value) {
		return
	}
	near := diag.Nearest(name, slices.Sorted(maps.Keys(k.value.AsValueMap())))
	if near == "" {
		d.Detail = upperFirst(rest) + "."
		return
	}
	d.Suggest(near)
	if _, isAttr := step.(hcl.TraverseAttr); isAttr {
		d.Edit(eval.Range(c.Report, step.SourceRange()), "."+near)
	}
}

func upperFirst(s string) string {
	if s == "" {
		return ""
	}
	return strings.ToUpper(s[:1]) + s[1:]
}

// noBlock reports a label that no block of the pipeline has.
func (c *Checker) noBlock(root *Root, label string, tr hcl.Traversal) {
	d := c.failAt(diag.UnknownReference, hcl.RangeBetween(tr[0].SourceRange(), tr[1].SourceRange()), fmt.Sprintf("there is no %s %q", root.Name, label), "")
	names := c.Labels[root.Name]
	if near := diag.Nearest(label, names); near != "" {
		d.Suggest(near).Edit(eval.Range(c.Report, tr[1].SourceRange()), "."+near)
		return
	}
	for _, other := range Roots {
		if slices.Contains(c.Labels[other.Name], label) {
			d.Suggest(other.Name+"."+label).Edit(eval.Range(c.Report, tr[0].SourceRange()), other.Name)
			return
		}
	}
	d.Detail = "The pipeline has none."
	if len(names) > 0 {
		d.Detail = fmt.Sprintf("The pipeline has %s.%s.", root.Name, strings.Join(names, ", "+root.Name+"."))
	}
}

// steps follows a path.
func (c *Checker) steps(k known, tr hcl.Traversal) known {
	for _, step := range tr {
		k = resolved(k)
		if k.isConstant() {
			v, problem := follow(k.value, step)
			if problem != "" {
				return known{}
			}
			k = known{shape: shapeOf(v), value: v}
			continue
		}
		if k.shape == nil || sort(k.shape.Kind) == "" {
			return known{text: k.text}
		}
		var ok bool
		if k, ok = c.step(k, step); !ok {
			return known{}
		}
	}
	return resolved(k)
}

// step follows one step; ok is false when it leads nowhere.
func (c *Checker) step(k known, step hcl.Traverser) (known, bool) {
	name, isName := stepName(hcl.Traversal{step}, 0)
	text := k.text + pathText(hcl.Traversal{step})
	switch {
	case k.shape.Kind == KindTexts && isName:
		return known{shape: stringShape, text: text}, true
	case k.shape.Kind == KindObject && isName:
		if k.shape.Elem != nil { // all blocks of a kind
			return known{shape: k.shape.Elem, text: text}, true
		}
		if f := k.shape.field(name); f != nil {
			return known{shape: f, body: k.body, inBody: k.inBody, text: text}, true
		}
		if c.lenient == 0 || !k.inBody {
			c.noMember(k, name, step)
		}
	case k.shape.Kind == KindList && !isName:
		return known{shape: k.shape.Elem, body: k.body, inBody: k.inBody, text: text}, true
	case k.shape.Kind == KindList:
		c.memberOfList(k, name, step)
	default:
		c.failAt(diag.UnknownField, step.SourceRange(), fmt.Sprintf("%s is %s, it has no such member", k.text, eval.A(describe(k.shape))), "")
	}
	return known{}, false
}

// memberWords are what people call members of the state.
var memberWords = map[string]string{
	"messages": "entries", "items": "entries", "records": "entries", "bodies": "values", "body": "value", "payload": "value", "data": "value",
	"status": "outcome", "state": "outcome", "result": "outcome", "results": "outcomes", "statuses": "outcomes", "runs": "calls", "executions": "calls",
	"delivery_count": "deliveries", "delivered": "deliveries", "times_delivered": "deliveries", "message": "entry", "attempts": "attempt",
	"idle_time": "idle", "owner": "consumer", "dlq": "dead_letters", "dead": "dead_letters", "letters": "dead_letters", "pel": "pending",
	"letter": "dead_letter", "response": "reply", "output": "reply", "published": "replies", "log": "logs", "partition_key": "key", "text": "message",
	"failure": "error", "exception": "error", "delay": "after", "fields": "headers",
}

// noMember reports a member that an object of the state, or a declared body,
// does not have.
func (c *Checker) noMember(k known, name string, step hcl.Traverser) {
	names := k.shape.fieldNames()
	d := c.failAt(diag.UnknownField, step.SourceRange(), fmt.Sprintf("%s has no %q", k.text, name), "")
	near := diag.Nearest(name, names)
	if word := memberWords[strings.ToLower(name)]; slices.Contains(names, word) {
		near = word
	}
	switch {
	case near != "":
		d.Suggest(near)
		if _, isAttr := step.(hcl.TraverseAttr); isAttr {
			d.Edit(eval.Range(c.Report, step.SourceRange()), "."+near)
		}
	case slices.Contains([]string{"length", "size", "count", "len"}, strings.ToLower(name)) && len(names) > 0:
		d.Detail = "A list is counted by a function."
		d.Suggest(fmt.Sprintf("length(%s.%s)", k.text, names[len(names)-1]))
	default:
		d.Detail = "It has " + strings.Join(names, ", ") + "."
	}
	if k.inBody {
		d.Detail = strings.TrimSpace(d.Detail + " What the stream's entry does not declare is read by try(…).")
	}
}

// memberOfList reports a member of a list, of which its elements are meant.
func (c *Checker) memberOfList(k known, name string, step hcl.Traverser) {
	d := c.failAt(diag.UnknownField, step.SourceRange(), fmt.Sprintf("%s is a list, it has no member %q", k.text, name), "Its elements are chosen by a number, [0], or all of them by [*].")
	elem := resolved(known{shape: k.shape.Elem, body: k.body, inBody: k.inBody})
	if elem.shape != nil && elem.shape.field(name) != nil {
		at := eval.Range(c.Report, step.SourceRange())
		d.Suggest("[*]."+name).Edit(at, "[*]."+name)
	}
	if slices.Contains([]string{"length", "size", "count", "len"}, strings.ToLower(name)) {
		d.Detail = "A list is counted by a function."
		d.Suggest("length(" + k.text + ")")
	}
}

// index is a step that is computed.
func (c *Checker) index(x *hclsyntax.IndexExpr) known {
	k := resolved(c.of(x.Collection))
	key := c.of(x.Key)
	if k.isConstant() && key.isConstant() {
		return c.constantOr(x, known{})
	}
	if k.shape == nil {
		return known{}
	}
	if key.isConstant() && !key.value.IsNull() && !key.value.IsMarked() && (key.value.Type() == cty.String || key.value.Type() == cty.Number) {
		if k.shape.Elem != nil && k.shape.Kind == KindObject {
			return c.computedLabel(x, k, key.value)
		}
		return c.steps(k, hcl.Traversal{hcl.TraverseIndex{Key: key.value, SrcRange: x.Key.Range()}})
	}
	switch k.shape.Kind {
	case KindList:
		return resolved(known{shape: k.shape.Elem, body: k.body, inBody: k.inBody, text: k.text + "[…]"})
	case KindTexts:
		return known{shape: stringShape}
	case KindObject:
		return known{shape: k.shape.Elem, text: k.text + "[…]"}
	}
	return known{}
}

// computedLabel is subscription[each.key], whose value is known.
func (c *Checker) computedLabel(x *hclsyntax.IndexExpr, k known, key cty.Value) known {
	if key.Type() == cty.String && slices.Contains(c.Labels[k.text], key.AsString()) {
		where := k.text + "." + key.AsString()
		return known{shape: k.shape.Elem, body: c.Bodies[where], text: where}
	}
	d := c.fail(diag.UnknownReference, x.Key, fmt.Sprintf("there is no %s %s", k.text, eval.Show(key)), "")
	if key.Type() == cty.String {
		d.Suggest(diag.Nearest(key.AsString(), c.Labels[k.text]))
	}
	return known{}
}

// splat is calls[*].deliveries.
func (c *Checker) splat(x *hclsyntax.SplatExpr) known {
	source := resolved(c.of(x.Source))
	if source.isConstant() {
		return c.constantOr(x, known{shape: &Shape{Kind: KindList}})
	}
	if source.shape != nil && source.shape.Kind != KindList && sort(source.shape.Kind) != "" {
		c.fail(diag.TypeMismatch, x.Source, fmt.Sprintf("%s is %s, not a list", source.text, eval.A(describe(source.shape))), "[*] takes all elements of a list.")
		return known{}
	}
	elem := known{body: source.body, inBody: source.inBody, text: source.text + "[*]"}
	if source.shape != nil {
		elem.shape = source.shape.Elem
	}
	c.items[x.Item] = resolved(elem)
	each := c.of(x.Each)
	return known{shape: listOf(orAny(each.shape)), body: each.body, inBody: each.inBody, text: c.text(x)}
}

func orAny(s *Shape) *Shape {
	if s == nil {
		return anyShape
	}
	return s
}

// forExpr is [for c in calls : c.id].
func (c *Checker) forExpr(x *hclsyntax.ForExpr) known {
	source := resolved(c.of(x.CollExpr))
	elem := known{body: source.body, inBody: source.inBody, text: source.text + "[…]"}
	if source.shape != nil && source.shape.Kind == KindList {
		elem.shape = source.shape.Elem
	}
	undo := c.bind(x.KeyVar, known{text: x.KeyVar})
	undoValue := c.bind(x.ValVar, resolved(elem))
	defer func() { undoValue(); undo() }()
	if x.KeyExpr != nil {
		c.of(x.KeyExpr)
	}
	value := c.of(x.ValExpr)
	if x.CondExpr != nil {
		c.wantBool(x.CondExpr, c.of(x.CondExpr), "what stands behind if")
	}
	if x.KeyExpr != nil {
		return known{shape: &Shape{Kind: KindObject, Elem: anyShape}, text: c.text(x)}
	}
	return known{shape: listOf(orAny(value.shape)), body: value.body, inBody: value.inBody, text: c.text(x)}
}

// bind gives a name a meaning until undo is called.
func (c *Checker) bind(name string, k known) (undo func()) {
	before, had := c.locals[name]
	if name != "" {
		c.locals[name] = k
	}
	return func() {
		delete(c.locals, name)
		if had {
			c.locals[name] = before
		}
	}
}
