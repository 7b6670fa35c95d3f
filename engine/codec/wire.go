// Package codec turns what stands in a stream into values and back: the body
// of an entry by the stream's codec and declared type, its headers, the copies
// that retries and dead letters make of it, and the expressions that are
// computed over it.
//
// An entry is ordered fields: the body in one field (_payload unless the
// stream names another), then each header in a field of its own whose name
// begins with "h:". An entry without the body field is its own body, member by
// field, so that one added by hand can be read too.
//
// Decoders, encoders and compiled expressions are immutable and safe for
// concurrent use.
package codec

import "strings"

// Field is one field of an entry: byte strings that may be empty, binary, and
// repeat within an entry.
type Field = struct{ Name, Value string }

// HeaderPrefix begins the names of the fields that carry headers.
const HeaderPrefix = "h:"

// Headers that the engine reads or writes, without HeaderPrefix.
const (
	// HeaderPartitionKey holds the partition key.
	HeaderPartitionKey  = "redis-partition-key"
	HeaderContentType   = "content-type"
	HeaderCorrelationID = "correlation-id"
	HeaderTraceParent   = "traceparent"
	HeaderTraceState    = "tracestate"
	// HeaderRetryCount is how many copies retries have made of an entry so far,
	// and HeaderRetryGroup the group that they are for.
	HeaderRetryCount = "x-retry-count"
	HeaderRetryGroup = "x-retry-group"
)

// Prefixes of the headers that belong to one entry and are never passed on.
const (
	deadLetterPrefix = "dead-letter-"
	retryPrefix      = "x-retry-"
)

// ours reports whether the engine alone writes the header.
func ours(header string) bool {
	return strings.HasPrefix(header, deadLetterPrefix) || strings.HasPrefix(header, retryPrefix)
}

// headerOf is the header that a field carries; ok is false for other fields.
func headerOf(field string) (name string, ok bool) { return strings.CutPrefix(field, HeaderPrefix) }

// Lookup returns the header name, the first one where it repeats. Headers have
// no prefix here.
func Lookup(headers []Field, name string) (text string, ok bool) {
	for i := range headers {
		if headers[i].Name == name {
			return headers[i].Value, true
		}
	}
	return "", false
}

// AppendHeaders appends the headers of an entry's fields to dst, without
// prefix, in their order.
func AppendHeaders(dst, fields []Field) []Field {
	for i := range fields {
		if name, ok := headerOf(fields[i].Name); ok {
			dst = append(dst, Field{Name: name, Value: fields[i].Value})
		}
	}
	return dst
}
