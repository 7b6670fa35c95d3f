package format

import (
	"bytes"

	"github.com/apparentlymart/go-textseg/v15/textseg"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang"
)

const (
	// level is how far a level is indented, in columns.
	level = 2
	// maxAligned is the widest text that others are aligned with, in columns. A
	// single long name would push its neighbours out of sight, and a hostile one
	// would multiply the size of the file.
	maxAligned = 120
)

// layOut lays out a text; false when the result would be larger than a pipeline
// file may be.
func layOut(text []byte, tokens hclsyntax.Tokens, s spacing) ([]byte, bool) {
	lines := split(text, tokens)
	w := &walker{spacing: s}
	for i, l := range lines {
		l.indent = w.indent(l)
		w.render(l)
		if i > 0 {
			l.goesOn = goesOn(lines[i-1], l)
		}
	}
	return write(lines)
}

// indent is the indentation of a line: that of the line which opened what it
// closes first, or one level more than what is open.
func (w *walker) indent(l *line) int {
	switch {
	case len(w.open) == 0:
		return 0
	case len(l.pieces) > 0 && closes(l.pieces[0]):
		return w.top().indent
	}
	return w.top().indent + level
}

// render writes the pieces of a line.
func (w *walker) render(l *line) {
	sign := assignment(l.pieces)
	var b []byte
	for i, p := range l.pieces {
		switch {
		case i == sign:
			l.lead, b = b, nil
		case i > 0 && w.space(l.pieces[i-1], p):
			b = append(b, ' ')
		}
		b = append(b, p.text...)
		w.take(p, l.indent)
	}
	if sign > 0 {
		l.value = b
	} else {
		l.lead = b
	}
}

// assignment is the index of the equals sign of a line that is a whole
// argument, 0 for every other line.
func assignment(pieces []piece) int {
	sign, depth := 0, 0
	for i, p := range pieces {
		switch {
		case opens(p):
			depth++
		case closes(p):
			if depth--; depth < 0 {
				return 0
			}
		case p.kind == hclsyntax.TokenEqual && sign == 0:
			if depth != 0 {
				return 0
			}
			sign = i
		}
	}
	if depth != 0 {
		return 0
	}
	return sign
}

// goesOn reports whether a line is a comment in the column of the one that ends
// the line above. Where the line above opens a bracket, that may be chance.
func goesOn(above, l *line) bool {
	return above.comment != nil && l.comment != nil && len(l.pieces) == 0 && above.column == l.column &&
		l.indent <= above.indent && (len(above.pieces) > 0 || above.goesOn)
}

// write aligns the lines and writes them.
func write(lines []*line) ([]byte, bool) {
	var b []byte
	signs := alignSigns(lines)
	comments := alignComments(lines, signs)
	column := 0 // of the last comment behind something
	for i, l := range lines {
		text := l.body(signs[i])
		switch {
		case l.comment == nil:
		case l.goesOn:
			text = append(spaces(column), l.comment...)
		case len(l.pieces) == 0:
			text = append(spaces(l.indent), l.comment...)
		default:
			text = padded(text, comments[i])
			column = columns(lastLine(text))
			text = append(text, l.comment...)
		}
		if b = append(append(b, text...), '\n'); len(b) > lang.MaxFile {
			return nil, false
		}
	}
	return b, true
}

// alignComments is the column of the comment of every line that ends with one.
func alignComments(lines []*line, signs []int) []int {
	comments := make([]int, len(lines))
	for from := 0; from < len(lines); {
		to := chain(lines, from, func(l *line) bool { return l.comment != nil && (len(l.pieces) > 0 || l.goesOn) })
		widest := 0
		for i := from; i < to; i++ {
			widest = wider(widest, columns(lastLine(lines[i].body(signs[i]))))
		}
		for i := from; i < to; i++ {
			comments[i] = widest + 1
		}
		from = max(to, from+1)
	}
	return comments
}

// alignSigns is the column of the equals sign of every line that has one.
func alignSigns(lines []*line) []int {
	signs := make([]int, len(lines))
	for from := 0; from < len(lines); {
		to := chain(lines, from, func(l *line) bool { return l.value != nil })
		widest := 0
		for _, l := range lines[from:to] {
			widest = wider(widest, columns(lastLine(l.body(0))))
		}
		for i := from; i < to; i++ {
			signs[i] = widest + 1
		}
		from = max(to, from+1)
	}
	return signs
}

// chain is the end of the neighbouring lines of one indentation that begin at an
// index and all have something to be aligned.
func chain(lines []*line, from int, has func(*line) bool) int {
	to := from
	for to < len(lines) && has(lines[to]) && (lines[to].indent == lines[from].indent || lines[to].goesOn) {
		to++
	}
	return to
}

// wider is the larger of two widths, unless the second is too large to count.
func wider(widest, width int) int {
	if width > maxAligned {
		return widest
	}
	return max(widest, width)
}

// body is a line without its comment. The equals sign stands in a column; 0
// leaves it and the value out.
func (l *line) body(sign int) []byte {
	if len(l.pieces) == 0 {
		return nil
	}
	b := append(spaces(l.indent), l.lead...)
	if l.value == nil || sign == 0 {
		return b
	}
	return append(padded(b, sign), l.value...)
}

// padded appends spaces up to a column, at least one.
func padded(b []byte, column int) []byte {
	return append(b, spaces(max(1, column-columns(lastLine(b))))...)
}

func spaces(n int) []byte { return bytes.Repeat([]byte{' '}, n) }

// columns is how many characters a person sees in a text.
func columns(text []byte) int {
	for _, c := range text {
		if c >= 0x80 {
			n, _ := textseg.TokenCount(text, textseg.ScanGraphemeClusters) // it fails on nothing
			return n
		}
	}
	return len(text)
}
