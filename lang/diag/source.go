package diag

import (
	"bytes"
	"sort"
	"strings"
	"sync"
	"unicode/utf8"

	"github.com/apparentlymart/go-textseg/v15/textseg"
)

// Source is the text of one file, for finding positions and showing lines. It
// is read-only and safe for concurrent use.
type Source struct {
	Name string
	Text []byte
	// lines are the offsets at which lines start.
	lines []int
	// marks are columns within long lines, so that finding one does not take as
	// long as the line is; made when first asked for.
	marks func() []mark
}

// mark is the column of the character at an offset.
type mark struct{ offset, column int }

// markEvery is how far marks are apart, in bytes.
const markEvery = 1 << 10

// NewSource indexes the lines of text. Lines end with "\n" or "\r\n".
func NewSource(name string, text []byte) *Source {
	s := &Source{Name: name, Text: text, lines: []int{0}}
	for i, b := range text {
		if b == '\n' {
			s.lines = append(s.lines, i+1)
		}
	}
	s.marks = sync.OnceValue(s.mark)
	return s
}

// mark goes over the lines that are long.
func (s *Source) mark() []mark {
	var marks []mark
	for n := range s.lines {
		line := s.line(n + 1)
		if len(line) < 2*markEvery {
			continue
		}
		last := 0
		for at, column := 0, 1; at < len(line); column++ {
			if at-last >= markEvery {
				marks = append(marks, mark{s.lines[n] + at, column})
				last = at
			}
			at += characterSize(line[at:])
		}
	}
	return marks
}

// Pos is the position of a byte offset; offsets outside of the text are moved
// to its ends.
func (s *Source) Pos(offset int) Pos {
	offset = max(0, min(offset, len(s.Text)))
	line := sort.SearchInts(s.lines, offset+1) - 1
	column, at := 1, s.lines[line]
	if offset-at >= markEvery {
		marks := s.marks()
		if i := sort.Search(len(marks), func(i int) bool { return marks[i].offset > offset }); i > 0 && marks[i-1].offset > at {
			at, column = marks[i-1].offset, marks[i-1].column
		}
	}
	for at < offset {
		// An offset within a character stands in the character's own column.
		if at += characterSize(s.Text[at:]); at <= offset {
			column++
		}
	}
	return Pos{Line: line + 1, Column: column, Byte: offset}
}

// Range is the range from one byte offset to another.
func (s *Source) Range(start, end int) Range {
	return Range{File: s.Name, Start: s.Pos(start), End: s.Pos(max(start, end))}
}

// Offset is the byte offset of a line and a column in characters, both from 1,
// as engines of handlers give them. What lies beyond is moved to the end.
func (s *Source) Offset(line, column int) int {
	line = max(1, min(line, len(s.lines)))
	start := s.lines[line-1]
	text := s.line(line)
	for range max(0, column-1) {
		if len(text) == 0 {
			break
		}
		n := characterSize(text)
		text, start = text[n:], start+n
	}
	return start
}

// line is the text of a line, from 1, without its end.
func (s *Source) line(n int) []byte {
	if n < 1 || n > len(s.lines) {
		return nil
	}
	text := s.Text[s.lines[n-1]:]
	if i := bytes.IndexByte(text, '\n'); i >= 0 {
		text = text[:i]
	}
	return bytes.TrimSuffix(text, []byte("\r"))
}

// characterSize is the length in bytes of the first character of text, as a
// person sees it.
func characterSize(text []byte) int {
	if text[0] < utf8.RuneSelf && (len(text) == 1 || text[1] < utf8.RuneSelf) {
		return 1
	}
	n, _, err := textseg.ScanGraphemeClusters(text, true)
	if err != nil || n <= 0 {
		return 1
	}
	return n
}

// Mentions reports whether a name stands in the text of a known file, on its own:
// with no letter, digit or underscore beside it.
func (r *Report) Mentions(name string) bool {
	for _, s := range r.sources {
		for rest := string(s.Text); ; {
			i := strings.Index(rest, name)
			if i < 0 {
				break
			}
			before, _ := utf8.DecodeLastRuneInString(rest[:i])
			rest = rest[i+len(name):]
			after, _ := utf8.DecodeRuneInString(rest)
			if !isWordRune(before) && !isWordRune(after) && after != '-' {
				return true
			}
		}
	}
	return false
}
