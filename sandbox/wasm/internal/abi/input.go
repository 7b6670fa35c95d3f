package abi

import (
	"encoding/base64"
	"strconv"
	"unicode/utf8"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Envelope writes what a module is given. The zero Envelope is ready; it is not
// safe for concurrent use.
type Envelope struct {
	// known are the members that are the same for all entries of a subscription,
	// as they were written for the one with these names.
	stream, group, subscription string
	known                       []byte
}

// Append appends the JSON object that a module is given: the entry's body, its
// headers and its counts. What is not text stands in base64 under a name of its
// own. The body comes first: most modules look for it by reading from the
// beginning, and pay for all that stands before it.
func (e *Envelope) Append(dst []byte, d *sandbox.Delivery) ([]byte, error) {
	dst, err := appendBody(append(dst, '{'), d)
	if err != nil {
		return nil, err
	}
	dst = appendText(append(dst, ','), "id", d.ID)
	dst = e.appendKnown(dst, d)
	dst = appendText(append(dst, ','), "key", d.Key)
	dst = append(dst, `,"headers":`...)
	dst = AppendHeaders(dst, d.Headers, utf8.ValidString)
	dst = appendBinaryHeaders(dst, d.Headers)
	dst = strconv.AppendInt(append(dst, `,"deliveries":`...), d.Deliveries, 10)
	dst = strconv.AppendInt(append(dst, `,"attempt":`...), int64(d.Attempt), 10)
	dst = strconv.AppendInt(append(dst, `,"max_attempts":`...), int64(d.MaxAttempts), 10)
	dst = strconv.AppendInt(append(dst, `,"idle_ms":`...), d.Idle.Milliseconds(), 10)
	dst = strconv.AppendInt(append(dst, `,"now_ms":`...), d.Now.UnixMilli(), 10)
	return append(dst, '}'), nil
}

func appendBody(dst []byte, d *sandbox.Delivery) ([]byte, error) {
	switch d.Kind {
	case sandbox.BodyText:
		return appendText(dst, "body", d.Raw), nil
	case sandbox.BodyBytes:
		return appendBase64(dst, "body_base64", d.Raw), nil
	}
	return value.AppendJSON(append(dst, `"body":`...), d.Body)
}

func (e *Envelope) appendKnown(dst []byte, d *sandbox.Delivery) []byte {
	if e.known == nil || e.stream != d.Stream || e.group != d.Group || e.subscription != d.Subscription {
		e.stream, e.group, e.subscription = d.Stream, d.Group, d.Subscription
		e.known = appendText(append(e.known[:0], ','), "stream", d.Stream)
		e.known = appendText(append(e.known, ','), "group", d.Group)
		e.known = appendText(append(e.known, ','), "subscription", d.Subscription)
	}
	return append(dst, e.known...)
}

// AppendRaw appends the body alone, as it stands on the wire; of an entry
// whose fields are the body, which has no such bytes, as JSON.
func AppendRaw(dst []byte, d *sandbox.Delivery) ([]byte, error) {
	if d.Kind == sandbox.BodyValue && d.Raw == "" {
		return value.AppendJSON(dst, d.Body)
	}
	return append(dst, d.Raw...), nil
}

// AppendHeaders appends the headers whose value passes as an object; of one
// that repeats, the last counts.
func AppendHeaders(dst []byte, headers []outcome.Header, pass func(string) bool) []byte {
	dst = append(dst, '{')
	first, last := true, lasts(headers)
	for i, h := range headers {
		if !pass(h.Value) || !utf8.ValidString(h.Name) || !last(i) {
			continue
		}
		if !first {
			dst = append(dst, ',')
		}
		first = false
		dst = appendText(dst, h.Name, h.Value)
	}
	return append(dst, '}')
}

func appendBinaryHeaders(dst []byte, headers []outcome.Header) []byte {
	first, last := true, lasts(headers)
	for i, h := range headers {
		if utf8.ValidString(h.Value) || !utf8.ValidString(h.Name) || !last(i) {
			continue
		}
		if first {
			dst = append(dst, `,"headers_base64":{`...)
		} else {
			dst = append(dst, ',')
		}
		first = false
		dst = appendBase64(dst, h.Name, h.Value)
	}
	if !first {
		dst = append(dst, '}')
	}
	return dst
}

// fewHeaders is how many are compared with each other; of more there is a
// table, since an entry may have a hundred thousand.
const fewHeaders = 16

// lasts returns a function that tells whether a header is the last of its
// name.
func lasts(headers []outcome.Header) func(i int) bool {
	if len(headers) <= fewHeaders {
		return func(i int) bool {
			for _, h := range headers[i+1:] {
				if h.Name == headers[i].Name {
					return false
				}
			}
			return true
		}
	}
	place := make(map[string]int, len(headers))
	for i, h := range headers {
		place[h.Name] = i
	}
	return func(i int) bool { return place[headers[i].Name] == i }
}

// appendText appends a member whose value is a string, or, when that is not
// text, its base64 under the name with "_base64".
func appendText(dst []byte, name, s string) []byte {
	out, ok := value.AppendText(appendName(dst, name), s)
	if !ok {
		return appendBase64(dst, name+"_base64", s)
	}
	return out
}

func appendBase64(dst []byte, name, s string) []byte {
	dst = append(appendName(dst, name), '"')
	dst = base64.StdEncoding.AppendEncode(dst, []byte(s))
	return append(dst, '"')
}

// appendName appends a member's name and the colon.
func appendName(dst []byte, name string) []byte {
	dst, _ = value.AppendText(dst, name) // one that is not UTF-8 does not come here
	return append(dst, ':')
}
