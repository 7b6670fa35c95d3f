package codec

import (
	"fmt"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// Env is what an expression is computed over. Keep one per worker: it is read
// through an interface, so that a new one for each entry is an allocation
// each.
//
// The rules are the same for all expressions:
//
//   - What is missing is null: a member, an element, a header, a body.
//   - == and != compare strings byte by byte and numbers by value, exactly and
//     whatever their size. null equals only null, and anything may be compared
//     with it. Two values of other different kinds are an error, and so are
//     whole lists and objects: no answer to a mistake in the pipeline or in
//     the entry is right.
//   - < <= > >= compare two numbers. Anything else, null too, is an error.
//   - &&, ||, ! and ? : need a bool where they decide; && and || leave the right
//     side alone when the left one settles it.
//
// Errors are *InvalidError whose Path is the part of the expression.
type Env struct {
	// Entry is the entry's body and Reply the reply's, nil where there is none.
	Entry, Reply *value.Value
	// Headers are the entry's, without prefix.
	Headers []Field
}

// Key is a compiled expression whose result tells entries apart: the key of a
// lane, a partition key, the key of an idempotency block.
type Key struct {
	root node
	// direct is root where that is a member of a body, as it nearly always is.
	direct *member
}

// CompileKey compiles an expression that gives a key.
func CompileKey(e spec.Expr) (*Key, error) {
	root, err := compile(e, value.CanonicalNumber)
	if err != nil {
		return nil, err
	}
	direct, _ := root.(*member)
	return &Key{root: root, direct: direct}, nil
}

// Eval computes the key. Equal numbers give one key however they are written
// (1, 1.0 and 1e0 are all "1"), in templates too; a bool is "true" or "false";
// null is "", which is no key. A list or object is an error. Paths, and numbers
// that are plain integers, allocate nothing.
func (k *Key) Eval(env *Env) (string, error) {
	if k.direct != nil {
		if v := k.direct.find(env); v != nil && v.Kind() == value.String {
			return v.Text(), nil
		}
	}
	return text(k.root, env, value.CanonicalNumber)
}

// Text is a compiled expression whose result is passed on as text: a header.
type Text struct{ root node }

// CompileText compiles an expression that gives a text.
func CompileText(e spec.Expr) (*Text, error) {
	root, err := compile(e, asWritten)
	if err != nil {
		return nil, err
	}
	return &Text{root}, nil
}

// Eval computes the text. Numbers keep the digits that they were written with,
// null is "", and a list or object is an error.
func (t *Text) Eval(env *Env) (string, error) { return text(t.root, env, asWritten) }

// Bool is a compiled condition.
type Bool struct{ root node }

// CompileBool compiles a condition.
func CompileBool(e spec.Expr) (*Bool, error) {
	root, err := compile(e, asWritten)
	if err != nil {
		return nil, err
	}
	return &Bool{root}, nil
}

// Eval computes the condition. A result that is no bool, null too, is an
// error: the condition of an optional member is written entry.flag == true.
func (b *Bool) Eval(env *Env) (bool, error) { return truth(b.root, env) }

// spelling is how numbers become text.
type spelling func(digits string) string

func asWritten(digits string) string { return digits }

// operand is what a part of an expression came to. text is that of a scalar.
type operand struct {
	kind value.Kind
	text string
}

// node is a compiled part of an expression. Its String is the part as it is
// written.
type node interface {
	eval(env *Env) (operand, error)
	fmt.Stringer
}

// text evaluates a part that must be a scalar.
func text(n node, env *Env, spell spelling) (string, error) {
	o, err := n.eval(env)
	switch {
	case err != nil:
		return "", err
	case o.kind == value.Number:
		return spell(o.text), nil
	case o.kind == value.Array || o.kind == value.Object:
		return "", wrong(n, "a string, number or bool", kindName(o.kind))
	}
	return o.text, nil
}

// truth evaluates a part that must be a bool.
func truth(n node, env *Env) (bool, error) {
	o, err := n.eval(env)
	if err != nil {
		return false, err
	}
	if o.kind != value.Bool {
		return false, wrong(n, "true or false", kindName(o.kind))
	}
	return o.text == "true", nil
}

func wrong(n node, expected, found string) error {
	e := mismatch(expected, found)
	e.Path = n.String()
	return e
}
