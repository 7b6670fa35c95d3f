package lang

import (
	"bytes"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// Edits that close what is open. They are given only where the form of the
// file leaves one place for what is missing.

// closeBlock adds the brace of a block before the statement that lies outside
// of it, or at the end of the file.
func (s *statements) closeBlock(d *diag.Diagnostic, b *openBlock, outside int) {
	indent := strings.Repeat(" ", b.indent)
	if outside < 0 {
		end := len(s.text)
		text := indent + "}\n"
		if end > 0 && s.text[end-1] != '\n' {
			text = "\n" + text
		}
		d.Edit(s.f.src.Range(end, end), text)
		return
	}
	at := bytes.LastIndexByte(s.text[:from(s.tokens[outside])], '\n') + 1
	d.Edit(s.f.src.Range(at, at), indent+"}\n")
}

// closeBracket adds the bracket that closes one: in place of another one on
// its line, or behind the last token before where it shows.
func (s *statements) closeBracket(d *diag.Diagnostic, open int, closer string) {
	if isCloser(s.kind(s.i)) && s.line(s.i) == s.line(open) {
		d.Edit(s.span(s.i, s.i), closer)
		return
	}
	last := s.i - 1
	for last > open && (s.kind(last) == hclsyntax.TokenNewline || s.kind(last) == hclsyntax.TokenComment) {
		last--
	}
	at := to(s.tokens[last])
	d.Edit(s.f.src.Range(at, at), closer)
}

// closeString adds the quote of a string that takes the rest of its line.
func (r *repairer) closeString(d *diag.Diagnostic, quote int) {
	start := from(r.tokens[quote])
	line, _, _ := bytes.Cut(r.f.src.Text[start+1:], []byte("\n"))
	text := strings.TrimRight(string(line), " \t\r,;")
	if text == "" || strings.ContainsAny(text, "\"\\#{}") || strings.Contains(text, "//") && !strings.Contains(text, "://") {
		return
	}
	d.Edit(r.f.src.Range(start, start+1+len(text)), `"`+text+`"`)
}

// curlyEnd reports a string that begins with a straight quote and ends with a
// curly one: the straight ones of its line do not pair, with the curly one they
// do.
func (r *repairer) curlyEnd(quote int) bool {
	text := r.f.src.Text
	start := bytes.LastIndexByte(text[:from(r.tokens[quote])], '\n') + 1
	line, _, _ := bytes.Cut(text[start:], []byte("\n"))
	if bytes.Count(line, []byte(`"`))%2 == 0 || bytes.Count(line, []byte("“"))+bytes.Count(line, []byte("”")) != 1 {
		return false
	}
	start += bytes.IndexAny(line, "“”")
	at := r.f.src.Range(start, start+len("”"))
	r.l.fail(diag.WrongQuotes, at, "a curly quote ends no string", "Strings stand between straight double quotes.").Suggest(`"`).Edit(at, `"`)
	return true
}

// openString reports a string whose opening quote is missing: word". The quote
// that is there opens one that ends nowhere.
func (r *repairer) openString(quote int) bool {
	start := from(r.tokens[quote])
	line, _, _ := bytes.Cut(r.f.src.Text[start+1:], []byte("\n"))
	if len(bytes.TrimRight(line, " \t\r,;")) > 0 {
		return false
	}
	first := quote
	for first > 0 && to(r.tokens[first-1]) == from(r.tokens[first]) && r.kind(first-1) != hclsyntax.TokenEqual && r.kind(first-1) != hclsyntax.TokenNewline {
		first--
	}
	if first == quote {
		return false
	}
	at := r.f.src.Range(from(r.tokens[first]), start+1)
	text := string(r.f.src.Text[at.Start.Byte:start])
	if strings.ContainsAny(text, "\"\\") {
		return false
	}
	r.l.fail(diag.UnclosedString, at, "this string has no opening quote", "Add it.").Edit(at, `"`+text+`"`)
	return true
}

// closeInterpolation adds the brace of a ${ before the last quote of its line.
func (r *repairer) closeInterpolation(d *diag.Diagnostic, inner int) {
	start := from(r.tokens[inner])
	line, _, _ := bytes.Cut(r.f.src.Text[start:], []byte("\n"))
	end := bytes.LastIndexByte(line, '"')
	if end < 0 || bytes.IndexByte(line[:end], '"') >= 0 || bytes.IndexByte(line, '}') >= 0 {
		return
	}
	d.Edit(r.f.src.Range(start+end, start+end), "}")
}

// breakUp adds the line breaks that a block on one line needs.
func (s *statements) breakUp(d *diag.Diagnostic, b *openBlock) {
	var starts []int
	end := b.brace + 1
	for depth := 0; s.kind(end) != hclsyntax.TokenNewline && s.kind(end) != hclsyntax.TokenEOF; end++ {
		kind := s.kind(end)
		if depth == 0 && kind == hclsyntax.TokenCBrace {
			break
		}
		if _, opens := closers[kind]; opens {
			depth++
		} else if isCloser(kind) {
			depth--
		}
		if depth == 0 && kind == hclsyntax.TokenIdent && s.kind(end+1) == hclsyntax.TokenEqual {
			starts = append(starts, end)
		}
	}
	if s.kind(end) != hclsyntax.TokenCBrace || len(starts) < 2 {
		return
	}
	indent := strings.Repeat(" ", s.indent(b.name))
	for _, at := range starts {
		d.Edit(s.gap(at), "\n"+indent+"  ")
	}
	d.Edit(s.gap(end), "\n"+indent)
}
