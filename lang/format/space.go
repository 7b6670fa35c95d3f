package format

import (
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// spacing is how white space within a line is chosen.
type spacing bool

const (
	// canonical goes by the rules alone.
	canonical spacing = false
	// cautious never puts together what white space keeps apart: "1 .5" are two
	// tokens, "1.5" is one.
	cautious spacing = true
)

// bracket is an open bracket.
type bracket struct {
	// indent is that of the line it was opened on.
	indent int
	// begun: something stands in it. loop: that began with the word for.
	begun, loop bool
}

// walker goes over the pieces of a file in order and knows what is open.
type walker struct {
	spacing spacing
	open    []bracket
	// before are the last two pieces that are no comments, the last one first.
	before [2]piece
	// word: the last one is for, in or if; minus: it is a sign.
	word, minus bool
}

// top is the innermost open bracket; the zero value outside of all.
func (w *walker) top() bracket {
	if n := len(w.open); n > 0 {
		return w.open[n-1]
	}
	return bracket{}
}

// take notes a piece of a line with an indentation.
func (w *walker) take(p piece, indent int) {
	if p.kind == hclsyntax.TokenComment {
		return
	}
	word, minus := w.isWord(p), p.kind == hclsyntax.TokenMinus && !w.afterOperand()
	if n := len(w.open); n > 0 && !w.open[n-1].begun {
		w.open[n-1].begun, w.open[n-1].loop = true, string(p.text) == "for"
		word = word || w.open[n-1].loop
	}
	switch {
	case opens(p):
		w.open = append(w.open, bracket{indent: indent})
	case closes(p) && len(w.open) > 0:
		w.open = w.open[:len(w.open)-1]
	}
	w.before = [2]piece{p, w.before[0]}
	w.word, w.minus = word, minus
}

// isWord reports whether a piece is one of the words of a for expression.
func (w *walker) isWord(p piece) bool {
	return w.top().loop && p.kind == hclsyntax.TokenIdent && w.before[0].kind != hclsyntax.TokenDot &&
		slices.Contains([]string{"for", "in", "if"}, string(p.text))
}

// afterOperand reports whether the pieces before are the end of an operand, so
// that a minus subtracts.
func (w *walker) afterOperand() bool {
	switch last := w.before[0]; last.kind {
	case hclsyntax.TokenIdent:
		return !w.word
	case hclsyntax.TokenNumberLit, hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc,
		hclsyntax.TokenCParen, hclsyntax.TokenCBrack, hclsyntax.TokenCBrace:
		return true
	case hclsyntax.TokenStar: // a splat: name.*
		return w.before[1].kind == hclsyntax.TokenDot
	}
	return false
}

// space reports whether white space belongs between two neighbours of a line.
func (w *walker) space(left, right piece) bool {
	return w.wants(left, right) || w.spacing == cautious && right.spaced
}

func (w *walker) wants(left, right piece) bool {
	switch {
	case left.is(hclsyntax.TokenDot, hclsyntax.TokenDoubleColon) || right.is(hclsyntax.TokenDot, hclsyntax.TokenDoubleColon):
		return false
	case right.is(hclsyntax.TokenComma, hclsyntax.TokenEllipsis):
		return false
	case left.is(hclsyntax.TokenOBrace) && right.is(hclsyntax.TokenCBrace):
		return false
	case left.is(hclsyntax.TokenOParen, hclsyntax.TokenOBrack) || right.is(hclsyntax.TokenCParen, hclsyntax.TokenCBrack):
		return false
	case left.is(hclsyntax.TokenBang):
		return false
	case left.is(hclsyntax.TokenMinus):
		return !w.minus
	case right.is(hclsyntax.TokenOParen):
		return !left.is(hclsyntax.TokenIdent) || w.word
	case right.is(hclsyntax.TokenOBrack):
		return left.is(hclsyntax.TokenComment) || !w.afterOperand()
	}
	return true
}

// opens reports whether a piece opens a bracket.
func opens(p piece) bool {
	return p.is(hclsyntax.TokenOBrace, hclsyntax.TokenOBrack, hclsyntax.TokenOParen)
}

// closes reports whether a piece closes a bracket.
func closes(p piece) bool {
	return p.is(hclsyntax.TokenCBrace, hclsyntax.TokenCBrack, hclsyntax.TokenCParen)
}
