package input

import (
	"bytes"
	"errors"
	"fmt"
	"io"

	"pipeline/engine/broker"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/lang/diag"
)

// Record is one line that can be used.
type Record struct {
	// Line is its number, from 1.
	Line   int
	Stream *spec.Stream
	// Body is the decoded body, valid until the next Next. Raw is the same as it
	// is written in the file where it stands there alone, else "".
	Body value.Value
	Raw  string
	// Key is the partition key, when HasKey.
	Key    string
	HasKey bool
	// Headers are those of the envelope, in its order.
	Headers []outcome.Header
	// Fields are those of the whole entry, where the envelope gives them in place
	// of a body: nil, or at least one. Nobody else's memory is in them.
	Fields []broker.Field
}

// LineError is a line that cannot be used.
type LineError struct {
	Line int
	// Column is 0 when the problem is the whole line.
	Column  int
	Problem string
	// Suggestion is the word that was probably meant, or "".
	Suggestion string
}

// Error is the problem with its line.
func (b *LineError) Error() string { return fmt.Sprintf("line %d: %s", b.Line, b.Problem) }

// Reader reads records. It is not safe for concurrent use.
type Reader struct {
	lines    *lines
	pipeline *spec.Pipeline
	target   *spec.Stream
	arena    value.Arena
}

// NewReader reads entries for streams of p. With a target each line is a body
// for it, without one an envelope.
func NewReader(r io.Reader, p *spec.Pipeline, target *spec.Stream) *Reader {
	return &Reader{lines: newLines(r), pipeline: p, target: target}
}

// Offset is how many bytes were consumed so far.
func (r *Reader) Offset() int64 { return r.lines.read }

// BeforeWait makes Next call f before it waits for more of the input, on the
// same goroutine: what was read so far should not be held back meanwhile.
func (r *Reader) BeforeWait(f func()) { r.lines.waits = f }

// Next reads the next record into rec. It returns io.EOF at the end, a *LineError
// for a line that cannot be used, after which reading goes on, and any other
// error when the file cannot be read further. Empty lines are passed over.
func (r *Reader) Next(rec *Record) error {
	for {
		line, err := r.lines.next()
		switch {
		case errors.Is(err, errTooLong):
			return &LineError{Line: r.lines.number, Problem: err.Error() + "; it was skipped"}
		case err != nil:
			return err
		}
		if line = bytes.TrimSpace(line); len(line) > 0 {
			return r.record(rec, string(line))
		}
	}
}

func (r *Reader) record(rec *Record, line string) error {
	r.arena.Reset()
	*rec = Record{Line: r.lines.number, Headers: rec.Headers[:0]}
	v, err := value.ParseJSON(line, &r.arena)
	if err != nil {
		return r.notJSON(err)
	}
	if r.target != nil {
		rec.Stream, rec.Body, rec.Raw = r.target, v, line
		return nil
	}
	return r.envelope(rec, &v)
}

func (r *Reader) notJSON(err error) error {
	bad := &LineError{Line: r.lines.number, Problem: err.Error()}
	if syntax, ok := errors.AsType[*value.SyntaxError](err); ok {
		bad.Column = syntax.Column
		bad.Problem = "not JSON: expected " + syntax.Expected + ", found " + syntax.Found
	}
	return bad
}

func (r *Reader) bad(format string, args ...any) *LineError {
	return &LineError{Line: r.lines.number, Problem: fmt.Sprintf(format, args...)}
}

// members are what an envelope may hold. What dlq export says about a dead letter
// is passed over.
var members = []string{"stream", "entry", "key", "headers", "fields", "dead_letter"}

// envelope reads {"stream":…,"entry":…,"key":…,"headers":…}, or one with fields in
// place of all but the stream.
func (r *Reader) envelope(rec *Record, v *value.Value) error {
	if v.Kind() != value.Object {
		return r.bad("the line is %s, not an envelope {\"stream\":…,\"entry\":…}; to read bodies, name their stream on the command line", kind(v))
	}
	hasEntry := false
	for i := range v.Items() {
		m := &v.Items()[i]
		var err error
		switch m.Name() {
		case "stream":
			err = r.stream(rec, m)
		case "entry":
			rec.Body, hasEntry = *m, true
		case "key":
			rec.HasKey, rec.Key = true, m.Text()
			if m.Kind() != value.String {
				err = r.bad("key is %s, not a string", kind(m))
			}
		case "headers":
			err = r.headers(rec, m)
		case "fields":
			err = r.fields(rec, m)
		case "dead_letter":
		default:
			bad := r.bad("an envelope has no member %s; it has stream, entry, key and headers, or stream and fields", value.Quote(m.Name()))
			bad.Suggestion = diag.Nearest(m.Name(), members)
			err = bad
		}
		if err != nil {
			return err
		}
	}
	switch {
	case rec.Stream == nil:
		return r.bad("the envelope does not name its stream")
	case rec.Fields != nil && (hasEntry || rec.HasKey || len(rec.Headers) > 0):
		return r.bad("the envelope has fields, which are the whole entry, and entry, key or headers beside them")
	case !hasEntry && rec.Fields == nil:
		return r.bad("the envelope has no entry")
	}
	return nil
}

func (r *Reader) stream(rec *Record, m *value.Value) error {
	if m.Kind() != value.String {
		return r.bad("stream is %s, not a string", kind(m))
	}
	rec.Stream = FindStream(r.pipeline, m.Text())
	if rec.Stream == nil {
		bad := r.bad("the pipeline has no stream %s", value.Quote(m.Text()))
		bad.Suggestion = diag.Nearest(m.Text(), StreamNames(r.pipeline))
		return bad
	}
	return nil
}

func (r *Reader) headers(rec *Record, m *value.Value) error {
	if m.Kind() != value.Object {
		return r.bad("headers is %s, not an object of strings", kind(m))
	}
	for i := range m.Items() {
		h := &m.Items()[i]
		if h.Kind() != value.String {
			return r.bad("header %s is %s, not a string", value.Quote(h.Name()), kind(h))
		}
		rec.Headers = append(rec.Headers, outcome.Header{Name: h.Name(), Value: h.Text()})
	}
	return nil
}

// kind names what a value is, with its article.
func kind(v *value.Value) string {
	switch v.Kind() {
	case value.Null:
		return "null"
	case value.Array, value.Object:
		return "an " + v.Kind().String()
	}
	return "a " + v.Kind().String()
}

// FindStream returns the stream with the label or, where no label fits, with
// the key on the server, or nil.
func FindStream(p *spec.Pipeline, name string) *spec.Stream {
	if s := p.Stream(name); s != nil {
		return s
	}
	for _, s := range p.Streams {
		if s.Name == name {
			return s
		}
	}
	return nil
}

// StreamNames are the labels of all streams.
func StreamNames(p *spec.Pipeline) []string {
	names := make([]string, len(p.Streams))
	for i, s := range p.Streams {
		names[i] = s.Label
	}
	return names
}
