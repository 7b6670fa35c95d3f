package lang

import (
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// quoteMarks are quotes that open or close no string of the language.
const quoteMarks = "\u201c\u201d\u201e\u201f\u00ab\u00bb\u2018\u2019\u201a\u2033\uff02'`"

// quotes finds strings in other quotes than straight double ones.
func (r *repairer) quotes() {
	changed := false
	for i := 0; i < len(r.tokens); i++ {
		if !r.isQuote(i) {
			continue
		}
		end := i + 1
		for end < len(r.tokens) && !r.isQuote(end) && r.line(end) == r.line(i) && r.kind(end) != hclsyntax.TokenEOF && r.kind(end) != hclsyntax.TokenNewline {
			end++
		}
		if end >= len(r.tokens) || !r.isQuote(end) || r.line(end) != r.line(i) {
			r.fail(diag.WrongQuotes, i, i, fmt.Sprintf("%s opens no string", r.source(i, i)), "Strings stand between straight double quotes.")
			r.broken = true
			return
		}
		content := string(r.f.src.Text[to(r.tokens[i]):from(r.tokens[end])])
		d := r.fail(diag.WrongQuotes, i, end, fmt.Sprintf("a string stands in %s quotes", quoteName(r.source(i, i))), "Strings stand between straight double quotes.")
		if strings.ContainsAny(content, "\"\\") {
			r.broken = true
			return
		}
		d.Edit(d.Range, `"`+content+`"`)
		r.blank(from(r.tokens[i]), to(r.tokens[i]))
		r.blank(from(r.tokens[end]), to(r.tokens[end]))
		r.put(to(r.tokens[i])-1, `"`)
		r.put(from(r.tokens[end]), `"`)
		i, changed = end, true
	}
	if changed {
		r.mended()
	}
}

// isQuote reports whether a token is a quote of another kind.
func (r *repairer) isQuote(i int) bool {
	switch r.kind(i) {
	case hclsyntax.TokenApostrophe, hclsyntax.TokenBacktick:
		return true
	case hclsyntax.TokenInvalid:
		c, size := utf8.DecodeRune(r.tokens[i].Bytes)
		return size == len(r.tokens[i].Bytes) && strings.ContainsRune(quoteMarks, c)
	}
	return false
}

func quoteName(q string) string {
	switch q {
	case "'":
		return "single"
	case "`":
		return "back"
	case "«", "»":
		return "angle"
	case "＂":
		return "full-width"
	}
	return "curly"
}

// strings finds the first string that is not closed on its line. All after it
// is read inside out, so nothing more is said.
func (r *repairer) strings() {
	quote, inner := -1, -1
	depth := 0
	for i, tok := range r.tokens {
		switch tok.Type {
		case hclsyntax.TokenOQuote:
			if depth == 0 {
				quote, inner = i, -1
			}
			depth++
		case hclsyntax.TokenCQuote:
			depth--
		case hclsyntax.TokenTemplateInterp:
			if depth > 0 && inner < 0 {
				inner = i
			}
		case hclsyntax.TokenTemplateSeqEnd:
			inner = -1
		case hclsyntax.TokenQuotedNewline:
			r.unclosedString(quote, inner, i)
			return
		case hclsyntax.TokenEOF:
			if depth > 0 {
				r.unclosedString(quote, inner, i)
			}
		}
	}
}

func (r *repairer) unclosedString(quote, inner, end int) {
	r.broken = true
	if quote < 0 {
		quote = end
	}
	last := end
	for last > quote && r.line(last) > r.line(quote) || last > quote && (r.kind(last) == hclsyntax.TokenQuotedNewline || r.kind(last) == hclsyntax.TokenEOF) {
		last--
	}
	if inner >= 0 && r.line(inner) == r.line(quote) {
		d := r.fail(diag.UnclosedString, inner, inner, "this ${ is never closed", "Add the closing brace; $${ writes the two characters themselves.")
		r.closeInterpolation(d, inner)
		return
	}
	if r.openString(quote) || r.curlyEnd(quote) {
		return
	}
	d := r.fail(diag.UnclosedString, quote, last, "this string is not closed on its line", "Add the closing quote; \\n writes a line break, and <<EOT begins a text of several lines.")
	r.closeString(d, quote)
}

// units finds numbers with a unit and no quotes: 30s, 16MiB, 30 s.
func (r *repairer) units() {
	changed := false
	for i := 0; i+1 < len(r.tokens); i++ {
		number, word := r.tokens[i], r.tokens[i+1]
		if number.Type != hclsyntax.TokenNumberLit || word.Type != hclsyntax.TokenIdent {
			continue
		}
		start, end := from(number), to(word)
		adjacent := to(number) == from(word)
		value := string(number.Bytes) + string(word.Bytes)
		if !adjacent && (!isUnit(string(word.Bytes)) || r.line(i) != r.line(i+1) || r.kind(i+2) == hclsyntax.TokenEqual) {
			continue
		}
		rng := r.f.src.Range(start, end)
		d := r.l.fail(diag.UnquotedValue, rng, fmt.Sprintf("%s stands without quotes", r.f.src.Text[start:end]), "Durations and sizes are strings with a unit.")
		d.Suggest(value).Edit(rng, fmt.Sprintf("%q", value))
		for at := start; at < end; at++ {
			r.text[at] = '1'
		}
		r.poison(start, end)
		changed = true
	}
	if changed {
		r.mended()
	}
}

// isUnit reports whether a word is a unit, or what people write for one.
func isUnit(word string) bool {
	for _, parse := range []func(string) error{
		func(s string) error { _, err := eval.ParseDuration(s); return err },
		func(s string) error { _, err := eval.ParseSize(s); return err },
	} {
		err := parse("1" + word)
		if err == nil {
			return true
		}
		if unit, ok := errors.AsType[*eval.UnitError](err); ok && unit.Suggestion != "" {
			return true
		}
	}
	return false
}
