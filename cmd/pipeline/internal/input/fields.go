package input

import (
	"encoding/base64"

	"pipeline/engine/broker"
	"pipeline/engine/value"
)

// fields reads the fields of an entry as they stand in a stream: [[name, value],
// …], each a string, or {"base64": …} for bytes that are no text.
func (r *Reader) fields(rec *Record, m *value.Value) error {
	if m.Kind() != value.Array {
		return r.bad("fields is %s, not an array of [name, value]", kind(m))
	}
	rec.Fields = make([]broker.Field, m.Len())
	for i := range m.Items() {
		pair := &m.Items()[i]
		if pair.Kind() != value.Array || pair.Len() != 2 {
			return r.bad("field %d is no pair [name, value]", i+1)
		}
		var err error
		if rec.Fields[i].Name, err = r.bytes(pair.At(0)); err != nil {
			return err
		}
		if rec.Fields[i].Value, err = r.bytes(pair.At(1)); err != nil {
			return err
		}
	}
	if len(rec.Fields) == 0 {
		return r.bad("fields is empty; an entry needs at least one field")
	}
	return nil
}

// bytes reads a string, or the bytes of {"base64": …}.
func (r *Reader) bytes(m *value.Value) (string, error) {
	if m.Kind() == value.String {
		return m.Text(), nil
	}
	coded := m.Get("base64")
	if m.Kind() != value.Object || m.Len() != 1 || coded == nil || coded.Kind() != value.String {
		return "", r.bad("a field's name or value is a string or {\"base64\":\"…\"}, here is %s", kind(m))
	}
	text, err := base64.StdEncoding.DecodeString(coded.Text())
	if err != nil {
		return "", r.bad("a field's base64 cannot be decoded: %v", err)
	}
	return string(text), nil
}
