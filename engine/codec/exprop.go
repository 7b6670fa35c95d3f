package codec

import (
	"strings"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// pair is an operator between two operands.
type pair struct {
	op          spec.Op
	left, right node
}

func (p *pair) String() string {
	return inner(p.left) + " " + string(p.op) + " " + inner(p.right)
}

// inner is a part within another, in parentheses where it is not one word.
func inner(n node) string {
	switch n.(type) {
	case *equality, *ordering, *logical, *conditional:
		return "(" + n.String() + ")"
	}
	return n.String()
}

// operands evaluates both sides.
func (p *pair) operands(env *Env) (l, r operand, err error) {
	if l, err = p.left.eval(env); err == nil {
		r, err = p.right.eval(env)
	}
	return l, r, err
}

func boolean(b bool) operand {
	if b {
		return operand{value.Bool, "true"}
	}
	return operand{value.Bool, "false"}
}

// equality is == and !=.
type equality struct{ pair }

func (e *equality) eval(env *Env) (operand, error) {
	l, r, err := e.operands(env)
	if err != nil {
		return operand{}, err
	}
	var equal bool
	switch {
	case l.kind == value.Null || r.kind == value.Null:
		equal = l.kind == r.kind
	case l.kind != r.kind, l.kind == value.Array, l.kind == value.Object:
		return operand{}, wrong(e, "two strings, two numbers or two bools", kindName(l.kind)+" and "+kindName(r.kind))
	case l.kind == value.Number:
		equal = value.CompareNumbers(l.text, r.text) == 0
	default:
		equal = l.text == r.text
	}
	return boolean(equal == (e.op == spec.OpEqual)), nil
}

// ordering is <, <=, > and >=.
type ordering struct{ pair }

func (o *ordering) eval(env *Env) (operand, error) {
	l, r, err := o.operands(env)
	if err != nil {
		return operand{}, err
	}
	if l.kind != value.Number || r.kind != value.Number {
		return operand{}, wrong(o, "two numbers", kindName(l.kind)+" and "+kindName(r.kind))
	}
	c := value.CompareNumbers(l.text, r.text)
	switch o.op {
	case spec.OpLess:
		return boolean(c < 0), nil
	case spec.OpLessEqual:
		return boolean(c <= 0), nil
	case spec.OpGreater:
		return boolean(c > 0), nil
	}
	return boolean(c >= 0), nil
}

// logical is && and ||.
type logical struct{ pair }

func (l *logical) eval(env *Env) (operand, error) {
	b, err := truth(l.left, env)
	if err == nil && b == (l.op == spec.OpAnd) {
		b, err = truth(l.right, env)
	}
	if err != nil {
		return operand{}, err
	}
	return boolean(b), nil
}

// not is !.
type not struct{ operand node }

func (n *not) eval(env *Env) (operand, error) {
	b, err := truth(n.operand, env)
	if err != nil {
		return operand{}, err
	}
	return boolean(!b), nil
}

func (n *not) String() string { return "!" + inner(n.operand) }

// negation is the minus before a number.
type negation struct{ operand node }

func (n *negation) eval(env *Env) (operand, error) {
	o, err := n.operand.eval(env)
	if err != nil {
		return operand{}, err
	}
	if o.kind != value.Number {
		return operand{}, wrong(n.operand, "a number", kindName(o.kind))
	}
	if digits, negative := strings.CutPrefix(o.text, "-"); negative {
		return operand{value.Number, digits}, nil
	}
	return operand{value.Number, "-" + o.text}, nil
}

func (n *negation) String() string { return "-" + inner(n.operand) }

// conditional is cond ? then : otherwise.
type conditional struct{ cond, then, otherwise node }

func (c *conditional) eval(env *Env) (operand, error) {
	b, err := truth(c.cond, env)
	switch {
	case err != nil:
		return operand{}, err
	case b:
		return c.then.eval(env)
	}
	return c.otherwise.eval(env)
}

func (c *conditional) String() string {
	return inner(c.cond) + " ? " + inner(c.then) + " : " + inner(c.otherwise)
}

// template joins its parts; what is null adds nothing.
type template struct {
	parts []node
	spell spelling
}

func (t *template) eval(env *Env) (operand, error) {
	var buf [128]byte
	out := buf[:0]
	for _, p := range t.parts {
		s, err := text(p, env, t.spell)
		if err != nil {
			return operand{}, err
		}
		out = append(out, s...)
	}
	return operand{value.String, string(out)}, nil
}

func (t *template) String() string {
	var b strings.Builder
	b.WriteByte('"')
	for _, p := range t.parts {
		if l, ok := p.(*literal); ok {
			b.WriteString(strings.Trim(l.json, `"`))
			continue
		}
		b.WriteString("${" + p.String() + "}")
	}
	b.WriteByte('"')
	return b.String()
}
