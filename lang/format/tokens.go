package format

import (
	"bytes"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// blank is the white space that may stand at the end of a line.
const blank = " \t\r\n"

// lex splits a text into tokens. The lexer is a state machine: it can be given
// anything.
func lex(text []byte) hclsyntax.Tokens {
	tokens, _ := hclsyntax.LexConfig(text, "", hcl.Pos{Line: 1, Column: 1})
	return tokens
}

// same reports whether two texts differ in white space only: the same tokens
// in the same order, with line breaks between the same of them.
func same(a, b hclsyntax.Tokens) bool {
	i, j := meaning{tokens: a}, meaning{tokens: b}
	for {
		x, broken, more := i.next()
		y, alsoBroken, alsoMore := j.next()
		if more != alsoMore {
			return false
		}
		if !more {
			return true
		}
		if broken != alsoBroken || x.Type != y.Type || !bytes.Equal(content(x), content(y)) {
			return false
		}
	}
}

// meaning walks the tokens that are no white space.
type meaning struct {
	tokens hclsyntax.Tokens
	at     int
	// begun: a token was returned; commented: it was a comment that ends its line.
	begun, commented bool
}

// next is the next token; broken tells that it begins another line than the
// one before it.
func (m *meaning) next() (token hclsyntax.Token, broken, more bool) {
	broken = m.commented
	for m.at < len(m.tokens) {
		token = m.tokens[m.at]
		m.at++
		switch token.Type {
		case hclsyntax.TokenNewline:
			broken = true
			continue
		case hclsyntax.TokenEOF:
			return token, false, false
		}
		broken = broken && m.begun
		m.begun, m.commented = true, endsLine(token)
		return token, broken, true
	}
	return token, false, false
}

// content is the part of a token that is no white space at the end of a line.
func content(token hclsyntax.Token) []byte {
	if isLineComment(token.Type, token.Bytes) {
		return bytes.TrimRight(token.Bytes, blank)
	}
	return token.Bytes
}

// isLineComment reports whether a token is a comment that goes on to the end of
// its line.
func isLineComment(kind hclsyntax.TokenType, text []byte) bool {
	return kind == hclsyntax.TokenComment && !bytes.HasPrefix(text, []byte("/*"))
}

// endsLine reports whether a token is the last of its line.
func endsLine(token hclsyntax.Token) bool {
	return token.Type == hclsyntax.TokenNewline || isLineComment(token.Type, token.Bytes)
}
