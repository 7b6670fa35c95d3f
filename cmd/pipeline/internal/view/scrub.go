package view

import (
	"cmp"
	"slices"
	"strings"

	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// scrubber takes out of outcomes what streams declare sensitive, before any of
// it is shown. Fields are masked by their place where there is a body. The values
// that an entry, or a reply, has in such fields are masked wherever else they
// turn up: in what a handler logs, in reasons and errors, keys and headers, and
// in other fields of replies. A value that a handler has rewritten is not known
// again.
type scrubber struct {
	// fields are the sensitive ones, by the key of their stream.
	fields map[string][]string
}

// leastSecret is the length from which a value is masked wherever it turns up.
// Shorter ones would turn up by chance in every text.
const leastSecret = 3

// newScrubber knows the fields of all versions of a pipeline: what one of them
// declares sensitive is sensitive.
func newScrubber(versions ...*spec.Pipeline) *scrubber {
	s := &scrubber{fields: map[string][]string{}}
	for _, p := range versions {
		for _, stream := range p.Streams {
			for _, f := range stream.Sensitive {
				if !slices.Contains(s.fields[stream.Name], f) {
					s.fields[stream.Name] = append(s.fields[stream.Name], f)
				}
			}
		}
	}
	return s
}

// secrets are values to mask wherever they turn up, the longest first.
type secrets []string

// of are the secrets of an entry of a stream and of what came of it.
func (s *scrubber) of(stream string, body *value.Value, outcomes ...*observe.Outcome) secrets {
	if len(s.fields) == 0 {
		return nil
	}
	var found secrets
	if body != nil {
		found = s.within(found, stream, body)
	}
	for _, o := range outcomes {
		for i := range o.Replies {
			r := &o.Replies[i]
			if len(s.fields[r.Stream]) == 0 || !isJSON(r) {
				continue
			}
			if v, err := value.ParseJSON(r.Body, nil); err == nil {
				found = s.within(found, r.Stream, &v)
			}
		}
	}
	slices.SortFunc(found, func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
	return slices.Compact(found)
}

// undecoded reports whether an entry of a stream may have any secret: what it has in the
// sensitive fields could not be read. body is nil or null then.
func (s *scrubber) undecoded(stream string, body *value.Value, o *observe.Outcome) bool {
	return (body == nil || body.Kind() == value.Null) && o.Result == observe.ResultInvalid && len(s.fields[stream]) > 0
}

func (s *scrubber) within(found secrets, stream string, body *value.Value) secrets {
	for _, f := range s.fields[stream] {
		found = secretsAt(found, body, strings.Split(f, "."))
	}
	return found
}

// secretsAt gathers the texts and numbers at a path, as maskPath finds it.
func secretsAt(found secrets, v *value.Value, path []string) secrets {
	switch v.Kind() {
	case value.Object:
		for i := range v.Items() {
			kid := &v.Items()[i]
			switch {
			case len(path) == 0:
				found = secretsAt(found, kid, nil)
			case kid.Name() == path[0]:
				found = secretsAt(found, kid, path[1:])
			}
		}
	case value.Array:
		for i := range v.Items() {
			found = secretsAt(found, &v.Items()[i], path)
		}
	case value.String, value.Number:
		if len(path) == 0 && len(v.Text()) >= leastSecret {
			found = append(found, strings.Clone(v.Text()))
		}
	}
	return found
}

// unknown are the secrets of a body that cannot be read: anything may be one.
var unknown = secrets{""}

// text is a text without the secrets.
func (s secrets) text(text string) string {
	switch {
	case text == "":
		return "" // what is not there is not shown as hidden
	case len(s) == 1 && s[0] == "":
		return masked
	}
	for _, secret := range s {
		text = strings.ReplaceAll(text, secret, masked)
	}
	return text
}

// value is a body without the secrets.
func (s secrets) value(v value.Value) value.Value {
	switch v.Kind() {
	case value.String:
		if clean := s.text(v.Text()); clean != v.Text() {
			return value.NewString(clean).Named(v.Name())
		}
	case value.Number:
		if slices.Contains(s, v.Text()) {
			return value.NewString(masked).Named(v.Name())
		}
	case value.Array, value.Object:
		kids := make([]value.Value, v.Len())
		for i, kid := range v.Items() {
			kids[i] = s.value(kid)
		}
		if v.Kind() == value.Array {
			return value.NewArray(kids).Named(v.Name())
		}
		return value.NewObject(kids).Named(v.Name())
	}
	return v
}

func (s secrets) pairs(pairs []outcome.Header) []outcome.Header {
	clean := make([]outcome.Header, len(pairs))
	for i, p := range pairs {
		clean[i] = outcome.Header{Name: p.Name, Value: s.text(p.Value)}
	}
	return clean
}

// outcome is o without what is sensitive: o itself where nothing is.
func (s *scrubber) outcome(o *observe.Outcome, hide secrets) *observe.Outcome {
	if len(s.fields) == 0 {
		return o
	}
	clean := *o
	clean.Replies = make([]observe.Reply, len(o.Replies))
	for i := range o.Replies {
		clean.Replies[i] = s.reply(&o.Replies[i], hide)
	}
	if len(hide) == 0 {
		return &clean
	}
	clean.Key, clean.Reason, clean.Error = hide.text(o.Key), hide.text(o.Reason), hide.text(o.Error)
	clean.Logs = make([]sandbox.LogLine, len(o.Logs))
	for i, l := range o.Logs {
		clean.Logs[i] = sandbox.LogLine{Level: l.Level, Message: hide.text(l.Message), Attrs: hide.pairs(l.Attrs)}
	}
	return &clean
}

// isJSON reports whether a reply's body is JSON.
func isJSON(r *observe.Reply) bool { return r.Codec != spec.CodecText && r.Codec != spec.CodecBytes }

func (s *scrubber) reply(r *observe.Reply, hide secrets) observe.Reply {
	clean := *r
	fields := s.fields[r.Stream]
	switch {
	case !isJSON(r):
		clean.Body = hide.text(r.Body)
	case len(fields) > 0 || len(hide) > 0:
		clean.Body = `"` + masked + `"` // what cannot be read is not shown
		if v, err := value.ParseJSON(r.Body, nil); err == nil {
			clean.Body = s.body(v, r.Stream, hide)
		}
	}
	if len(hide) > 0 {
		clean.Key, clean.Headers = hide.text(r.Key), hide.pairs(r.Headers)
	}
	return clean
}

// body is a body for a stream as JSON, without what is sensitive.
func (s *scrubber) body(v value.Value, stream string, hide secrets) string {
	for _, f := range s.fields[stream] {
		v = maskPath(v, strings.Split(f, "."))
	}
	if len(hide) > 0 {
		v = hide.value(v)
	}
	return jsonText(&v)
}

// jsonText is a value as JSON, or that it is masked where it has none.
func jsonText(v *value.Value) string {
	out, err := value.AppendJSON(nil, v)
	if err != nil {
		return `"` + masked + `"`
	}
	return string(out)
}
