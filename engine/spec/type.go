package spec

// TypeKind is the kind of a declared type.
type TypeKind string

// The kinds of declared types.
const (
	TypeAny    TypeKind = "any"
	TypeString TypeKind = "string"
	TypeNumber TypeKind = "number"
	TypeBool   TypeKind = "bool"
	TypeList   TypeKind = "list"
	TypeMap    TypeKind = "map"
	TypeObject TypeKind = "object"
)

// Type is the declared type of a body.
type Type struct {
	Kind TypeKind
	// Elem is the element type of a list or map.
	Elem *Type
	// Attrs are the attributes of an object, in the order of their names.
	Attrs []Attr
}

// Attr is one declared attribute. An optional one may be absent or null; when
// it has a Default (JSON, "" for none) that is put in its place.
type Attr struct {
	Name     string
	Type     *Type
	Optional bool
	Default  string
}

// Attr returns the attribute name of an object type, or nil.
func (t *Type) Attr(name string) *Attr {
	for i := range t.Attrs {
		if t.Attrs[i].Name == name {
			return &t.Attrs[i]
		}
	}
	return nil
}
