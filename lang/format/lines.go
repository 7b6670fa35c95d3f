package format

import (
	"bytes"
	"slices"

	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// piece is a token, or a whole string or heredoc: what is between quotes
// belongs to its author. A string has the type of its opening quote.
type piece struct {
	kind hclsyntax.TokenType
	text []byte
	// spaced: white space stands before it in the file.
	spaced bool
}

// is reports whether a piece is of one of some kinds.
func (p piece) is(kinds ...hclsyntax.TokenType) bool { return slices.Contains(kinds, p.kind) }

// line is one line of the file; a string, a heredoc or a comment within may go
// on for more.
type line struct {
	pieces []piece
	// comment is the one that ends the line, nil when there is none; column is
	// where it begins in the file.
	comment []byte
	column  int

	indent int
	// lead is the line as it is laid out, without its indentation; with an
	// assignment, what stands before the equals sign, and value is the rest.
	lead, value []byte
	// goesOn: the line is a comment that goes on with the one above.
	goesOn bool
}

// empty reports whether nothing stands in the line.
func (l *line) empty() bool { return len(l.pieces) == 0 && l.comment == nil }

// splitter gathers tokens into lines.
type splitter struct {
	text   []byte
	tokens hclsyntax.Tokens
	lines  []*line
	line   *line
	// start is where the line begins in the text; end is where the piece before
	// ends.
	start, end int
}

// split gathers the tokens of a text into lines, without blank lines beyond
// one, and none at the beginning or the end.
func split(text []byte, tokens hclsyntax.Tokens) []*line {
	s := &splitter{text: text, tokens: tokens, line: &line{}}
	for i := 0; i < len(tokens) && tokens[i].Type != hclsyntax.TokenEOF; i++ {
		i = s.take(i)
	}
	s.breakLine(len(text))
	for n := len(s.lines); n > 0 && s.lines[n-1].empty(); n-- {
		s.lines = s.lines[:n-1]
	}
	return s.lines
}

// take takes the token at an index, with all that belongs to it, and returns
// the index of the last one taken.
func (s *splitter) take(i int) int {
	token := s.tokens[i]
	from := token.Range.Start.Byte
	switch {
	case isLineComment(token.Type, token.Bytes):
		s.line.comment = content(token)
		s.line.column = columns(lastLine(s.text[s.start:from]))
		s.breakLine(token.Range.End.Byte)
		return i
	case token.Type == hclsyntax.TokenNewline:
		s.breakLine(token.Range.End.Byte)
		return i
	}
	i = s.closing(i)
	to := s.tokens[i].Range.End.Byte
	s.line.pieces = append(s.line.pieces, piece{kind: token.Type, text: s.text[from:to], spaced: from > s.end})
	s.end = to
	return i
}

// closing is the index of the token that closes the string or heredoc which one
// opens, itself for every other token.
func (s *splitter) closing(i int) int {
	for depth, at := 0, i; at < len(s.tokens); at++ {
		switch s.tokens[at].Type {
		case hclsyntax.TokenOQuote, hclsyntax.TokenOHeredoc:
			depth++
		case hclsyntax.TokenCQuote, hclsyntax.TokenCHeredoc:
			depth--
		}
		if depth <= 0 {
			return at
		}
	}
	return i
}

// breakLine ends the line; the next one begins at an offset.
func (s *splitter) breakLine(next int) {
	n := len(s.lines)
	if !s.line.empty() || n > 0 && !s.lines[n-1].empty() {
		s.lines = append(s.lines, s.line)
	}
	s.line = &line{}
	s.start, s.end = next, next
}

// lastLine is the part of a text behind its last line break.
func lastLine(text []byte) []byte {
	return text[bytes.LastIndexByte(text, '\n')+1:]
}
