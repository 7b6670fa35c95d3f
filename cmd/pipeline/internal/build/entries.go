package build

import (
	"errors"

	"pipeline/cmd/pipeline/internal/input"
	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// Entries turns records of an input file into entries as they stand in a
// stream. It is not safe for concurrent use.
type Entries struct {
	encoders map[*spec.Stream]*codec.Encoder
	decoders map[*spec.Stream]*codec.Decoder
	// strict refuses what the stream's readers would have to set aside; without
	// it such a body is written as it is, for a reader to find.
	strict bool
}

// NewEntries encodes for the streams of p. Strict refuses bodies that do not
// fit their stream: for publishing. Without it they become entries all the
// same: for showing what a pipeline does with them.
func NewEntries(p *spec.Pipeline, strict bool) (*Entries, error) {
	e := &Entries{
		encoders: map[*spec.Stream]*codec.Encoder{}, decoders: map[*spec.Stream]*codec.Decoder{}, strict: strict,
	}
	for _, s := range p.Streams {
		encoder, err := codec.NewEncoder(s)
		if err != nil {
			return nil, err
		}
		decoder, err := codec.NewDecoder(s)
		if err != nil {
			return nil, err
		}
		e.encoders[s], e.decoders[s] = encoder, decoder
	}
	return e, nil
}

// Fields are the fields of the entry for rec. An error says why the body cannot
// stand in its stream.
func (e *Entries) Fields(rec *input.Record) ([]broker.Field, error) {
	if rec.Fields != nil {
		return rec.Fields, e.fits(rec)
	}
	encoder := e.encoders[rec.Stream]
	m := codec.Message{Body: &rec.Body, Key: rec.Key, HasKey: rec.HasKey, Headers: rec.Headers}
	if !m.HasKey && rec.Stream.Key != nil {
		key, ok, err := encoder.Key(&codec.Env{Entry: &rec.Body, Headers: rec.Headers})
		if err != nil && e.strict {
			return nil, err
		}
		m.Key, m.HasKey = key, ok && err == nil
	}
	if !e.strict && rec.Stream.Codec == spec.CodecJSON {
		return asIs(rec, &m)
	}
	fields, err := encoder.Encode(make([]broker.Field, 0, 1+len(m.Headers)+rec.Body.Len()), &m)
	if err == nil || e.strict {
		return fields, cause(err)
	}
	return asIs(rec, &m)
}

// fits says why whole fields do not fit their stream, where that matters.
func (e *Entries) fits(rec *input.Record) error {
	if !e.strict {
		return nil
	}
	var body codec.Body
	var arena value.Arena
	return e.decoders[rec.Stream].Decode(rec.Fields, &arena, &body)
}

// asIs writes a body without comparing it with the stream's type.
func asIs(rec *input.Record, m *codec.Message) ([]broker.Field, error) {
	fields := make([]broker.Field, 0, 2+len(m.Headers))
	switch {
	case rec.Stream.Codec == spec.CodecJSON:
		text := rec.Raw
		if text == "" {
			text = asJSON(&rec.Body)
		}
		fields = append(fields, broker.Field{Name: bodyField(rec.Stream), Value: text})
	case rec.Stream.Codec == spec.CodecFields && rec.Body.Kind() == value.Object:
		for i := range rec.Body.Items() {
			member := &rec.Body.Items()[i]
			fields = append(fields, broker.Field{Name: member.Name(), Value: plain(member)})
		}
	default:
		fields = append(fields, broker.Field{Name: bodyField(rec.Stream), Value: plain(&rec.Body)})
	}
	if m.HasKey {
		fields = append(fields, broker.Field{Name: codec.HeaderPrefix + codec.HeaderPartitionKey, Value: m.Key})
	}
	for _, h := range m.Headers {
		fields = append(fields, broker.Field{Name: codec.HeaderPrefix + h.Name, Value: h.Value})
	}
	return fields, nil
}

func bodyField(s *spec.Stream) string {
	if s.Body == "" {
		return spec.DefaultBody
	}
	return s.Body
}

// plain is a string itself in a text, and JSON in every other case.
func plain(v *value.Value) string {
	if v.Kind() == value.String {
		return v.Text()
	}
	return asJSON(v)
}

func asJSON(v *value.Value) string {
	text, _ := value.AppendJSON(nil, v) // what was parsed can be written
	return string(text)
}

// cause is the part of an error that is about the body: the line and the
// stream are told beside it.
func cause(err error) error {
	if invalid, ok := errors.AsType[*codec.InvalidError](err); ok {
		return invalid
	}
	if large, ok := errors.AsType[*codec.TooLargeError](err); ok {
		return large
	}
	return err
}
