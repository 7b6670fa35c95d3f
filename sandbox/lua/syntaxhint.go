package lua

import (
	"bytes"
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/yuin/gopher-lua/ast"
	"github.com/yuin/gopher-lua/parse"

	"pipeline/sandbox"
)

// opener is a word or bracket that something has to close.
type opener struct {
	text         string
	line, column int
	// indent is the white space before its line.
	indent int
}

// bracket reports whether it is a sign, not a word that `end` closes.
func (o opener) bracket() bool { return strings.Contains("([{", o.text) }

// statementWords begin or end statements: inside a bracket they are out of place.
var statementWords = []string{"end", "if", "then", "else", "elseif", "return", "local", "for", "while", "repeat", "until", "do", "break", "goto"}

// assigning finds an assignment that other languages have and Lua has not.
var assigning = regexp.MustCompile(`([\w.\[\]"']+)\s*(\+|-|\*|/|%|\.\.)=[^=]`)

// hinter reads a script that the parser did not understand.
type hinter struct {
	src   sandbox.Source
	lines [][]byte
}

// cutLine cuts code after its first line, where the parser sees its end; rest is
// nil where there is none.
func cutLine(code []byte) (line, rest []byte) {
	end := bytes.IndexAny(code, "\r\n")
	if end < 0 {
		return code, nil
	}
	line, rest = code[:end], code[end+1:]
	if len(rest) > 0 && rest[0] != code[end] && (rest[0] == '\r' || rest[0] == '\n') {
		rest = rest[1:] // one end of two signs
	}
	return line, rest
}

// splitLines are the lines of a script as the parser counts them.
func splitLines(code []byte) (lines [][]byte) {
	for code != nil {
		var line []byte
		line, code = cutLine(code)
		lines = append(lines, line)
	}
	return lines
}

// hint says more of a place that the parser did not understand: what was not
// closed before it, or what another language would have written there. Where the
// fault lies elsewhere, it moves the problem there.
func hint(src sandbox.Source, out *sandbox.LoadError, e *parse.Error) {
	h := &hinter{src, splitLines(src.Code)}
	open, first := h.openAt(e)
	indent := h.indent(e.Pos.Line)
	if m := assigning.FindSubmatch(h.line(e.Pos.Line)); m != nil && e.Pos.Line != parse.EOF && bytes.Contains(m[2], []byte(e.Token)) {
		out.Remedy = fmt.Sprintf("write `%s = %s %s ...`", m[1], m[1], m[2])
		return
	}
	if ours := h.foreign(e); ours != "" {
		out.Remedy = "Lua writes " + ours
		return
	}
	if len(open) == 0 {
		return
	}
	last := open[len(open)-1]
	switch {
	case e.Pos.Line == parse.EOF:
		if last.bracket() {
			unclosed(out, last)
		} else if line := h.splitElseIf(); line > 0 {
			out.Line, out.Problem, out.Remedy = line, "`else if` opens another `if`, and one of the two is never closed", "write `elseif`"
		} else {
			unclosed(out, h.misindented(last))
		}
	case last.bracket() && h.braces(last) != "":
		out.Line, out.Column = last.line, last.column
		out.Problem, out.Remedy = "a brace begins no body here", "Lua writes "+h.braces(last)
	case last.bracket() && slices.Contains(statementWords, e.Token):
		unclosed(out, last)
	case last.text == "{" && first && isName(e.Token):
		out.Remedy = "the members of a table are separated by commas"
	case !last.bracket() && first && indent <= last.indent && e.Token != "end" && e.Token != "else" && e.Token != "elseif" && e.Token != "until":
		unclosed(out, last)
	}
}

// foreignSigns are signs of other languages, and what Lua writes.
var foreignSigns = []struct{ sign, ours string }{
	{"!=", "`~=`"}, {"!", "`not` and `~=`"}, {"&&", "`and`"}, {"||", "`or`"}, {"//", "a comment as `-- text`"}, {"/*", "a comment as `--[[ text ]]`"},
	{"?", "`condition and one or other`"}, {"===", "`==`"},
}

// foreign is what Lua writes for the sign that the parser stopped at, or in the
// middle of; "" where it is none.
func (h *hinter) foreign(e *parse.Error) string {
	line := string(h.line(e.Pos.Line))
	at := min(max(0, wordStart(e)-1), len(line))
	for _, f := range foreignSigns {
		for from := max(0, at-len(f.sign)+1); from <= at; from++ {
			if strings.HasPrefix(line[from:], f.sign) && strings.Contains(f.sign, e.Token) {
				return f.ours
			}
		}
	}
	return ""
}

// bodies are how Lua writes what other languages put into braces, by the word
// that such a line begins with.
var bodies = map[string]string{
	"if": "`if condition then ... end`", "elseif": "`elseif condition then`", "else": "`else ... end`",
	"while": "`while condition do ... end`", "for": "`for i = 1, n do ... end`", "function": "`function name(...) ... end`",
}

// lineWord is the first word of a line, and elseIf one that begins with two.
var (
	lineWord = regexp.MustCompile(`^\s*(?:local\s+)?([a-z]+)`)
	elseIf   = regexp.MustCompile(`^\s*else\s+if\b`)
)

// braces says how Lua writes a line that ends with a brace as in other
// languages; "" where it does not.
func (h *hinter) braces(o opener) string {
	line := h.line(o.line)
	m := lineWord.FindSubmatch(line)
	if o.text != "{" || m == nil || len(bytes.TrimSpace(line[min(o.column, len(line)):])) > 0 {
		return ""
	}
	return bodies[string(m[1])]
}

// splitElseIf is the first line that begins with else if: 0 without one.
func (h *hinter) splitElseIf() int {
	return 1 + slices.IndexFunc(h.lines, func(line []byte) bool { return elseIf.Match(line) })
}

// brokenString is the place of the quote that is not closed on its line: the
// last line up to the given one with an odd number of one of the quotes.
func brokenString(code []byte, line int) (at, column int) {
	h := &hinter{lines: splitLines(code)}
	for at = line; at > max(0, line-2); at-- {
		open := -1
		text := h.line(at)
		for i := 0; i < len(text); i++ {
			switch c := text[i]; {
			case c == '\\' && open >= 0:
				i++
			case open < 0 && (c == '"' || c == '\''):
				open = i
			case open >= 0 && c == text[open]:
				open = -1
			}
		}
		if open >= 0 {
			return at, open + 1
		}
	}
	return line, 0
}

// unclosed makes the problem that of something that is not closed.
func unclosed(out *sandbox.LoadError, o opener) {
	out.Line, out.Column = o.line, o.column
	closer := map[string]string{"(": ")", "[": "]", "{": "}", "repeat": "until"}[o.text]
	if closer == "" {
		closer = "end"
	}
	out.Problem, out.Remedy = fmt.Sprintf("this `%s` is never closed", o.text), fmt.Sprintf("write the `%s` that closes it", closer)
}

// misindented is the word that by its indentation lacks its end: the last open
// one if each word that was closed stood as its end does.
func (h *hinter) misindented(last opener) opener {
	if lost, ok := h.wronglyClosed(); ok {
		return lost
	}
	return last
}

// words goes over the words of a script, with whether each is the first of its
// line; visit returns false to end.
func (h *hinter) words(visit func(t ast.Token, first bool) bool) {
	s := parse.NewScanner(bytes.NewReader(h.src.Code), h.src.Name)
	var lexer parse.Lexer
	line := 0
	for {
		t, err := s.Scan(&lexer)
		if err != nil || t.Type == parse.EOF || !visit(t, t.Pos.Line != line) {
			return
		}
		lexer.PrevTokenType, line = t.Type, t.Pos.Line
	}
}

// openAt are the openers before the place of an error, and whether the word
// there is the first of its line.
func (h *hinter) openAt(e *parse.Error) (open []opener, first bool) {
	h.words(func(t ast.Token, isFirst bool) bool {
		if e.Pos.Line != parse.EOF && (t.Pos.Line > e.Pos.Line || t.Pos.Line == e.Pos.Line && t.Pos.Column >= wordStart(e)) {
			first = isFirst
			return false
		}
		open = h.track(open, t)
		return true
	})
	return open, first
}

// track takes a word into account.
func (h *hinter) track(open []opener, t ast.Token) []opener {
	switch t.Str {
	case "(", "[", "{", "function", "if", "do", "repeat":
		if t.Type != parse.TString {
			return append(open, opener{t.Str, t.Pos.Line, t.Pos.Column, h.indent(t.Pos.Line)})
		}
	case ")", "]", "}", "end", "until":
		if t.Type != parse.TString && len(open) > 0 {
			return open[:len(open)-1]
		}
	}
	return open
}

// wronglyClosed is the first word whose end stands further left than its line
// does: what it closes is another one, and this has none.
func (h *hinter) wronglyClosed() (lost opener, found bool) {
	var open []opener
	h.words(func(t ast.Token, first bool) bool {
		if n := len(open); n > 0 && first && t.Str == "end" && t.Type != parse.TString && h.indent(t.Pos.Line) < open[n-1].indent {
			lost, found = open[n-1], true
			return false
		}
		open = h.track(open, t)
		return true
	})
	return lost, found
}

// line is a line, from 1; none for one that is not there.
func (h *hinter) line(number int) []byte {
	if number < 1 || number > len(h.lines) {
		return nil
	}
	return h.lines[number-1]
}

func (h *hinter) indent(number int) int {
	line := h.line(number)
	return len(line) - len(bytes.TrimLeft(line, " \t"))
}

func isName(word string) bool {
	return word != "" && !slices.Contains(statementWords, word) && strings.Trim(strings.ToLower(word), "abcdefghijklmnopqrstuvwxyz_0123456789") == ""
}
