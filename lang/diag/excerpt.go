package diag

import (
	"bytes"
	"strings"
	"unicode"
	"unicode/utf8"

	"golang.org/x/text/width"
)

const (
	// tabStop is how a tab is shown: spaces up to the next multiple, so that
	// carets stand right whatever the terminal's tabs are.
	tabStop = 4
	// maxExcerpt is how many columns of a line are shown, and minExcerpt how many
	// on the narrowest terminal.
	maxExcerpt, minExcerpt = 160, 20
)

// caretPlace is where carets stand, in columns of the screen.
type caretPlace struct{ before, width int }

// excerpt is the first line of rng as it is shown, and where its carets go.
// Hidden spans and secrets become asterisks. Of a long line no more than most
// columns are shown.
func (s *Source) excerpt(rng Range, r *Report, most int) (string, caretPlace) {
	start := s.lines[min(rng.Start.Line, len(s.lines))-1]
	line := hide(r.mask(s.line(rng.Start.Line)), start, r.hidden[rng.File])
	from := min(rng.Start.Byte-start, len(line))
	to := len(line)
	if rng.End.Line == rng.Start.Line {
		to = min(rng.End.Byte-start, len(line))
	}
	before := show(line[:from], 0)
	marked := show(line[from:to], columns(before))
	after := show(line[to:], columns(before)+columns(marked))
	if to == from && to < len(line) {
		marked, after = "", show(line[from:], columns(before))
	}
	return window(before, marked, after, most)
}

// window cuts a long line down to the columns around the marked part.
func window(before, marked, after string, most int) (string, caretPlace) {
	place := caretPlace{columns(before), max(1, columns(marked))}
	if place.before+place.width+columns(after) <= most {
		return strings.TrimRight(before+marked+after, " "), place
	}
	if cut := place.before - most/4; cut > 0 {
		before = "…" + dropColumns(before, cut)
		place.before = columns(before)
	}
	place.width = min(place.width, max(1, most-place.before))
	text := takeColumns(before+marked+after, most)
	return text + "…", place
}

// hide returns the line with the hidden bytes as asterisks, of the same length.
func hide(line []byte, offset int, hidden []span) []byte {
	if len(hidden) == 0 {
		return line
	}
	line = bytes.Clone(line)
	for _, h := range hidden {
		for i := max(0, h.start-offset); i < min(h.end-offset, len(line)); i++ {
			line[i] = '*'
		}
	}
	return line
}

// show renders bytes that begin at a screen column: tabs as spaces, control
// characters and broken UTF-8 as a replacement of one column.
func show(text []byte, column int) string {
	var b strings.Builder
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		text = text[n:]
		if r == '\t' {
			n := tabStop - column%tabStop
			b.WriteString(strings.Repeat(" ", n))
			column += n
			continue
		}
		if unicode.IsControl(r) || isBidi(r) {
			r = utf8.RuneError
		}
		b.WriteRune(r)
		column += runeColumns(r)
	}
	return b.String()
}

// columns is how many columns of a terminal a text takes.
func columns(s string) int {
	n := 0
	joined := false
	for _, r := range s {
		if !joined {
			n += runeColumns(r)
		}
		joined = r == 0x200d
	}
	return n
}

// runeColumns is the width of one rune: none for marks that combine, two for
// wide East Asian characters and emoji.
func runeColumns(r rune) int {
	if r < 0x300 {
		return 1
	}
	if unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf) || r >= 0x1f3fb && r <= 0x1f3ff {
		return 0
	}
	switch width.LookupRune(r).Kind() {
	case width.EastAsianWide, width.EastAsianFullwidth:
		return 2
	}
	return 1
}

// dropColumns is s without its first n columns.
func dropColumns(s string, n int) string {
	for i, r := range s {
		if n <= 0 {
			return s[i:]
		}
		n -= runeColumns(r)
	}
	return ""
}

// takeColumns is the first n columns of s.
func takeColumns(s string, n int) string {
	for i, r := range s {
		n -= runeColumns(r)
		if n < 0 {
			return s[:i]
		}
	}
	return s
}
