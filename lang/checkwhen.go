package lang

import (
	"fmt"
	"math/big"
	"strings"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// checkWhen reports the condition of a route that says nothing: one that never
// holds, always holds, or cannot be decided for some values. A condition that
// a variable or local decides is a switch, and meant.
func (l *loader) checkWhen(n *node, r *spec.Route, b eval.Bodies) {
	v := n.val("when")
	if r.When == nil || !v.ok {
		return
	}
	if p := undecided(r.When, b); p != nil {
		path := pathText(p)
		d := l.add(diag.Warning, diag.NullCondition, v.rng, fmt.Sprintf("%s is optional, and the condition fails without it", path),
			fmt.Sprintf("A condition that is null is a failed attempt. Write %s == true.", path))
		if _, whole := r.When.(*spec.Path); whole {
			d.Edit(v.rng, path+" == true")
		}
		if p.Root == spec.RootReply {
			d.Relate(b.ReplyAt, fmt.Sprintf("stream.%s declares its entries here", b.ReplyOf))
		} else {
			d.Relate(b.EntryAt, fmt.Sprintf("stream.%s declares its entries here", b.EntryOf))
		}
	}
	for _, tr := range v.expr.Variables() {
		if root := tr.RootName(); root == "var" || root == "local" {
			return
		}
	}
	lit, isLiteral := r.When.(*spec.Literal)
	switch {
	case never(r.When):
		l.add(diag.Warning, diag.UnreachableRoute, v.rng, fmt.Sprintf("the route %q is never taken by itself", n.label),
			"Its condition is always false; only reply(value, {to = \"…\"}) reaches it.").Relate(l.header(n), "the route is declared here")
	case isLiteral && lit.JSON == "true":
		l.add(diag.Notice, diag.NeedlessCondition, v.rng, fmt.Sprintf("the condition of route %q always holds", n.label), "A route without when takes every value. Remove it.").
			Relate(l.header(n), "the route is declared here")
	}
}

// undecided is a path that a condition takes for true or false and that may be
// null by its type, or nil.
func undecided(e spec.Expr, b eval.Bodies) *spec.Path {
	switch e := e.(type) {
	case *spec.Path:
		t := b.Entry
		if e.Root == spec.RootReply {
			t = b.ReplyType
		}
		if optional(e, t) {
			return e
		}
	case *spec.Unary:
		if e.Op == spec.OpNot {
			return undecided(e.Operand, b)
		}
	case *spec.Binary:
		if e.Op == spec.OpAnd || e.Op == spec.OpOr {
			if p := undecided(e.Left, b); p != nil {
				return p
			}
			return undecided(e.Right, b)
		}
	}
	return nil
}

// optional reports whether a path ends in a member that may be absent, by the
// type it starts from, or passes one.
func optional(p *spec.Path, t *spec.Type) bool {
	for _, step := range p.Steps {
		if t == nil || t.Kind != spec.TypeObject || step.IsIndex {
			return false
		}
		a := t.Attr(step.Name)
		if a == nil {
			return false
		}
		if a.Optional && a.Default == "" {
			return true
		}
		t = a.Type
	}
	return false
}

// pathText writes a path as in a file.
func pathText(p *spec.Path) string {
	var b strings.Builder
	b.WriteString(string(p.Root))
	for _, s := range p.Steps {
		switch {
		case s.IsIndex:
			fmt.Fprintf(&b, "[%d]", s.Index)
		case p.Root == spec.RootHeaders || identifier(s.Name) != s.Name:
			fmt.Fprintf(&b, "[%q]", s.Name)
		default:
			b.WriteString("." + s.Name)
		}
	}
	return b.String()
}

// never reports whether a condition holds for no value: some of its parts
// exclude each other.
func never(e spec.Expr) bool { return contradicts(e, map[string]*fact{}) }

// fact is what a condition has said of one path.
type fact struct {
	equal       string
	low, high   *big.Rat
	lowIn, hiIn bool
	yes, no     bool
}

// contradicts adds what an expression demands, and reports whether it cannot be
// met beside the rest.
func contradicts(e spec.Expr, facts map[string]*fact) bool {
	switch e := e.(type) {
	case *spec.Literal:
		return e.JSON == "false"
	case *spec.Path:
		return factOf(facts, e).flag(true)
	case *spec.Unary:
		if p, ok := e.Operand.(*spec.Path); ok && e.Op == spec.OpNot {
			return factOf(facts, p).flag(false)
		}
		lit, ok := e.Operand.(*spec.Literal)
		return ok && e.Op == spec.OpNot && lit.JSON == "true"
	case *spec.Binary:
		switch e.Op {
		case spec.OpAnd:
			return contradicts(e.Left, facts) || contradicts(e.Right, facts)
		case spec.OpOr:
			return contradicts(e.Left, copied(facts)) && contradicts(e.Right, copied(facts))
		}
		return compared(e, facts)
	}
	return false
}

// copied are facts for one side of an or.
func copied(facts map[string]*fact) map[string]*fact {
	out := make(map[string]*fact, len(facts))
	for path, f := range facts {
		same := *f
		out[path] = &same
	}
	return out
}

func factOf(facts map[string]*fact, p *spec.Path) *fact {
	key := pathText(p)
	if facts[key] == nil {
		facts[key] = &fact{}
	}
	return facts[key]
}

// flag adds that a path is true or false.
func (f *fact) flag(value bool) bool {
	f.yes, f.no = f.yes || value, f.no || !value
	return f.yes && f.no
}

// mirrored are the operators with their sides exchanged.
var mirrored = map[spec.Op]spec.Op{
	spec.OpEqual: spec.OpEqual, spec.OpLess: spec.OpGreater, spec.OpLessEqual: spec.OpGreaterEqual, spec.OpGreater: spec.OpLess, spec.OpGreaterEqual: spec.OpLessEqual,
}

// compared adds a comparison of a path with a constant.
func compared(e *spec.Binary, facts map[string]*fact) bool {
	p, isPath := e.Left.(*spec.Path)
	lit, isLiteral := e.Right.(*spec.Literal)
	op := e.Op
	if !isPath {
		p, isPath = e.Right.(*spec.Path)
		lit, isLiteral = e.Left.(*spec.Literal)
		op = mirrored[op]
	}
	if !isPath || !isLiteral || op == "" || op == spec.OpNotEqual || lit.JSON == "null" {
		return false
	}
	f := factOf(facts, p)
	n, isNumber := new(big.Rat).SetString(lit.JSON)
	switch {
	case isNumber:
		return f.bound(op, n)
	case op != spec.OpEqual:
		return false
	case lit.JSON == "true" || lit.JSON == "false":
		return f.flag(lit.JSON == "true")
	case f.equal != "" && f.equal != lit.JSON:
		return true
	}
	f.equal = lit.JSON
	return false
}

// bound narrows the numbers that a path can be; true when none is left.
func (f *fact) bound(op spec.Op, n *big.Rat) bool {
	if op == spec.OpEqual || op == spec.OpGreater || op == spec.OpGreaterEqual {
		in := op != spec.OpGreater
		if f.low == nil || n.Cmp(f.low) > 0 || n.Cmp(f.low) == 0 && !in {
			f.low, f.lowIn = n, in
		}
	}
	if op == spec.OpEqual || op == spec.OpLess || op == spec.OpLessEqual {
		in := op != spec.OpLess
		if f.high == nil || n.Cmp(f.high) < 0 || n.Cmp(f.high) == 0 && !in {
			f.high, f.hiIn = n, in
		}
	}
	if f.low == nil || f.high == nil {
		return false
	}
	order := f.low.Cmp(f.high)
	return order > 0 || order == 0 && (!f.lowIn || !f.hiIn)
}

// checkNullable notes keys that some entries do not have.
func (l *loader) checkNullable(s *builtSub) {
	if p, ok := s.spec.Workers.Key.(*spec.Path); ok {
		l.nullable(diag.Notice, s, "workers", p, "Entries without it share no key: they run beside each other, in no order.")
	}
	if s.spec.Idempotency == nil {
		return
	}
	parts := []spec.Expr{s.spec.Idempotency.Key}
	if t, ok := parts[0].(*spec.Template); ok {
		parts = t.Parts
	}
	for _, part := range parts {
		if p, ok := part.(*spec.Path); ok && l.nullable(diag.Warning, s, "idempotency", p, "Entries without it are invalid and do not run: see on_invalid.") {
			return
		}
	}
}

// nullable adds a diagnostic about a path of a block's key that is optional, and
// reports whether it did.
func (l *loader) nullable(severity diag.Severity, s *builtSub, block string, p *spec.Path, without string) bool {
	stream := s.group.node.val("stream").ref
	if stream == nil || !optional(p, l.bodies(stream).Entry) {
		return false
	}
	l.add(severity, diag.NullKey, s.node.one(block).val("key").rng, fmt.Sprintf("%s is optional, so some entries have no key", pathText(p)),
		without+" Declare the field as required, or choose another key.").
		Relate(l.bodies(stream).EntryAt, fmt.Sprintf("stream.%s declares its entries here", stream.label))
	return true
}
