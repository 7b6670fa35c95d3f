package codec

import (
	"slices"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// member is entry.name or reply.name, what nearly every expression reads.
type member struct {
	root spec.Root
	name string
}

func (m *member) eval(env *Env) (operand, error) {
	return operandOf(m.find(env)), nil
}

func (m *member) find(env *Env) *value.Value { return get(env.body(m.root), m.name) }

func (m *member) String() string {
	return value.MemberPath(string(m.root), value.MemberPath(m.name, ""))
}

// path is a path of any length into a body.
type path struct {
	root  spec.Root
	steps []spec.Step
}

func (p *path) eval(env *Env) (operand, error) {
	v := env.body(p.root)
	for i := range p.steps {
		if p.steps[i].IsIndex {
			v = at(v, p.steps[i].Index)
		} else {
			v = get(v, p.steps[i].Name)
		}
	}
	return operandOf(v), nil
}

func (p *path) String() string {
	rest := ""
	for _, step := range slices.Backward(p.steps) {
		if step.IsIndex {
			rest = value.IndexPath(step.Index, rest)
		} else {
			rest = value.MemberPath(step.Name, rest)
		}
	}
	return value.MemberPath(string(p.root), rest)
}

// header is headers["name"].
type header struct{ name string }

func (h *header) eval(env *Env) (operand, error) {
	text, ok := Lookup(env.Headers, h.name)
	if !ok {
		return operand{}, nil
	}
	return operand{value.String, text}, nil
}

func (h *header) String() string { return "headers[" + value.Quote(h.name) + "]" }

// literal is a constant.
type literal struct {
	value operand
	json  string
}

func (l *literal) eval(*Env) (operand, error) { return l.value, nil }

func (l *literal) String() string { return l.json }

func (env *Env) body(root spec.Root) *value.Value {
	if root == spec.RootReply {
		return env.Reply
	}
	return env.Entry
}

func get(v *value.Value, name string) *value.Value {
	if v == nil {
		return nil
	}
	return v.Get(name)
}

func at(v *value.Value, i int) *value.Value {
	if v == nil {
		return nil
	}
	return v.At(i)
}

// operandOf is null for nil.
func operandOf(v *value.Value) operand {
	if v == nil {
		return operand{}
	}
	return operand{v.Kind(), v.Text()}
}
