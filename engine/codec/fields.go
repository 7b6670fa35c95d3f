package codec

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// fromFields makes an object of an entry's own fields, each a member of the
// type that is declared for it.
func (d *Decoder) fromFields(fields []Field, own int, a *value.Arena, out *Body) *InvalidError {
	members, n := a.Take(own), 0
	for i := range fields {
		f := &fields[i]
		if strings.HasPrefix(f.Name, HeaderPrefix) {
			continue
		}
		// A body that stands for JSON must be able to become JSON again.
		if d.codec == spec.CodecJSON && (!utf8.ValidString(f.Name) || !utf8.ValidString(f.Value)) {
			return mismatch("a text in UTF-8", "other bytes").under(f.Name)
		}
		v, err := convert(f.Value, d.shape.member(f.Name), a)
		if err != nil {
			return err.under(f.Name)
		}
		members[n] = v.Named(f.Name)
		n++
	}
	if i := a.Duplicate(members); i >= 0 {
		return mismatch("each field once", "it twice").under(members[i].Name())
	}
	out.Value = value.NewObject(members)
	return nil
}

// member is the type of a member, nil when it is any or not declared.
func (s *shape) member(name string) *shape {
	if s == nil {
		return nil
	}
	if a := s.attr(name); a != nil {
		return a.shape
	}
	return s.elem
}

// convert reads a field's text as a value of the type. Lists, maps and objects
// are written as JSON. What is not declared is a string.
func convert(text string, s *shape, a *value.Arena) (value.Value, *InvalidError) {
	if s == nil {
		return value.NewString(text), nil
	}
	switch s.kind {
	case spec.TypeString:
		return value.NewString(text), nil
	case spec.TypeNumber:
		if value.ValidNumber(text) {
			return value.NewNumber(text), nil
		}
	case spec.TypeBool:
		if text == "true" || text == "false" {
			return value.NewBool(text == "true"), nil
		}
		return value.Value{}, mismatch("true or false", describeText(text))
	default:
		v, err := value.ParseJSON(text, a)
		if err == nil {
			return v, nil
		}
		return value.Value{}, mismatch(s.expected()+" as JSON", "a text that is none")
	}
	return value.Value{}, mismatch(s.expected(), describeText(text))
}

// describeText says what a text is that should have been something else.
func describeText(text string) string {
	if text == "" {
		return "an empty text"
	}
	return fmt.Sprintf("a text of %d bytes that is none", len(text))
}

// fieldText is how a member is written in a field of its own.
func fieldText(v *value.Value) (string, *InvalidError) {
	switch v.Kind() {
	case value.Array, value.Object:
		return jsonText(v)
	}
	return v.Text(), nil
}
