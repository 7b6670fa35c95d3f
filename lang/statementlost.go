package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// What stands between statements and is none: signs of a difference, words
// behind a brace, a brace that closes too early.

// differenceSign reports a + or - in front of a statement.
func (s *statements) differenceSign() bool {
	kind := s.kind(s.i + 1)
	if !s.startsLine(s.i) || kind != hclsyntax.TokenIdent && kind != hclsyntax.TokenCBrace || s.line(s.i+1) != s.line(s.i) {
		return false
	}
	sign, what := s.source(s.i, s.i), "Remove the sign"
	if sign == "-" {
		what += ", or the whole line"
	}
	d := s.fail(diag.Syntax, s.i, s.i, fmt.Sprintf("%s begins no line", sign), what+": a difference has it, a file has not.")
	d.Edit(d.Range, "")
	s.blank(from(s.tokens[s.i]), to(s.tokens[s.i]))
	s.changed = true
	s.i++
	return true
}

// strayWord reports a word that stands alone behind a brace.
func (s *statements) strayWord() bool {
	next := s.kind(s.i + 1)
	if s.i == 0 || s.kind(s.i-1) != hclsyntax.TokenCBrace || s.line(s.i-1) != s.line(s.i) ||
		next != hclsyntax.TokenNewline && next != hclsyntax.TokenEOF && next != hclsyntax.TokenComment {
		return false
	}
	word := s.source(s.i, s.i)
	d := s.fail(diag.Syntax, s.i, s.i, fmt.Sprintf("%s stands behind a closing brace", word), "Remove it, or begin a line with it.")
	d.Edit(s.gapAndWord(), "")
	s.blank(from(s.tokens[s.i]), to(s.tokens[s.i]))
	s.changed = true
	s.i++
	return true
}

// gapAndWord is the token with the white space before it.
func (s *statements) gapAndWord() diag.Range {
	return s.f.src.Range(s.gap(s.i).Start.Byte, to(s.tokens[s.i]))
}

// commaOfJSON takes the comma away that ends a line of "name": value.
func (s *statements) commaOfJSON(d *diag.Diagnostic, value int) {
	at := value
	for s.kind(at) != hclsyntax.TokenNewline && s.kind(at) != hclsyntax.TokenEOF {
		at++
	}
	if at--; at > value && s.kind(at) == hclsyntax.TokenComma {
		d.Edit(s.span(at, at), "")
		s.blank(from(s.tokens[at]), to(s.tokens[at]))
		s.needless = at
	}
}

// noteOutside remembers the brace before the first statement of the top level
// that is indented and belongs into a block: it closed too early.
func (s *statements) noteOutside() {
	if len(s.open) > 0 || s.tooEarly >= 0 || s.lastClose < 0 || !s.startsLine(s.i) || s.indent(s.i) == 0 {
		return
	}
	word := s.source(s.i, s.i)
	if s.l.schema().Block(word, "") == nil && (s.l.isBlock(word) || s.l.isArgument(word)) && s.indent(s.lastClose) < s.indent(s.i) {
		s.tooEarly, s.lost = s.lastClose, s.i
	}
}

// closedTooEarly reports the brace that noteOutside remembers, where another
// one closes nothing.
func (s *statements) closedTooEarly() bool {
	if s.tooEarly < 0 {
		return false
	}
	d := s.fail(diag.UnexpectedClose, s.tooEarly, s.tooEarly, "this brace closes its block too early", "By its indentation, what follows belongs into the block. Remove the brace.")
	d.Relate(s.span(s.lost, s.lost), "this lies outside of it")
	d.Relate(s.span(s.i, s.i), "and this brace closes nothing")
	if s.startsLine(s.tooEarly) && s.kind(s.tooEarly+1) == hclsyntax.TokenNewline {
		d.Edit(d.Range, "")
	}
	return true
}

// proseWords is how many bare words in a row are a sentence: no block has as many
// labels.
const proseWords = 4

// prose reports a line of words, which ends at a token: a comment without its
// sign.
func (s *statements) prose(name, end int) bool {
	words := 0
	for words < proseWords && s.kind(name+words) == hclsyntax.TokenIdent {
		words++
	}
	if words < proseWords || !s.startsLine(name) {
		return false
	}
	for ; s.kind(end) != hclsyntax.TokenNewline && s.kind(end) != hclsyntax.TokenEOF; end++ {
		switch s.kind(end) {
		case hclsyntax.TokenOBrace, hclsyntax.TokenEqual, hclsyntax.TokenOQuote:
			return false
		}
	}
	at := from(s.tokens[name])
	d := s.fail(diag.Syntax, name, end-1, "this line is neither an argument nor a block", "A comment begins with #.")
	d.Suggest("#").Edit(s.f.src.Range(at, at), "# ")
	s.clear(at, from(s.tokens[end]))
	s.changed = true
	s.i = end
	return true
}

// bracelessBlock reports a block with a label and without its opening brace:
// deeper lines follow.
func (s *statements) bracelessBlock(name, end int) bool {
	word := s.source(name, name)
	below := s.firstToken(end)
	switch s.kind(below) {
	case hclsyntax.TokenIdent:
		if s.indent(below) <= s.indent(name) {
			return false
		}
	case hclsyntax.TokenCBrace:
	default:
		return false
	}
	if s.line(below) == s.line(name) || !s.l.isBlock(word) {
		return false
	}
	s.broken = true
	header := strings.TrimSpace(s.source(name, end-1))
	at := to(s.tokens[end-1])
	s.fail(diag.Syntax, name, end-1, fmt.Sprintf("this %s block has no opening brace", word), fmt.Sprintf("Write %s {.", header)).
		Edit(s.f.src.Range(at, at), " {")
	return true
}

// swapped reports two closing brackets in the wrong order, and takes them as
// meant.
func (s *statements) swapped(open []int) bool {
	if len(open) < 2 || closers[s.kind(open[len(open)-2])] != s.kind(s.i) || closers[s.kind(open[len(open)-1])] != s.kind(s.i+1) ||
		to(s.tokens[s.i]) != from(s.tokens[s.i+1]) || to(s.tokens[s.i])-from(s.tokens[s.i]) != 1 {
		return false
	}
	written := s.source(s.i, s.i+1)
	meant := written[1:] + written[:1]
	d := s.fail(diag.UnexpectedClose, s.i, s.i+1, fmt.Sprintf("%s closes in the wrong order", written), "What was opened last is closed first.")
	d.Suggest(meant).Edit(d.Range, meant)
	s.put(from(s.tokens[s.i]), meant)
	s.changed = true
	s.i++
	return true
}
