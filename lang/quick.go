package lang

import (
	"bytes"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
)

// maxQuickOpen is how many brackets a piece of a file may open to be parsed
// without being split into tokens first: even if all of them were nested, hcl's
// parser would have stack enough.
const maxQuickOpen = 20_000

// quickPiece is how much of a file is parsed at a time, in bytes. The tokens of a
// piece fit into the caches of a processor, and pieces are parsed side by side.
const quickPiece = 32 << 10

// quick parses a file that has nothing unusual: splitting a large one into
// tokens, to guard and repair it, takes longer than parsing it. The body is nil
// for every file that might need either; those take the way of parse.
func quick(name string, text []byte, piece int) *hclsyntax.Body {
	s := scanner{text: text, piece: piece}
	if !utf8.Valid(text) || !s.scan() {
		return nil
	}
	cuts := append(s.cuts, len(text))
	bodies := make([]*hclsyntax.Body, len(cuts))
	var all sync.WaitGroup
	from, line := 0, 1
	for i, to := range cuts {
		piece, at := text[from:to], hcl.Pos{Line: line, Column: 1, Byte: from}
		all.Go(func() {
			if parsed, diags := hclsyntax.ParseConfig(piece, name, at); len(diags) == 0 {
				bodies[i], _ = parsed.Body.(*hclsyntax.Body)
			}
		})
		from, line = to, line+bytes.Count(piece, []byte("\n"))
	}
	all.Wait()
	return joined(bodies)
}

// joined is one body out of those of the pieces, nil when one is missing or an
// argument stands twice.
func joined(bodies []*hclsyntax.Body) *hclsyntax.Body {
	whole := bodies[0]
	for _, b := range bodies[1:] {
		if whole == nil || b == nil {
			return nil
		}
		for name, attr := range b.Attributes {
			if whole.Attributes[name] != nil {
				return nil
			}
			whole.Attributes[name] = attr
		}
		whole.Blocks = append(whole.Blocks, b.Blocks...)
		whole.SrcRange.End, whole.EndRange = b.SrcRange.End, b.EndRange
	}
	return whole
}

// scanner goes over a text byte by byte and counts what guardian counts, never
// less. It gives up at whatever is not plain.
type scanner struct {
	text []byte
	at   int
	// open are the open brackets, quotes and interpolations; other counts those
	// that are no brace, opened all that have been open in the piece.
	open                             []byte
	opened, operators, prefix, other int
	// texts counts the $ and % that stand alone in the file: each begins a piece
	// of text.
	texts int
	// cuts are offsets of lines between blocks, at least piece apart.
	cuts  []int
	piece int
}

// The marks in scanner.open besides the brackets themselves.
const (
	quoteMark         = '"'
	interpolationMark = '$'
)

// scan reports whether the text is plain and within the limits of guardian.
func (s *scanner) scan() bool {
	for s.at < len(s.text) {
		step := s.code
		if n := len(s.open); n > 0 && s.open[n-1] == quoteMark {
			step = s.quoted
		}
		if !step() || len(s.open) > maxOpen || s.opened > maxQuickOpen || s.operators > maxOperators || s.prefix > maxPrefix || 2*s.texts > maxText {
			return false
		}
	}
	return len(s.open) == 0
}

// code takes what begins at the current byte outside of quotes.
func (s *scanner) code() bool {
	c := s.text[s.at]
	switch {
	case c == '\n':
		s.newline()
	case c == ' ', c == '\t', c == '\r' && s.peek(1) == '\n':
		s.at++
	case c == '#', c == '/' && s.peek(1) == '/':
		end := bytes.IndexByte(s.text[s.at:], '\n')
		if end < 0 {
			return false
		}
		s.at += end
	case c >= '0' && c <= '9':
		return s.number()
	case c == '_', c|0x20 >= 'a' && c|0x20 <= 'z':
		s.word()
	case c == '"', c == '(', c == '[', c == '{':
		s.push(c)
	case c == ')', c == ']', c == '}':
		return s.pop(c)
	case c == ',':
		s.prefix = 0
		s.at++
	case c == '<' && s.peek(1) == '<', c == '/' && s.peek(1) == '*':
		return false
	case strings.IndexByte("+-*/%&|=!<>?:.", c) >= 0:
		s.operator(c)
	default:
		return false
	}
	return true
}

// quoted takes what begins at the current byte inside of quotes.
func (s *scanner) quoted() bool {
	switch c := s.text[s.at]; c {
	case '\n', '\r':
		return false
	case '"':
		return s.pop(c)
	case '\\':
		s.at += 2
	case '$', '%':
		switch next := s.peek(1); {
		case next == '{':
			s.at++
			s.operators++
			s.push(interpolationMark)
		case next == ' ', next == '"', next >= '0' && next <= '9', next|0x20 >= 'a' && next|0x20 <= 'z':
			s.at++
			s.texts++
		default:
			return false
		}
	default:
		s.at++
	}
	return true
}

// peek is a byte further on, 0 behind the end.
func (s *scanner) peek(n int) byte {
	if s.at+n >= len(s.text) {
		return 0
	}
	return s.text[s.at+n]
}

func (s *scanner) newline() {
	s.at++
	s.prefix = 0
	if s.other == 0 {
		s.operators = 0
	}
	last := 0
	if n := len(s.cuts); n > 0 {
		last = s.cuts[n-1]
	}
	if len(s.open) == 0 && s.at-last >= s.piece {
		s.cuts = append(s.cuts, s.at)
		s.opened = 0
	}
}

// number takes a number that cannot be a large one.
func (s *scanner) number() bool {
	start := s.at
	for c := s.peek(0); c >= '0' && c <= '9'; c = s.peek(0) {
		s.at++
	}
	s.prefix = 0
	return s.at-start < 18 && s.peek(0)|0x20 != 'e'
}

func (s *scanner) word() {
	for c := s.peek(0); c == '_' || c >= '0' && c <= '9' || c|0x20 >= 'a' && c|0x20 <= 'z'; c = s.peek(0) {
		s.at++
	}
	s.prefix = 0
}

// operator counts every character of an operator, and no = that stands alone:
// more than guardian does.
func (s *scanner) operator(c byte) {
	s.at++
	if c != '=' || s.peek(0) == '=' {
		s.operators++
	}
	if s.prefix++; c != '!' && c != '-' {
		s.prefix = 0
	}
}

func (s *scanner) push(mark byte) {
	s.at++
	s.opened++
	s.prefix = 0
	if mark == '[' {
		s.operators++
	}
	if mark != '{' {
		s.other++
	}
	s.open = append(s.open, mark)
}

// closing are the ends of what can be open.
var closing = [256]byte{'{': '}', '(': ')', '[': ']', quoteMark: '"', interpolationMark: '}'}

// pop closes the innermost bracket; false when it is another one's end.
func (s *scanner) pop(c byte) bool {
	n := len(s.open)
	if n == 0 {
		return false
	}
	mark := s.open[n-1]
	if c != closing[mark] {
		return false
	}
	if mark != '{' {
		s.other--
	}
	s.prefix = 0
	s.open = s.open[:n-1]
	s.at++
	return true
}
