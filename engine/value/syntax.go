package value

import (
	"fmt"
	"strconv"
	"strings"
	"unicode/utf8"
)

// SyntaxError says why bytes are no JSON that ParseJSON accepts.
type SyntaxError struct {
	// Offset is where the problem is, in bytes from the start.
	Offset int
	// Line and Column are the same place for people, both from 1; columns
	// count characters.
	Line, Column int
	// Expected and Found complete "expected …, found …".
	Expected, Found string
}

// Error is one line, whatever the input.
func (e *SyntaxError) Error() string {
	return fmt.Sprintf("json line %d column %d: expected %s, found %s", e.Line, e.Column, e.Expected, e.Found)
}

// fail records a problem at offset and returns false.
func (p *parser) fail(offset int, expected string) bool {
	return p.failFound(offset, expected, describe(p.src[offset:]))
}

func (p *parser) failFound(offset int, expected, found string) bool {
	before := p.src[:offset]
	line := strings.LastIndexByte(before, '\n') + 1
	p.err = &SyntaxError{
		Offset:   offset,
		Line:     1 + strings.Count(before, "\n"),
		Column:   1 + utf8.RuneCountInString(before[line:]),
		Expected: expected,
		Found:    found,
	}
	return false
}

// describe names what s begins with: one character and no more, because
// messages are logged and what is parsed is not for logs. Words that other
// languages write where JSON has none are told in full.
func describe(s string) string {
	if s == "" {
		return "the end of the input"
	}
	for _, word := range foreignWords {
		if strings.HasPrefix(s, word) {
			return word
		}
	}
	r, size := utf8.DecodeRuneInString(s)
	if r == utf8.RuneError && size == 1 {
		return fmt.Sprintf("the byte 0x%02X, which is not UTF-8", s[0])
	}
	return strconv.QuoteRune(r)
}

var foreignWords = []string{"NaN", "Infinity", "undefined", "None", "True", "False", "NULL", "nil"}

// invalidUTF8 is the offset of the first byte of s that is not UTF-8.
func invalidUTF8(s string) int {
	for i := 0; i < len(s); {
		r, size := utf8.DecodeRuneInString(s[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return len(s)
}
