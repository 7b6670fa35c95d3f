package codec

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"unicode/utf8"

	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// Message is what is to be published to a stream.
type Message struct {
	// Body is any value for the codec json, an object for fields, and a string
	// for text and bytes.
	Body *value.Value
	// Key is the partition key, when HasKey. It goes before a header of that
	// name.
	Key    string
	HasKey bool
	// Headers have no prefix. Where a name repeats, the first one counts: what
	// has precedence comes first. Headers that the engine alone writes, of
	// retries and dead letters, are left out: they belong to the entry that
	// they came with.
	Headers []Field
}

// Encoder writes the entries of one stream.
type Encoder struct {
	name  string
	codec spec.Codec
	field string
	limit int64
	shape *shape
	key   *Key
}

// NewEncoder compiles the stream's codec, type and key.
func NewEncoder(s *spec.Stream) (*Encoder, error) {
	d, err := NewDecoder(s)
	if err != nil {
		return nil, err
	}
	e := &Encoder{name: s.Name, codec: d.codec, field: d.field, limit: d.limit, shape: d.shape}
	if s.Key != nil {
		if e.key, err = CompileKey(s.Key); err != nil {
			return nil, fmt.Errorf("stream %s: key: %w", s.Label, err)
		}
	}
	return e, nil
}

// Key computes the partition key that the stream declares for what is
// published to it: env.Entry is the body to be published, env.Headers its
// headers. ok is false when the stream declares none, or when what it reads is
// null or missing.
func (e *Encoder) Key(env *Env) (key string, ok bool, err error) {
	if e.key == nil {
		return "", false, nil
	}
	if key, err = e.key.Eval(env); err != nil {
		return "", false, fmt.Errorf("key for stream %s: %w", e.name, err)
	}
	return key, key != "", nil
}

// Encode appends the fields of an entry to dst: the body, the partition key,
// the other headers in their order. A body that is not of the stream's type or
// larger than it allows is refused, so that nothing is published that its
// readers would have to set aside; the error then wraps an *InvalidError or a
// *TooLargeError and dst is returned as it was.
func (e *Encoder) Encode(dst []Field, m *Message) ([]Field, error) {
	out, err := e.appendBody(dst, m.Body)
	if err == nil {
		out, err = appendMessageHeaders(out, m)
	}
	if err != nil {
		return dst, fmt.Errorf("encode for stream %s: %w", e.name, err)
	}
	return out, nil
}

func (e *Encoder) appendBody(dst []Field, body *value.Value) ([]Field, error) {
	if err := e.shape.check(body); err != nil {
		return dst, err
	}
	if e.codec == spec.CodecFields {
		return e.appendFields(dst, body)
	}
	text, err := e.text(body)
	if err != nil {
		return dst, err
	}
	if int64(len(text)) > e.limit {
		return dst, &TooLargeError{Size: int64(len(text)), Limit: e.limit}
	}
	return append(dst, Field{Name: e.field, Value: text}), nil
}

// text is the body as it stands in the body field.
func (e *Encoder) text(body *value.Value) (string, error) {
	if e.codec == spec.CodecJSON {
		text, err := jsonText(body)
		if err != nil {
			return "", err
		}
		return text, nil
	}
	if body.Kind() != value.String {
		return "", mismatch(fmt.Sprintf("a string, because the codec is %q", e.codec), kindName(body.Kind()))
	}
	if e.codec == spec.CodecText && !utf8.ValidString(body.Text()) {
		return "", mismatch("a text in UTF-8", "other bytes; codec \"bytes\" carries any")
	}
	return body.Text(), nil
}

// buffers are what bodies are built in.
var buffers = sync.Pool{New: func() any { return new(make([]byte, 0, 512)) }}

// maxBuffer is the largest buffer that is kept, in bytes.
const maxBuffer = 64 << 10

func jsonText(v *value.Value) (string, *InvalidError) {
	buf := buffers.Get().(*[]byte)
	out, err := value.AppendJSON((*buf)[:0], v)
	text := string(out)
	if cap(out) <= maxBuffer {
		*buf = out
		buffers.Put(buf)
	}
	if err != nil {
		return "", notEncodable(err)
	}
	return text, nil
}

// appendFields appends a field for each member that is not null, in the byte
// order of their names.
func (e *Encoder) appendFields(dst []Field, body *value.Value) ([]Field, error) {
	if body.Kind() != value.Object {
		return dst, mismatch("an object, because the codec is \"fields\"", kindName(body.Kind()))
	}
	start, size := len(dst), 0
	members := body.Items()
	for i := range members {
		m := &members[i]
		if m.Kind() == value.Null {
			continue
		}
		if strings.HasPrefix(m.Name(), HeaderPrefix) {
			return dst, mismatch("a name that does not begin with \"h:\", which marks headers", "one that does").under(m.Name())
		}
		text, err := fieldText(m)
		if err != nil {
			return dst, err.under(m.Name())
		}
		size += len(m.Name()) + len(text)
		dst = append(dst, Field{Name: m.Name(), Value: text})
	}
	fields := dst[start:]
	if len(fields) == 0 {
		return dst, mismatch("at least one member that is not null, because the codec is \"fields\"", "none")
	}
	if int64(size) > e.limit {
		return dst, &TooLargeError{Size: int64(size), Limit: e.limit}
	}
	slices.SortFunc(fields, func(a, b Field) int { return cmp.Compare(a.Name, b.Name) })
	for i := 1; i < len(fields); i++ {
		if fields[i-1].Name == fields[i].Name {
			return dst, mismatch("each member name once", "it twice").under(fields[i].Name)
		}
	}
	return dst, nil
}

// notEncodable is an error of AppendJSON in the shape of all others.
func notEncodable(err error) *InvalidError {
	encode, ok := errors.AsType[*value.EncodeError](err)
	if !ok {
		return mismatch("what JSON can write", err.Error())
	}
	invalid := mismatch("what JSON can write", "a value that "+encode.Problem)
	invalid.Path = encode.Path
	return invalid
}

// appendMessageHeaders appends the headers as fields, each once.
func appendMessageHeaders(dst []Field, m *Message) ([]Field, error) {
	start := len(dst)
	if m.HasKey {
		dst = append(dst, Field{Name: HeaderPrefix + HeaderPartitionKey, Value: m.Key})
	}
	for i := range m.Headers {
		h := &m.Headers[i]
		if h.Name == "" {
			return dst, errors.New("a header has an empty name")
		}
		if ours(h.Name) || hasHeader(dst[start:], h.Name) {
			continue
		}
		dst = append(dst, Field{Name: fieldName(h.Name), Value: h.Value})
	}
	return dst, nil
}

func hasHeader(fields []Field, header string) bool {
	for i := range fields {
		if fields[i].Name[len(HeaderPrefix):] == header {
			return true
		}
	}
	return false
}

// fieldName is the name of the field that carries a header. The usual ones
// are constants.
func fieldName(header string) string {
	switch header {
	case HeaderPartitionKey:
		return HeaderPrefix + HeaderPartitionKey
	case HeaderContentType:
		return HeaderPrefix + HeaderContentType
	case HeaderCorrelationID:
		return HeaderPrefix + HeaderCorrelationID
	case HeaderTraceParent:
		return HeaderPrefix + HeaderTraceParent
	case HeaderTraceState:
		return HeaderPrefix + HeaderTraceState
	}
	return HeaderPrefix + header
}
