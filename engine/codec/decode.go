package codec

import (
	"cmp"
	"errors"
	"fmt"
	"unicode/utf8"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// DefaultMaxEntrySize bounds the body of a stream that names no bound of its
// own, in bytes.
const DefaultMaxEntrySize = 1 << 20

// Body is what an entry carries. The zero Body is ready for Decode.
type Body struct {
	// Value is the body: any value for the codecs json and fields, a string for
	// text and bytes. It is valid until the arena it was decoded into is reset.
	Value value.Value
	// Raw is the body's bytes as they stand in the body field. It is "" when the
	// entry's own fields are the body.
	Raw string
	// Headers are the entry's headers without their prefix, in their order;
	// names may repeat. The slice is used again by the next Decode.
	Headers []Field
}

// Header returns the header name, the first one where it repeats.
func (b *Body) Header(name string) (text string, ok bool) { return Lookup(b.Headers, name) }

// Decoder reads the entries of one stream.
type Decoder struct {
	codec spec.Codec
	field string
	limit int64
	shape *shape
}

// NewDecoder compiles the stream's codec and type. It fails only for a stream
// that no pipeline file can declare.
func NewDecoder(s *spec.Stream) (*Decoder, error) {
	switch s.Codec {
	case spec.CodecJSON, spec.CodecFields, spec.CodecText, spec.CodecBytes:
	default:
		return nil, fmt.Errorf("stream %s: there is no codec %q", s.Label, s.Codec)
	}
	shape, err := compileType(s.Entry)
	if err != nil {
		return nil, fmt.Errorf("stream %s: entry: %w", s.Label, err)
	}
	return &Decoder{
		codec: s.Codec,
		field: cmp.Or(s.Body, spec.DefaultBody),
		limit: cmp.Or(s.MaxEntrySize, DefaultMaxEntrySize),
		shape: shape,
	}, nil
}

// Decode reads an entry into out. The headers are set even when there is an
// error. The errors are *InvalidError, *TooLargeError and *BodyMissingError;
// InvalidReason names them for a dead letter.
func (d *Decoder) Decode(fields []Field, a *value.Arena, out *Body) error {
	*out = Body{Headers: out.Headers[:0]}
	own, size, bodies := 0, 0, 0
	for i := range fields {
		f := &fields[i]
		if name, ok := headerOf(f.Name); ok {
			out.Headers = append(out.Headers, Field{Name: name, Value: f.Value})
			continue
		}
		if f.Name == d.field && d.codec != spec.CodecFields {
			out.Raw = f.Value
			bodies++
			continue
		}
		own++
		size += len(f.Name) + len(f.Value)
	}
	switch {
	case bodies > 1:
		out.Raw = ""
		return mismatch("each field once", "it twice").under(d.field)
	case bodies == 1:
		size = len(out.Raw)
	case d.codec == spec.CodecText || d.codec == spec.CodecBytes || own == 0:
		return d.missing(own)
	}
	if int64(size) > d.limit {
		return &TooLargeError{Size: int64(size), Limit: d.limit}
	}
	if err := d.body(fields, bodies == 1, own, a, out); err != nil {
		return err
	}
	if err := d.shape.check(&out.Value); err != nil {
		return err
	}
	if d.shape != nil && d.shape.fills {
		out.Value = d.shape.fill(out.Value, a)
	}
	return nil
}

func (d *Decoder) missing(own int) error {
	if d.codec == spec.CodecFields {
		return &BodyMissingError{}
	}
	return &BodyMissingError{Field: d.field, Names: own > 0}
}

// body sets the value, whatever its type.
func (d *Decoder) body(fields []Field, whole bool, own int, a *value.Arena, out *Body) (err error) {
	switch {
	case !whole:
		if invalid := d.fromFields(fields, own, a, out); invalid != nil {
			return invalid
		}
		return nil
	case d.codec == spec.CodecJSON:
		if out.Value, err = value.ParseJSON(out.Raw, a); err != nil {
			return notJSON(err)
		}
		return nil
	case d.codec == spec.CodecText && !utf8.ValidString(out.Raw):
		return mismatch("a text in UTF-8", "other bytes; codec \"bytes\" carries any")
	}
	out.Value = value.NewString(out.Raw)
	return nil
}

func notJSON(err error) *InvalidError {
	syntax, ok := errors.AsType[*value.SyntaxError](err)
	if !ok {
		return mismatch("JSON", err.Error())
	}
	return &InvalidError{
		Expected: syntax.Expected, Found: syntax.Found,
		Offset: syntax.Offset, Line: syntax.Line, Column: syntax.Column,
	}
}
