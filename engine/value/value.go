// Package value is the decoded body of an entry or a reply as the codecs, the
// handlers and the engine share it: a small immutable tree, decoded once and
// read by all of them.
//
// Numbers keep the digits that they were written with, so that an integer
// such as 18446744073709551615 comes out as it went in. Strings are byte
// strings: only JSON requires them to be UTF-8.
package value

// Kind is what a Value is.
type Kind uint8

// The kinds of values. The zero Kind is Null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

// String is the kind's name as users read it in messages.
func (k Kind) String() string {
	switch k {
	case Null:
		return "null"
	case Bool:
		return "bool"
	case Number:
		return "number"
	case String:
		return "string"
	case Array:
		return "array"
	case Object:
		return "object"
	}
	return "invalid"
}

// MaxDepth is how deeply arrays and objects may be nested, in bytes parsed and
// in results that cross back from a handler. It bounds recursion.
const MaxDepth = 128

// Value is one node. The zero Value is null. Values are read-only once built:
// they may be shared between goroutines and must not be changed through the
// slices that the accessors return.
type Value struct {
	kind Kind
	// name is the member's name where this value is a member of an object.
	name string
	// text holds the bytes of a String, the digits of a Number, and "true" or
	// "false" for a Bool.
	text string
	kids []Value
}

// NewBool returns a bool.
func NewBool(b bool) Value {
	if b {
		return Value{kind: Bool, text: "true"}
	}
	return Value{kind: Bool, text: "false"}
}

// NewString returns a string of any bytes.
func NewString(s string) Value { return Value{kind: String, text: s} }

// NewNumber returns a number written as digits, which must be a JSON number:
// see ValidNumber.
func NewNumber(digits string) Value { return Value{kind: Number, text: digits} }

// NewArray returns an array that owns items.
func NewArray(items []Value) Value { return Value{kind: Array, kids: items} }

// NewObject returns an object that owns members, each of which was given its
// name by Named. Names must be unique; their order is kept.
func NewObject(members []Value) Value { return Value{kind: Object, kids: members} }

// Named returns v as the member name of an object.
func (v Value) Named(name string) Value {
	v.name = name
	return v
}

// Kind is what v is.
func (v *Value) Kind() Kind { return v.kind }

// Name is the member name of v within its object, or "".
func (v *Value) Name() string { return v.name }

// Text is the bytes of a string, the digits of a number as they were written,
// "true" or "false" for a bool, and "" for the other kinds.
func (v *Value) Text() string { return v.text }

// Bool reports whether v is the bool true.
func (v *Value) Bool() bool { return v.kind == Bool && v.text == "true" }

// Items are the elements of an array or the members of an object, in order.
// The slice must not be changed.
func (v *Value) Items() []Value { return v.kids }

// Len is the number of elements or members.
func (v *Value) Len() int { return len(v.kids) }

// Get returns the member name of an object, or nil when v is no object or has
// no such member.
func (v *Value) Get(name string) *Value {
	if v.kind != Object {
		return nil
	}
	for i := range v.kids {
		if v.kids[i].name == name {
			return &v.kids[i]
		}
	}
	return nil
}

// At returns element i of an array, or nil when v is no array or has no such
// element.
func (v *Value) At(i int) *Value {
	if v.kind != Array || i < 0 || i >= len(v.kids) {
		return nil
	}
	return &v.kids[i]
}
