package lang

import (
	"bytes"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// repairer reports mistakes of writing that hcl's parser misunderstands, and
// mends a copy of the text so that parsing can go on behind them. A repair
// never changes the length of the text: offsets into the copy are offsets into
// the file.
type repairer struct {
	l      *loader
	f      *file
	text   []byte
	tokens hclsyntax.Tokens
	// dirty: the text was changed since its tokens were read.
	dirty bool
	// broken: what is left cannot be parsed sensibly.
	broken bool
}

// repair mends what it can; ok is false when parsing makes no sense.
func (l *loader) repair(f *file, tokens hclsyntax.Tokens) (text []byte, ok bool) {
	r := &repairer{l: l, f: f, text: bytes.Clone(f.src.Text), tokens: tokens}
	for _, pass := range []func(){r.byteOrderMark, r.leftovers, r.characters, r.otherLanguage, r.shellDefaults, r.benthosPaths, r.tripleQuotes, r.quotes, r.strings, r.numbers, r.units, r.operators, r.statements} {
		pass()
		if r.broken {
			return nil, false
		}
	}
	return r.text, true
}

// mended lexes the text again after a pass has changed it, and checks it
// again: a repair could turn text into code.
func (r *repairer) mended() {
	r.dirty = false
	r.tokens = lex(r.text, r.f.name)
	if !r.l.guard(r.f.src, r.tokens) {
		r.broken = true
	}
}

// from and to are the offsets of a token.
func from(t hclsyntax.Token) int { return t.Range.Start.Byte }
func to(t hclsyntax.Token) int   { return t.Range.End.Byte }

// fail reports a problem between two tokens, inclusive.
func (r *repairer) fail(code diag.Code, first, last int, summary, detail string) *diag.Diagnostic {
	return r.l.fail(code, r.span(first, last), summary, detail)
}

// span is the range from one token to another, inclusive.
func (r *repairer) span(first, last int) diag.Range {
	return r.f.src.Range(from(r.tokens[first]), to(r.tokens[last]))
}

// source is the text of the file from one token to another, inclusive.
func (r *repairer) source(first, last int) string {
	return string(r.f.src.Text[from(r.tokens[first]):to(r.tokens[last])])
}

// put writes over the text at an offset.
func (r *repairer) put(offset int, s string) {
	r.dirty = true
	copy(r.text[offset:], s)
}

// blank writes spaces over a piece of the text.
func (r *repairer) blank(start, end int) {
	r.dirty = true
	for i := start; i < end; i++ {
		r.text[i] = ' '
	}
}

// breakLine puts a line break into the white space before a token; false when
// there is none.
func (r *repairer) breakLine(token int) bool {
	at := from(r.tokens[token]) - 1
	if at < 0 || r.text[at] != ' ' && r.text[at] != '\t' && r.text[at] != ',' && r.text[at] != ';' {
		return false
	}
	r.text[at] = '\n'
	return true
}

// poison marks a piece whose repaired value is not what is meant.
func (r *repairer) poison(start, end int) { r.f.poison = append(r.f.poison, span{start, end}) }

// line is the line a token starts on.
func (r *repairer) line(token int) int { return r.tokens[token].Range.Start.Line }

// kind is the type of a token; beyond the last one it is the end of the file.
func (r *repairer) kind(token int) hclsyntax.TokenType {
	if token >= len(r.tokens) {
		return hclsyntax.TokenEOF
	}
	return r.tokens[token].Type
}
