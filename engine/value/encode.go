package value

import (
	"fmt"
	"slices"
	"strconv"
	"unicode/utf8"
)

// EncodeError says why a value cannot be written as JSON.
type EncodeError struct {
	// Path is where in the value the problem is; "" is the value itself.
	Path string
	// Problem completes "PATH …".
	Problem string
}

// Error is one line, whatever the value.
func (e *EncodeError) Error() string {
	if e.Path == "" {
		return "the value " + e.Problem
	}
	return e.Path + " " + e.Problem
}

// AppendJSON appends v as compact JSON: members in the byte order of their
// names, numbers digit for digit, only what RFC 8259 demands escaped. Equal
// trees give equal bytes. A string or name that is not UTF-8, a number that is
// none, a name that occurs twice and nesting beyond MaxDepth are refused with
// an *EncodeError; dst is then returned as it was.
func AppendJSON(dst []byte, v *Value) ([]byte, error) {
	if v.written() {
		return appendWritten(slices.Grow(dst, len(v.text)), v), nil
	}
	out, err := appendValue(dst, v, 0)
	if err != nil {
		return dst, err
	}
	return out, nil
}

func appendValue(dst []byte, v *Value, depth int) ([]byte, *EncodeError) {
	switch v.kind {
	case Null:
		return append(dst, "null"...), nil
	case Bool:
		return append(dst, v.text...), nil
	case Number:
		if !ValidNumber(v.text) {
			return dst, &EncodeError{Problem: "is not a JSON number: " + Quote(v.text)}
		}
		return append(dst, v.text...), nil
	case String:
		return appendText(dst, v.text)
	}
	if depth == MaxDepth {
		return dst, &EncodeError{Problem: fmt.Sprintf("is nested more than %d levels deep", MaxDepth)}
	}
	if v.kind == Array {
		return appendArray(dst, v.kids(), depth+1)
	}
	return appendObject(dst, v.kids(), depth+1)
}

func appendArray(dst []byte, items []Value, depth int) ([]byte, *EncodeError) {
	dst = append(dst, '[')
	for i := range items {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err *EncodeError
		if dst, err = appendValue(dst, &items[i], depth); err != nil {
			err.Path = IndexPath(i, err.Path)
			return dst, err
		}
	}
	return append(dst, ']'), nil
}

func appendObject(dst []byte, members []Value, depth int) ([]byte, *EncodeError) {
	if !inOrder(members) {
		return appendUnordered(dst, members, depth)
	}
	dst = append(dst, '{')
	for i := range members {
		if i > 0 {
			dst = append(dst, ',')
		}
		var err *EncodeError
		if dst, err = appendMember(dst, &members[i], depth); err != nil {
			return dst, err
		}
	}
	return append(dst, '}'), nil
}

func appendUnordered(dst []byte, members []Value, depth int) ([]byte, *EncodeError) {
	var buf [smallOrder]int
	dst = append(dst, '{')
	previous := -1
	for _, i := range order(members, buf[:]) {
		if previous >= 0 {
			if members[previous].name == members[i].name {
				return dst, &EncodeError{Path: MemberPath(members[i].name, ""), Problem: "occurs twice in its object"}
			}
			dst = append(dst, ',')
		}
		var err *EncodeError
		if dst, err = appendMember(dst, &members[i], depth); err != nil {
			return dst, err
		}
		previous = i
	}
	return append(dst, '}'), nil
}

func appendMember(dst []byte, v *Value, depth int) ([]byte, *EncodeError) {
	dst, err := appendText(dst, v.name)
	if err == nil {
		dst, err = appendValue(append(dst, ':'), v, depth)
	} else {
		err.Problem = "has a name that is not UTF-8"
	}
	if err != nil {
		err.Path = MemberPath(v.name, err.Path)
	}
	return dst, err
}

// AppendText appends s as a JSON string, as AppendJSON writes it. It reports false, and
// returns dst as it was, when s is not UTF-8.
func AppendText(dst []byte, s string) ([]byte, bool) {
	out, err := appendText(dst, s)
	if err != nil {
		return dst, false
	}
	return out, true
}

// appendText appends s as a JSON string.
func appendText(dst []byte, s string) ([]byte, *EncodeError) {
	dst = append(dst, '"')
	if verbatim(s) {
		return append(append(dst, s...), '"'), nil
	}
	n := plainLen(s, 0)
	if !utf8.ValidString(s) {
		return dst, &EncodeError{Problem: "is not UTF-8: byte " + strconv.Itoa(invalidUTF8(s)) + " of the text; a stream with codec \"bytes\" carries any bytes"}
	}
	if n == len(s) {
		return append(append(dst, s...), '"'), nil
	}
	for {
		dst = append(dst, s[:n]...)
		if s = s[n:]; s == "" {
			return append(dst, '"'), nil
		}
		dst = appendEscape(dst, s[0])
		s = s[1:]
		n = plainLen(s, 0)
	}
}

func appendEscape(dst []byte, c byte) []byte {
	const hex = "0123456789abcdef"
	switch c {
	case '"', '\\':
		return append(dst, '\\', c)
	case '\b':
		return append(dst, `\b`...)
	case '\f':
		return append(dst, `\f`...)
	case '\n':
		return append(dst, `\n`...)
	case '\r':
		return append(dst, `\r`...)
	case '\t':
		return append(dst, `\t`...)
	}
	return append(dst, '\\', 'u', '0', '0', hex[c>>4], hex[c&15])
}
