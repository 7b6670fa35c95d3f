package view

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

// style is an ANSI attribute.
type style string

const (
	plain  style = ""
	bold   style = "\x1b[1m"
	dim    style = "\x1b[2m"
	red    style = "\x1b[31m"
	green  style = "\x1b[32m"
	yellow style = "\x1b[33m"
	blue   style = "\x1b[34m"
	cyan   style = "\x1b[36m"
	reset        = "\x1b[0m"
)

// paint colours text where colours are allowed.
type paint bool

func (p paint) append(dst []byte, s style, text string) []byte {
	if !p || s == plain || text == "" {
		return append(dst, text...)
	}
	return append(append(append(dst, s...), text...), reset...)
}

func (p paint) text(s style, text string) string {
	return string(p.append(nil, s, text))
}

// clean makes any text fit for one line of a terminal: what would move the
// cursor, ring, or reorder the text around it becomes a replacement character.
func clean(s string) string {
	if isClean(s) {
		return s
	}
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\t' || r == '\n' || r == '\r':
			return ' '
		case hostile(r):
			return utf8.RuneError
		}
		return r
	}, s)
}

func isClean(s string) bool {
	for i := range len(s) {
		if s[i] < ' ' || s[i] >= 0x7f {
			return !strings.ContainsFunc(s, hostile) && utf8.ValidString(s)
		}
	}
	return true
}

func hostile(r rune) bool {
	return unicode.IsControl(r) || r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}

// columns is how many columns of a terminal a clean text takes.
func columns(s string) int {
	n := 0
	for _, r := range s {
		n += runeColumns(r)
	}
	return n
}

func runeColumns(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	default:
		return 1
	}
}

// fit cuts a clean text to at most n columns, marking the cut.
func fit(s string, n int) string {
	if len(s) <= n || columns(s) <= n {
		return s
	}
	used := 1
	for i, r := range s {
		if used += runeColumns(r); used > n {
			return s[:i] + "…"
		}
	}
	return s
}

// pad appends s and spaces up to n columns, at least one.
func (p paint) pad(dst []byte, st style, s string, n int) []byte {
	dst = p.append(dst, st, s)
	return appendSpaces(dst, max(1, n-columns(s)))
}

func appendSpaces(dst []byte, n int) []byte {
	for range n {
		dst = append(dst, ' ')
	}
	return dst
}
