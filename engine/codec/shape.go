package codec

import (
	"fmt"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// shape is a declared type, compiled. A nil shape is any value.
type shape struct {
	kind  spec.TypeKind
	elem  *shape
	attrs []attr
	// fills: there are defaults in it.
	fills bool
	// scalar is the kind of a string, number or bool, else Null.
	scalar value.Kind
}

type attr struct {
	name     string
	shape    *shape
	optional bool
	// scalar is that of shape, here to be at hand.
	scalar value.Kind
	// preset takes the place of an absent or null value; nil for none.
	preset *value.Value
}

// compileType checks that a type is whole, which one that was decoded from a
// file always is, and that its defaults are of their types.
func compileType(t *spec.Type) (*shape, error) {
	if t == nil {
		return nil, nil
	}
	s := &shape{kind: t.Kind}
	switch t.Kind {
	case spec.TypeAny:
		return nil, nil
	case spec.TypeString:
		s.scalar = value.String
		return s, nil
	case spec.TypeNumber:
		s.scalar = value.Number
		return s, nil
	case spec.TypeBool:
		s.scalar = value.Bool
		return s, nil
	case spec.TypeList, spec.TypeMap:
		elem, err := compileType(t.Elem)
		if err != nil {
			return nil, fmt.Errorf("elements: %w", err)
		}
		s.elem, s.fills = elem, elem != nil && elem.fills
		return s, nil
	case spec.TypeObject:
		return s, s.compileAttrs(t.Attrs)
	}
	return nil, fmt.Errorf("there is no type %q", t.Kind)
}

func (s *shape) compileAttrs(attrs []spec.Attr) error {
	for _, a := range attrs {
		if s.attr(a.Name) != nil {
			return fmt.Errorf("attribute %s is declared twice", a.Name)
		}
		compiled := attr{name: a.Name, optional: a.Optional}
		var err error
		if compiled.shape, err = compileType(a.Type); err != nil {
			return fmt.Errorf("attribute %s: %w", a.Name, err)
		}
		if compiled.shape != nil {
			compiled.scalar = compiled.shape.scalar
		}
		if a.Optional && a.Default != "" {
			if compiled.preset, err = preset(a, compiled.shape); err != nil {
				return fmt.Errorf("default of attribute %s: %w", a.Name, err)
			}
		}
		s.fills = s.fills || compiled.preset != nil || compiled.shape != nil && compiled.shape.fills
		s.attrs = append(s.attrs, compiled)
	}
	return nil
}

// preset is a default with the defaults inside it, or nil for null.
func preset(a spec.Attr, s *shape) (*value.Value, error) {
	v, err := value.ParseJSON(a.Default, nil)
	if err != nil || v.Kind() == value.Null {
		return nil, err
	}
	if invalid := s.check(&v); invalid != nil {
		return nil, invalid
	}
	v = s.fill(v, &value.Arena{}).Named(a.Name)
	return &v, nil
}

// attr returns the attribute name of an object type, or nil.
func (s *shape) attr(name string) *attr {
	for i := range s.attrs {
		if s.attrs[i].name == name {
			return &s.attrs[i]
		}
	}
	return nil
}

// expected is the type as messages name it.
func (s *shape) expected() string {
	switch {
	case s == nil:
		return "a value"
	case s.kind == spec.TypeObject:
		return "an object"
	}
	return "a " + string(s.kind)
}

// kindName is a kind as messages name it, in the words of the language.
func kindName(k value.Kind) string {
	switch k {
	case value.Null:
		return "null"
	case value.Array:
		return "a list"
	case value.Object:
		return "an object"
	}
	return "a " + k.String()
}
