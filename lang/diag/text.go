package diag

import (
	"fmt"
	"io"
	"strconv"
	"strings"
)

// TextOptions say how a report is rendered as text.
type TextOptions struct {
	// Color adds ANSI colours; carets are there without them.
	Color bool
	// Width is the number of columns to stay within, where there is a space to
	// break a line at; 0 breaks none, so that each text is one line.
	Width int
}

// WriteText writes the report for a person:
//
//	error[unknown_argument]: a claim block has no argument "min_idel"
//	 --> payments.hcl:96:7
//	   |
//	96 |       min_idel = "30s"
//	   |       ^^^^^^^^
//	   Did you mean "min_idle"?
//
// then a line that counts what was found.
func (r *Report) WriteText(w io.Writer, o TextOptions) error {
	shown, more := r.Shown()
	t := &textWriter{report: r, color: o.Color, width: o.Width}
	for i, d := range shown {
		if i > 0 {
			t.b.WriteByte('\n')
		}
		t.diagnostic(d)
	}
	if len(shown) > 0 {
		t.b.WriteByte('\n')
		t.b.WriteString(r.Tally())
		if more > 0 {
			fmt.Fprintf(&t.b, "; %d not shown", more)
		}
		t.b.WriteByte('\n')
	}
	_, err := io.WriteString(w, t.b.String())
	return err
}

// Tally counts the problems by severity: "2 errors, 1 warning". It is empty
// when there are none.
func (r *Report) Tally() string {
	var parts []string
	for _, s := range []Severity{Error, Warning, Notice} {
		switch n := r.Count(s); n {
		case 0:
		case 1:
			parts = append(parts, "1 "+s.String())
		default:
			parts = append(parts, strconv.Itoa(n)+" "+s.String()+"s")
		}
	}
	return strings.Join(parts, ", ")
}

// textWriter renders diagnostics one after the other.
type textWriter struct {
	report *Report
	color  bool
	width  int
	b      strings.Builder
}

// The colours.
const (
	bold   = "\x1b[1m"
	red    = "\x1b[1;31m"
	yellow = "\x1b[1;33m"
	blue   = "\x1b[1;34m"
	reset  = "\x1b[0m"
)

func (t *textWriter) paint(color, text string) string {
	if !t.color {
		return text
	}
	return color + text + reset
}

func severityColor(s Severity) string {
	switch s {
	case Error:
		return red
	case Warning:
		return yellow
	default:
		return blue
	}
}

func (t *textWriter) diagnostic(d Diagnostic) {
	color := severityColor(d.Severity)
	head := t.paint(color, fmt.Sprintf("%s[%s]", d.Severity, d.Code))
	fmt.Fprintf(&t.b, "%s: %s\n", head, t.paint(bold, printable(d.Summary)))
	gutter := t.gutter(d)
	t.snippet(d.Range, gutter, color)
	for _, v := range d.Values {
		fmt.Fprintf(&t.b, "%*s = %s is %s\n", gutter, "", printable(v.Name), printable(v.Value))
	}
	for _, rel := range d.Related {
		fmt.Fprintf(&t.b, "%*s %s\n", gutter, "", printable(rel.Text)+":")
		t.snippet(rel.Range, gutter, blue)
	}
	if d.Detail != "" {
		for line := range strings.Lines(d.Detail) {
			for _, part := range fold(printable(strings.TrimRight(line, "\n")), t.width-gutter-1) {
				fmt.Fprintf(&t.b, "%*s %s\n", gutter, "", part)
			}
		}
	}
	if d.Suggestion != "" {
		fmt.Fprintf(&t.b, "%*s Did you mean %s?\n", gutter, "", t.paint(bold, quoted(printable(d.Suggestion))))
	}
}

// leastWidth is the narrowest column that text is folded to.
const leastWidth = 30

// fold breaks a text at spaces into lines of a width; none for a width of 0 or
// less.
func fold(text string, width int) []string {
	if width <= 0 {
		return []string{text}
	}
	width = max(width, leastWidth)
	var lines []string
	for columns(text) > width {
		cut := strings.LastIndexByte(takeColumns(text, width+1), ' ')
		if cut <= 0 {
			if cut = strings.IndexByte(text[1:], ' ') + 1; cut <= 0 {
				break
			}
		}
		lines = append(lines, text[:cut])
		text = text[cut+1:]
	}
	return append(lines, text)
}

// quoted puts a suggestion in quotes, unless it is itself written with some.
func quoted(s string) string {
	if strings.Contains(s, `"`) {
		return s
	}
	return `"` + s + `"`
}

// gutter is the width of the line numbers of a diagnostic.
func (t *textWriter) gutter(d Diagnostic) int {
	line := d.Range.Start.Line
	for _, rel := range d.Related {
		line = max(line, rel.Range.Start.Line)
	}
	return len(strconv.Itoa(max(1, line)))
}

// snippet writes the place and, when its file is known, the line with carets.
func (t *textWriter) snippet(rng Range, gutter int, color string) {
	if rng.File == "" {
		return
	}
	if rng.Start.Line == 0 {
		fmt.Fprintf(&t.b, "%*s%s %s\n", gutter, "", t.paint(blue, "-->"), printable(rng.File))
		return
	}
	fmt.Fprintf(&t.b, "%*s%s %s:%d:%d\n", gutter, "", t.paint(blue, "-->"), printable(rng.File), rng.Start.Line, rng.Start.Column)
	src := t.report.sources[rng.File]
	if src == nil {
		return
	}
	most := maxExcerpt
	if t.width > 0 {
		most = min(maxExcerpt, max(minExcerpt, t.width-gutter-len(" | ")-1))
	}
	text, carets := src.excerpt(rng, t.report, most)
	bar := t.paint(blue, "|")
	fmt.Fprintf(&t.b, "%*s %s\n", gutter, "", bar)
	fmt.Fprintf(&t.b, "%s %s %s\n", t.paint(blue, fmt.Sprintf("%*d", gutter, rng.Start.Line)), bar, text)
	fmt.Fprintf(&t.b, "%*s %s %s\n", gutter, "", bar, strings.Repeat(" ", carets.before)+t.paint(color, strings.Repeat("^", carets.width)))
}

// printable replaces what would move the cursor or change the terminal.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == '\t' {
			return ' '
		}
		if r < 0x20 || r >= 0x7f && r < 0xa0 || isBidi(r) {
			return '\uFFFD'
		}
		return r
	}, s)
}

// isBidi reports characters that reorder the text around them.
func isBidi(r rune) bool {
	return r >= 0x202a && r <= 0x202e || r >= 0x2066 && r <= 0x2069
}
