package view

import (
	"strings"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// masked stands for the value of a field that its stream declares sensitive.
const masked = "(masked)"

// mask replaces the fields of a body, which is JSON. A field is a path of
// member names: "card.number". What cannot be read is not shown at all: it
// might hold what must not be seen.
func mask(body string, fields []string) string {
	if len(fields) == 0 {
		return body
	}
	v, err := value.ParseJSON(body, nil)
	if err != nil {
		return masked
	}
	for _, f := range fields {
		v = maskPath(v, strings.Split(f, "."))
	}
	out, err := value.AppendJSON(nil, &v)
	if err != nil {
		return masked
	}
	return string(out)
}

// maskPath returns v with the member at path masked, in every element where
// v is an array.
func maskPath(v value.Value, path []string) value.Value {
	if len(path) == 0 {
		return value.NewString(masked).Named(v.Name())
	}
	if v.Kind() != value.Object && v.Kind() != value.Array {
		return v
	}
	kids := make([]value.Value, v.Len())
	for i, kid := range v.Items() {
		switch {
		case v.Kind() == value.Array:
			kid = maskPath(kid, path)
		case kid.Name() == path[0]:
			kid = maskPath(kid, path[1:])
		}
		kids[i] = kid
	}
	if v.Kind() == value.Array {
		return value.NewArray(kids).Named(v.Name())
	}
	return value.NewObject(kids).Named(v.Name())
}

// inPlace is of v what stands where a type declares it, and as it declares it; all else is
// masked, with the names of members that it does not declare, for these may be values, too.
func inPlace(v value.Value, t *spec.Type) value.Value {
	hidden := value.NewString(masked).Named(v.Name())
	switch {
	case t == nil:
		return hidden
	case v.Kind() == value.Null,
		t.Kind == spec.TypeBool && v.Kind() == value.Bool,
		t.Kind == spec.TypeNumber && v.Kind() == value.Number,
		t.Kind == spec.TypeString && v.Kind() == value.String:
		return v
	case t.Kind == spec.TypeList && v.Kind() == value.Array:
		kids := make([]value.Value, v.Len())
		for i, kid := range v.Items() {
			kids[i] = inPlace(kid, t.Elem)
		}
		return value.NewArray(kids).Named(v.Name())
	case t.Kind == spec.TypeObject && v.Kind() == value.Object:
		kids := make([]value.Value, v.Len())
		for i, kid := range v.Items() {
			if kids[i] = value.NewString(masked).Named(masked); t.Attr(kid.Name()) != nil {
				kids[i] = inPlace(kid, t.Attr(kid.Name()).Type)
			}
		}
		return value.NewObject(kids).Named(v.Name())
	}
	return hidden
}

// hasPath reports whether there is a member at path, as maskPath finds it.
func hasPath(v *value.Value, path []string) bool {
	if len(path) == 0 {
		return true
	}
	for i := range v.Items() {
		kid := &v.Items()[i]
		switch {
		case v.Kind() == value.Array:
			if hasPath(kid, path) {
				return true
			}
		case kid.Name() == path[0] && hasPath(kid, path[1:]):
			return true
		}
	}
	return false
}
