package lang

import (
	"bytes"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// tripleQuotes finds strings between three quotes, as Python and TOML have.
func (r *repairer) tripleQuotes() {
	changed := false
	for _, tok := range r.tokens {
		start := from(tok)
		if tok.Type != hclsyntax.TokenOQuote && tok.Type != hclsyntax.TokenApostrophe || start+6 > len(r.text) {
			continue
		}
		marks := string(r.text[start : start+3])
		if marks != `"""` && marks != "'''" {
			continue
		}
		length := bytes.Index(r.text[start+3:], []byte(marks))
		if length <= 0 {
			continue
		}
		end := start + 3 + length
		content := string(r.f.src.Text[start+3 : end])
		at := r.f.src.Range(start, end+3)
		d := r.l.fail(diag.WrongQuotes, at, "a string stands in triple quotes", "A string stands between straight double quotes; <<EOT begins a text of several lines.")
		if strings.ContainsAny(content, "\"\\\n") {
			r.broken = true
			return
		}
		d.Edit(at, `"`+content+`"`)
		r.blank(start, start+3)
		r.blank(end, end+3)
		r.put(start+2, `"`)
		r.put(end, `"`)
		changed = true
	}
	if changed {
		r.mended()
	}
}

// isBlock and isArgument report whether the language of the file has a block, or
// an argument, of a name anywhere.
func (l *loader) isBlock(name string) bool {
	found := false
	l.schema().Walk(func(_ []string, b *schema.Block) { found = found || b.Name == name })
	return found
}

func (l *loader) isArgument(name string) bool {
	found := false
	l.schema().Walk(func(_ []string, b *schema.Block) { found = found || b.Arg(name) != nil })
	return found
}

// colon handles what YAML writes behind name: — a block, a list or an object.
// false: an ordinary value follows.
func (s *statements) colon(name, op int) bool {
	if s.kind(op) != hclsyntax.TokenColon {
		return false
	}
	word := s.source(name, name)
	if s.kind(op+1) == hclsyntax.TokenOBrace && s.l.isBlock(word) && !s.l.isArgument(word) {
		s.fail(diag.WrongAssignment, op, op, fmt.Sprintf("a colon stands behind the block %s", word), "A block's brace follows its name.").
			Edit(s.span(op, op), "")
		s.blank(from(s.tokens[op]), to(s.tokens[op]))
		s.changed = true
		s.openBlock(name, op+1)
		return true
	}
	if s.kind(op+1) != hclsyntax.TokenNewline {
		return false
	}
	next := s.firstToken(op + 1)
	switch {
	case s.kind(next) == hclsyntax.TokenMinus:
		s.yamlItems(name, op, next)
		return true
	case s.kind(next) == hclsyntax.TokenIdent && s.kind(next+1) == hclsyntax.TokenColon && s.indent(next) > s.indent(name):
		s.broken = true
		s.fail(diag.WrongAssignment, op, op, fmt.Sprintf("%s is written as in YAML", word), fmt.Sprintf("Here braces hold a block together, not its indentation: %s { … }.", word)).Suggest("{")
		return true
	}
	return false
}

// yamlItems reports a list whose elements stand on lines of their own, each
// after a dash, and shows it in brackets.
func (s *statements) yamlItems(name, op, first int) {
	var items []string
	last := first
	for at := first; s.kind(at) == hclsyntax.TokenMinus; at = s.firstToken(last + 1) {
		last = at + 1
		for s.kind(last+1) != hclsyntax.TokenNewline && s.kind(last+1) != hclsyntax.TokenEOF {
			last++
		}
		text := s.source(at+1, last)
		if last == at+1 && s.kind(last) == hclsyntax.TokenIdent && text != "true" && text != "false" {
			text = fmt.Sprintf("%q", text)
		}
		items = append(items, text)
	}
	s.broken = true
	list := "[" + strings.Join(items, ", ") + "]"
	s.fail(diag.Syntax, first, first, "a list is not written with dashes", fmt.Sprintf("Write %s = %s.", s.source(name, name), list)).
		Suggest(list).Edit(s.f.src.Range(to(s.tokens[name]), to(s.tokens[last])), " = "+list)
	_ = op
}

// noiseWords stand before a name in other languages.
var noiseWords = []string{"export", "let", "var", "const", "set", "def", "local", "final"}

// noise handles a word before the name of an argument: export name = value.
// false when it is none.
func (s *statements) noise(name, next int) bool {
	if !slices.Contains(noiseWords, s.source(name, name)) || s.kind(next) != hclsyntax.TokenIdent || s.kind(next+1) != hclsyntax.TokenEqual {
		return false
	}
	d := s.fail(diag.Syntax, name, name, fmt.Sprintf("no %s stands before a name", s.source(name, name)), "Write name = value.")
	d.Edit(s.f.src.Range(from(s.tokens[name]), from(s.tokens[next])), "")
	s.blank(from(s.tokens[name]), to(s.tokens[name]))
	s.changed = true
	s.named(next, next+1)
	return true
}

// otherComment handles comments of other languages at the beginning of a line:
// ; of INI, <!-- of HTML. false when there is none.
func (s *statements) otherComment() bool {
	if !s.startsLine(s.i) {
		return false
	}
	end := s.i
	switch s.kind(s.i) {
	case hclsyntax.TokenSemicolon:
		if s.kind(s.i+1) == hclsyntax.TokenNewline {
			return false
		}
	case hclsyntax.TokenLessThan:
		if !bytes.HasPrefix(s.text[from(s.tokens[s.i]):], []byte("<!--")) {
			return false
		}
		end += 3
	case hclsyntax.TokenStar:
		if s.kind(s.i+1) != hclsyntax.TokenSlash || to(s.tokens[s.i]) != from(s.tokens[s.i+1]) {
			return false
		}
		d := s.fail(diag.InvalidCharacter, s.i, s.i+1, "*/ closes no comment", "None is open here. A comment of one line begins with #.")
		d.Suggest("#").Edit(d.Range, "#")
		s.comment(from(s.tokens[s.i]))
		return true
	case hclsyntax.TokenEllipsis:
		s.placeholder()
		return true
	case hclsyntax.TokenSlash:
		return s.openComment()
	default:
		return false
	}
	d := s.fail(diag.InvalidCharacter, s.i, end, fmt.Sprintf("%s begins no comment", s.source(s.i, end)), "Comments begin with # or //.")
	d.Suggest("#").Edit(d.Range, "#")
	s.comment(from(s.tokens[s.i]))
	return true
}

// comment makes the rest of a line one; behind a semicolon there is room for a
// hash only.
func (s *statements) comment(at int) {
	s.put(at, "#")
	s.changed = true
	s.skipLine()
}

// placeholder handles ... in place of what was to be written.
func (s *statements) placeholder() {
	s.fail(diag.Syntax, s.i, s.i, "... stands for nothing", "Remove it, or write what belongs here.").Edit(s.span(s.i, s.i), "")
	s.blank(from(s.tokens[s.i]), to(s.tokens[s.i]))
	s.changed = true
	s.i++
}

// openComment handles a comment that is never closed.
func (s *statements) openComment() bool {
	if s.kind(s.i+1) != hclsyntax.TokenStar || to(s.tokens[s.i]) != from(s.tokens[s.i+1]) {
		return false
	}
	s.broken = true
	end := to(s.tokens[s.i])
	for end < len(s.text) && s.text[end] != '\n' {
		end++
	}
	s.fail(diag.Syntax, s.i, s.i+1, "this comment is never closed", "Add */ where it ends, or begin each of its lines with #.").
		Edit(s.f.src.Range(end, end), " */")
	return true
}

// trailingComment handles -- behind a value, a comment of SQL and Lua.
func (s *statements) trailingComment() bool {
	if s.kind(s.i) != hclsyntax.TokenMinus || s.kind(s.i+1) != hclsyntax.TokenMinus || to(s.tokens[s.i]) != from(s.tokens[s.i+1]) {
		return false
	}
	if k := s.kind(s.i + 2); k != hclsyntax.TokenIdent || !endsOperand(s.kind(s.i-1)) || to(s.tokens[s.i+1]) == from(s.tokens[s.i+2]) {
		return false
	}
	d := s.fail(diag.InvalidCharacter, s.i, s.i+1, "-- begins no comment", "Comments begin with # or //.")
	d.Suggest("#").Edit(d.Range, "#")
	s.put(from(s.tokens[s.i]), "//")
	s.changed = true
	s.skipLine()
	return true
}
