package codec

import (
	"fmt"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// compile turns an expression into nodes. It fails only for one that no
// pipeline file can hold.
func compile(e spec.Expr, spell spelling) (node, error) {
	switch x := e.(type) {
	case *spec.Path:
		return compilePath(x)
	case *spec.Literal:
		return compileLiteral(x)
	case *spec.Binary:
		return compileBinary(x, spell)
	case *spec.Unary:
		return compileUnary(x, spell)
	case *spec.Conditional:
		parts, err := compileAll(spell, x.Cond, x.Then, x.Else)
		if err != nil {
			return nil, err
		}
		return &conditional{cond: parts[0], then: parts[1], otherwise: parts[2]}, nil
	case *spec.Template:
		parts, err := compileAll(spell, x.Parts...)
		if err != nil {
			return nil, err
		}
		return &template{parts: parts, spell: spell}, nil
	}
	return nil, fmt.Errorf("there is no expression %T", e)
}

func compileAll(spell spelling, parts ...spec.Expr) ([]node, error) {
	nodes := make([]node, len(parts))
	for i, p := range parts {
		n, err := compile(p, spell)
		if err != nil {
			return nil, err
		}
		nodes[i] = n
	}
	return nodes, nil
}

func compilePath(p *spec.Path) (node, error) {
	switch p.Root {
	case spec.RootHeaders:
		if len(p.Steps) != 1 || p.Steps[0].IsIndex {
			return nil, fmt.Errorf("a path into headers has one name, this one has %d steps", len(p.Steps))
		}
		return &header{name: p.Steps[0].Name}, nil
	case spec.RootEntry, spec.RootReply:
		if len(p.Steps) == 1 && !p.Steps[0].IsIndex {
			return &member{root: p.Root, name: p.Steps[0].Name}, nil
		}
		return &path{root: p.Root, steps: p.Steps}, nil
	}
	return nil, fmt.Errorf("a path cannot begin with %q", p.Root)
}

func compileLiteral(l *spec.Literal) (node, error) {
	v, err := value.ParseJSON(l.JSON, nil)
	if err != nil {
		return nil, fmt.Errorf("constant: %w", err)
	}
	if v.Kind() == value.Array || v.Kind() == value.Object {
		return nil, fmt.Errorf("a constant cannot be %s", kindName(v.Kind()))
	}
	return &literal{value: operand{v.Kind(), v.Text()}, json: l.JSON}, nil
}

func compileBinary(b *spec.Binary, spell spelling) (node, error) {
	parts, err := compileAll(spell, b.Left, b.Right)
	if err != nil {
		return nil, err
	}
	two := pair{op: b.Op, left: parts[0], right: parts[1]}
	switch b.Op {
	case spec.OpEqual, spec.OpNotEqual:
		return &equality{pair: two}, nil
	case spec.OpLess, spec.OpLessEqual, spec.OpGreater, spec.OpGreaterEqual:
		return &ordering{pair: two}, nil
	case spec.OpAnd, spec.OpOr:
		return &logical{pair: two}, nil
	}
	return nil, fmt.Errorf("there is no operator %q between two operands", b.Op)
}

func compileUnary(u *spec.Unary, spell spelling) (node, error) {
	operand, err := compile(u.Operand, spell)
	if err != nil {
		return nil, err
	}
	switch u.Op {
	case spec.OpNot:
		return &not{operand}, nil
	case spec.OpNeg:
		return &negation{operand}, nil
	}
	return nil, fmt.Errorf("there is no operator %q before an operand", u.Op)
}
