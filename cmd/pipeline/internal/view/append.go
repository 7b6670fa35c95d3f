package view

import (
	"encoding/base64"
	"strconv"
	"strings"
	"unicode/utf8"

	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// The lines of outcomes are written by hand: a dry-run prints hundreds of
// thousands of them, and reflection would take longer than the handlers.

// appendString appends s as a JSON string; bytes that are no UTF-8 become
// replacement characters.
func appendString(dst []byte, s string) []byte {
	if !utf8.ValidString(s) {
		s = strings.ToValidUTF8(s, "\uFFFD")
	}
	v := value.NewString(s)
	dst, _ = value.AppendJSON(dst, &v) // a valid string cannot fail
	return dst
}

// appendOutcome appends the line of an outcome, without its closing brace.
func appendOutcome(dst []byte, sub *spec.Subscription, o *observe.Outcome) []byte {
	dst = append(dst, `{"event":"outcome","subscription":`...)
	dst = appendString(dst, sub.Label)
	dst = append(dst, `,"id":"`...)
	dst = o.ID.Append(dst)
	dst = append(dst, `","outcome":"`...)
	dst = append(dst, o.Result...)
	dst = append(dst, `","replies":[`...)
	for i := range o.Replies {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendReply(dst, &o.Replies[i])
	}
	dst = append(dst, `],"after_ms":`...)
	dst = strconv.AppendInt(dst, o.After.Milliseconds(), 10)
	dst = append(dst, `,"reason":`...)
	dst = appendString(dst, o.Reason)
	dst = append(dst, `,"error":`...)
	dst = appendString(dst, o.Error)
	dst = append(dst, `,"logs":[`...)
	for i := range o.Logs {
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendLog(dst, &o.Logs[i])
	}
	dst = append(dst, `],"elapsed_us":`...)
	dst = strconv.AppendInt(dst, o.Elapsed.Microseconds(), 10)
	dst = strconv.AppendInt(append(dst, `,"instructions":`...), o.Usage.Instructions, 10)
	return strconv.AppendInt(append(dst, `,"memory_bytes":`...), o.Usage.Bytes, 10)
}

func appendReply(dst []byte, r *observe.Reply) []byte {
	dst = append(dst, `{"stream":`...)
	dst = appendString(dst, r.Stream)
	switch r.Codec {
	case spec.CodecBytes:
		dst = append(dst, `,"body_base64":"`...)
		dst = base64.StdEncoding.AppendEncode(dst, []byte(r.Body))
		dst = append(dst, '"')
	case spec.CodecText:
		dst = append(dst, `,"body":`...)
		dst = appendString(dst, r.Body)
	default: // the engine wrote it as compact JSON
		dst = append(dst, `,"body":`...)
		dst = append(dst, r.Body...)
	}
	dst = append(dst, `,"key":`...)
	dst = appendString(dst, r.Key)
	dst = append(dst, `,"headers":`...)
	return append(appendPairs(dst, r.Headers), '}')
}

func appendLog(dst []byte, l *sandbox.LogLine) []byte {
	dst = append(dst, `{"level":"`...)
	dst = append(dst, levelName(l.Level)...)
	dst = append(dst, `","message":`...)
	dst = appendString(dst, l.Message)
	dst = append(dst, `,"attrs":`...)
	return append(appendPairs(dst, l.Attrs), '}')
}

// appendPairs appends an object of strings. Of names that repeat, the first one
// stands: it is the one that counts on the wire.
func appendPairs(dst []byte, pairs []outcome.Header) []byte {
	dst = append(dst, '{')
	for i := range pairs {
		if repeated(pairs[:i], pairs[i].Name) {
			continue
		}
		if i > 0 {
			dst = append(dst, ',')
		}
		dst = appendString(dst, pairs[i].Name)
		dst = append(dst, ':')
		dst = appendString(dst, pairs[i].Value)
	}
	return append(dst, '}')
}

func repeated(pairs []outcome.Header, name string) bool {
	for i := range pairs {
		if pairs[i].Name == name {
			return true
		}
	}
	return false
}

func levelName(l sandbox.Level) string {
	switch {
	case l < sandbox.Info:
		return "debug"
	case l < sandbox.Warn:
		return "info"
	case l < sandbox.Error:
		return "warn"
	default:
		return "error"
	}
}
