package lang

import (
	"bytes"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// byteOrderMark skips a mark that some editors put before UTF-8.
func (r *repairer) byteOrderMark() {
	const mark = "\xef\xbb\xbf"
	if !bytes.HasPrefix(r.text, []byte(mark)) {
		return
	}
	rng := r.f.src.Range(0, len(mark))
	r.l.add(diag.Notice, diag.ByteOrderMark, rng, "the file begins with a byte order mark", "It is skipped. Save the file as UTF-8 without one.").Edit(rng, "")
	r.blank(0, len(mark))
	r.mended()
}

// lookAlike is a character that is taken for one of the language.
type lookAlike struct{ name, means string }

// lookAlikes are what word processors, chats and other keyboards write. What
// they mean is never longer, so that the rest can be filled with spaces.
var lookAlikes = map[rune]lookAlike{
	'\u00a0': {"a no-break space", " "}, '\u2007': {"a figure space", " "}, '\u202f': {"a narrow no-break space", " "}, '\u3000': {"an ideographic space", " "},
	'\u2002': {"an en space", " "}, '\u2003': {"an em space", " "}, '\u2009': {"a thin space", " "},
	'\u200b': {"a zero-width space", ""}, '\u200c': {"a zero-width non-joiner", ""}, '\u200d': {"a zero-width joiner", ""}, '\u2060': {"a word joiner", ""}, '\ufeff': {"a byte order mark", ""}, '\u00ad': {"a soft hyphen", ""},
	'\u2013': {"an en dash", "-"}, '\u2014': {"an em dash", "-"}, '\u2212': {"a minus sign", "-"}, '\u2010': {"a hyphen", "-"}, '\u2011': {"a no-break hyphen", "-"},
	'\uff1d': {"a full-width equals sign", "="}, '\uff5b': {"a full-width brace", "{"}, '\uff5d': {"a full-width brace", "}"}, '\uff08': {"a full-width parenthesis", "("}, '\uff09': {"a full-width parenthesis", ")"},
	'\uff3b': {"a full-width bracket", "["}, '\uff3d': {"a full-width bracket", "]"}, '\uff0c': {"a full-width comma", ","}, '\uff0e': {"a full-width stop", "."}, '\uff1a': {"a full-width colon", ":"},
	'\u2260': {"a typographic unequal sign", "!="}, '\u2264': {"a typographic comparison", "<="}, '\u2265': {"a typographic comparison", ">="}, '\u00d7': {"a multiplication sign", "*"},
	'\u2192': {"an arrow", ""}, '\u2022': {"a bullet", ""}, '\u00b7': {"a dot of a list", ""}, '\u25cf': {"a bullet", ""}, '\u2026': {"an ellipsis", ""}, '\u2713': {"a check mark", ""}, '\u2714': {"a check mark", ""},
	'\r': {"a carriage return without a line feed", "\n"}, '\v': {"a vertical tab", " "}, '\f': {"a form feed", " "},
}

// characters finds look-alikes outside of strings and comments. Each kind is
// reported once, however often it stands in the file.
func (r *repairer) characters() {
	told := map[rune]*diag.Diagnostic{}
	changed := false
	for i := 0; i < len(r.tokens); i++ {
		tok := r.tokens[i]
		if tok.Type != hclsyntax.TokenInvalid {
			continue
		}
		if last := r.fullWidthRun(i); last > i {
			i, changed = last, true
			continue
		}
		c, size := utf8.DecodeRune(tok.Bytes)
		like, known := lookAlikes[c]
		if !known && size == len(tok.Bytes) {
			like, known = fullWidth(c)
		}
		if !known || size != len(tok.Bytes) {
			continue
		}
		if c == '\uff1a' && r.isName(i-1) {
			like.means = "=" // a colon would be the next mistake
		}
		r.blank(from(tok), to(tok))
		r.put(from(tok), like.means)
		if like.means == "" {
			r.join(i)
		}
		if told[c] != nil {
			told[c].Edit(r.span(i, i), like.means)
			continue
		}
		d := r.fail(diag.InvalidCharacter, i, i, fmt.Sprintf("%s (U+%04X) is not part of the language", like.name, c), r.elsewhere(i, c))
		if d.Detail == "" && like.means == " " {
			d.Detail = "Put an ordinary space in its place."
		}
		told[c] = d.Edit(d.Range, like.means)
		if strings.TrimSpace(like.means) != "" {
			d.Suggest(like.means)
		}
	}
	if len(told) > 0 || changed {
		r.mended()
	}
}

// fullWidthRun reports full-width characters that stand in a row as one, and
// returns the last of them; i itself when it stands alone.
func (r *repairer) fullWidthRun(i int) int {
	last, meant := i, ""
	for ; r.kind(last) == hclsyntax.TokenInvalid && (last == i || to(r.tokens[last-1]) == from(r.tokens[last])); last++ {
		c, _ := utf8.DecodeRune(r.tokens[last].Bytes)
		like, ok := fullWidth(c)
		if !ok {
			break
		}
		meant += like.means
	}
	if last--; last <= i {
		return i
	}
	d := r.fail(diag.InvalidCharacter, i, last, r.source(i, last)+" is written in full-width characters", "Write plain ones.")
	d.Suggest(meant).Edit(d.Range, meant)
	r.blank(from(r.tokens[i]), to(r.tokens[last]))
	r.put(from(r.tokens[i]), meant)
	return last
}

// isName reports whether a token is the name of an argument: the first of its
// line.
func (r *repairer) isName(i int) bool {
	return i >= 0 && r.kind(i) == hclsyntax.TokenIdent && r.startsLineAt(i)
}

// join moves the end of a word to its beginning, when what was blanked between
// them has no width.
func (r *repairer) join(i int) {
	if i == 0 || r.kind(i-1) != hclsyntax.TokenIdent || r.kind(i+1) != hclsyntax.TokenIdent ||
		to(r.tokens[i-1]) != from(r.tokens[i]) || to(r.tokens[i]) != from(r.tokens[i+1]) {
		return
	}
	rest := string(r.tokens[i+1].Bytes)
	r.blank(from(r.tokens[i]), to(r.tokens[i+1]))
	r.put(from(r.tokens[i]), rest)
}

// fullWidth is a digit or sign of the full-width forms, which East Asian
// keyboards write. Quotes are looked for later.
func fullWidth(c rune) (lookAlike, bool) {
	plain := diag.Latin(string(c))
	if len(plain) != 1 || c < '\uff01' || c > '\uff5e' || strings.ContainsRune(quoteMarks, c) {
		return lookAlike{}, false
	}
	return lookAlike{"a full-width " + plain, plain}, true
}

// elsewhere says how often a character comes again.
func (r *repairer) elsewhere(first int, c rune) string {
	n := 0
	for _, tok := range r.tokens[first+1:] {
		if tok.Type == hclsyntax.TokenInvalid && string(tok.Bytes) == string(c) {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf("It comes %s more in this file.", count(n, "time"))
}
