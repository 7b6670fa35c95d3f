// Package value is the decoded body of an entry or a reply as the codecs, the
// handlers and the engine share it: a small immutable tree, decoded once and
// read by all of them.
//
// Numbers keep the digits that they were written with, so that an integer
// such as 18446744073709551615 comes out as it went in. Strings are byte
// strings: only JSON requires them to be UTF-8.
package value

import "unsafe"

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
//
// There are as many of them as everything that is held has members, so that their
// size counts: the elements are a place and a number of 32 bits, which is 16 bytes
// less than a slice.
type Value struct {
	kind Kind
	// sorted: the text of an array or object is what AppendJSON writes.
	sorted bool
	// kids are count elements or members from first on.
	count uint32
	first *Value
	// name is the member's name where this value is a member of an object.
	name string
	// text holds the bytes of a String, the digits of a Number, and "true" or
	// "false" for a Bool; of an array or object the JSON that it was parsed from, or "":
	// see written.go.
	text string
}

// kids are the elements of an array or the members of an object.
func (v *Value) kids() []Value { return unsafe.Slice(v.first, v.count) }

// hold makes kids those of v.
func (v *Value) hold(kids []Value) { v.first, v.count = unsafe.SliceData(kids), uint32(len(kids)) }

// container is a value with kids.
func container(kind Kind, name string, kids []Value) Value {
	v := Value{kind: kind, name: name}
	v.hold(kids)
	return v
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
func NewArray(items []Value) Value { return container(Array, "", items) }

// NewObject returns an object that owns members, each of which was given its
// name by Named. Names must be unique; their order is kept.
func NewObject(members []Value) Value { return container(Object, "", members) }

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
func (v *Value) Text() string {
	if v.kind >= Array {
		return ""
	}
	return v.text
}

// Bool reports whether v is the bool true.
func (v *Value) Bool() bool { return v.kind == Bool && v.text == "true" }

// Items are the elements of an array or the members of an object, in order.
// The slice must not be changed.
func (v *Value) Items() []Value { return v.kids() }

// Len is the number of elements or members.
func (v *Value) Len() int { return int(v.count) }

// Get returns the member name of an object, or nil when v is no object or has
// no such member.
func (v *Value) Get(name string) *Value {
	if v.kind != Object {
		return nil
	}
	kids := v.kids()
	for i := range kids {
		if kids[i].name == name {
			return &kids[i]
		}
	}
	return nil
}

// At returns element i of an array, or nil when v is no array or has no such
// element.
func (v *Value) At(i int) *Value {
	if v.kind != Array || i < 0 || i >= int(v.count) {
		return nil
	}
	return &v.kids()[i]
}
