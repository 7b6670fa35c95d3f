package lang

import (
	"fmt"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// closers are the tokens that end what another opens.
var closers = map[hclsyntax.TokenType]hclsyntax.TokenType{
	hclsyntax.TokenOBrace: hclsyntax.TokenCBrace, hclsyntax.TokenOBrack: hclsyntax.TokenCBrack, hclsyntax.TokenOParen: hclsyntax.TokenCParen,
	hclsyntax.TokenOQuote: hclsyntax.TokenCQuote, hclsyntax.TokenOHeredoc: hclsyntax.TokenCHeredoc,
	hclsyntax.TokenTemplateInterp: hclsyntax.TokenTemplateSeqEnd, hclsyntax.TokenTemplateControl: hclsyntax.TokenTemplateSeqEnd,
}

// isCloser reports whether a token ends something.
func isCloser(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen, hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc, hclsyntax.TokenTemplateSeqEnd:
		return true
	}
	return false
}

// endsOperand reports whether a value can end with a token, so that a word
// behind it begins something else.
func endsOperand(t hclsyntax.TokenType) bool {
	switch t {
	case hclsyntax.TokenIdent, hclsyntax.TokenNumberLit, hclsyntax.TokenCQuote, hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace, hclsyntax.TokenCHeredoc:
		return true
	}
	return false
}

// value walks over the value of the argument called name, up to the end of its
// line or to what follows on it.
func (s *statements) value(name int) {
	var open []int
	for ; ; s.i++ {
		kind := s.kind(s.i)
		if kind == hclsyntax.TokenEOF {
			s.unclosedBracket(open)
			return
		}
		if len(open) == 0 && (s.endsValue(kind) || s.trailingComment()) {
			return
		}
		if len(open) > 0 && s.outside(name, open) {
			s.unclosedBracket(open)
			return
		}
		if _, opens := closers[kind]; opens {
			open = append(open, s.i)
		}
		if !isCloser(kind) {
			continue
		}
		if len(open) == 0 {
			s.broken = true
			s.fail(diag.UnexpectedClose, s.i, s.i, fmt.Sprintf("this %s closes nothing", s.source(s.i, s.i)), "Remove it, or add what it should close.")
			return
		}
		last := open[len(open)-1]
		if closers[s.kind(last)] != kind {
			if s.swapped(open) {
				open = open[:len(open)-2]
				continue
			}
			s.unclosedBracket(open)
			return
		}
		open = open[:len(open)-1]
	}
}

// endsValue reports whether a token outside of all brackets lies behind the
// value.
func (s *statements) endsValue(kind hclsyntax.TokenType) bool {
	switch kind {
	case hclsyntax.TokenComment:
		return !s.inlineComment(s.i)
	case hclsyntax.TokenNewline, hclsyntax.TokenCBrace, hclsyntax.TokenComma, hclsyntax.TokenSemicolon:
		return true
	case hclsyntax.TokenIdent:
		next := s.kind(s.i + 1)
		starts := next == hclsyntax.TokenEqual || next == hclsyntax.TokenOBrace || next == hclsyntax.TokenOQuote
		return starts && endsOperand(s.kind(s.i-1))
	}
	return false
}

// outside reports whether a token begins a line that, by its indentation and
// its form, is a statement behind an argument whose bracket is still open.
func (s *statements) outside(name int, open []int) bool {
	if s.kind(s.i) != hclsyntax.TokenIdent || !s.startsLine(s.i) || s.indent(s.i) > s.indent(name) {
		return false
	}
	if kind := s.kind(open[len(open)-1]); kind == hclsyntax.TokenOQuote || kind == hclsyntax.TokenOHeredoc {
		return false
	}
	next := s.kind(s.i + 1)
	return next == hclsyntax.TokenEqual || next == hclsyntax.TokenOBrace || next == hclsyntax.TokenOQuote
}

// unclosedBracket reports the innermost bracket that is open where it cannot
// be.
func (s *statements) unclosedBracket(open []int) {
	if len(open) == 0 {
		return
	}
	s.broken = true
	at := open[len(open)-1]
	closer := map[hclsyntax.TokenType]string{hclsyntax.TokenOBrace: "}", hclsyntax.TokenOBrack: "]", hclsyntax.TokenOParen: ")"}[s.kind(at)]
	if closer == "" {
		s.unclosedText(at)
		return
	}
	d := s.fail(diag.UnclosedBracket, at, at, fmt.Sprintf("this %s is never closed", s.source(at, at)), fmt.Sprintf("Add the %s that closes it.", closer))
	if s.kind(s.i) != hclsyntax.TokenEOF {
		d.Relate(s.span(s.i, s.i), "here it is still open")
		s.closeBracket(d, at, closer)
	}
}

// unclosedText reports a template that is open at the end of the file.
func (s *statements) unclosedText(at int) {
	if s.kind(at) != hclsyntax.TokenOHeredoc {
		s.fail(diag.UnclosedString, at, at, "this text is never closed", "Add what closes it.")
		return
	}
	start := from(s.tokens[at])
	word := strings.TrimSpace(strings.TrimLeft(s.source(at, at), "<-"))
	rng := s.f.src.Range(start, start+len(strings.TrimSpace(s.source(at, at))))
	s.l.fail(diag.UnclosedString, rng, "this text is never closed", fmt.Sprintf("It ends with a line that holds nothing but %s.", word))
}
