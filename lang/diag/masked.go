package diag

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"
)

// minSecret is the length from which a secret is looked for anywhere in a text.
// A shorter one would hide half of every message: it is looked for where it
// stands as a value.
const minSecret = 4

// maxPiece is in which pieces a long secret is looked for: one that repeats
// itself would else be compared at length at each place of a text.
const maxPiece = 256

// Hidden stands where a secret was.
const Hidden = "(sensitive)"

// around is what stands on both sides of a short secret that is a value: in a
// URL, or in quotes as files and messages write them.
var around = [][2]string{{":", "@"}, {`"`, `"`}, {`"`, `\"`}, {"'", "'"}, {"`", "`"}, {"“", "”"}, {"‘", "’"}, {"«", "»"}}

// secrets are values that no text shows. The zero value has none.
type secrets struct {
	// anywhere are looked for in every text; values where they stand as a value,
	// words where they stand as a word.
	anywhere, values, words map[string]bool
	// hider and masker replace the first two; nil until asked for again.
	hider, masker *strings.Replacer
}

// Secret keeps a value out of every text of the report, those already added
// too. One of fewer than four bytes is kept out where it stands in quotes or as
// the password of a URL.
func (r *Report) Secret(value string) {
	switch {
	case value == "":
	case len(value) < minSecret:
		r.secrets.add(&r.secrets.values, value)
	default:
		for len(value) >= 2*maxPiece {
			r.secrets.add(&r.secrets.anywhere, value[:maxPiece])
			value = value[maxPiece:]
		}
		r.secrets.add(&r.secrets.anywhere, value)
	}
}

// SecretWord keeps a value that is written without quotes out of every text:
// where it has fewer than four bytes, wherever it is a word of its own. One of a
// few digits is everywhere, and not looked for.
func (r *Report) SecretWord(value string) {
	r.Secret(value)
	if len(value) < minSecret && strings.Trim(value, "0123456789") != "" {
		r.secrets.add(&r.secrets.words, value)
	}
}

// Masked is a text with the known secrets as asterisks of the same length, for
// showing more of a file than a problem's line. The text itself may be returned.
func (r *Report) Masked(text []byte) []byte { return r.mask(text) }

func (s *secrets) add(to *map[string]bool, value string) {
	if *to == nil {
		*to = map[string]bool{}
	}
	if !(*to)[value] {
		(*to)[value], s.hider = true, nil
	}
}

// include adds the secrets of another report.
func (s *secrets) include(o *secrets) {
	for v := range o.anywhere {
		s.add(&s.anywhere, v)
	}
	for v := range o.values {
		s.add(&s.values, v)
	}
	for v := range o.words {
		s.add(&s.words, v)
	}
}

// none reports whether there is nothing to hide.
func (s *secrets) none() bool { return len(s.anywhere)+len(s.values) == 0 }

// scrubbed is d with every known secret replaced in its texts.
func (r *Report) scrubbed(d Diagnostic) Diagnostic {
	if r.secrets.none() {
		return d
	}
	d.Summary, d.Detail = r.scrub(d.Summary), r.scrub(d.Detail)
	if r.scrub(d.Suggestion) != d.Suggestion || r.secrets.values[d.Suggestion] {
		d.Suggestion = ""
	}
	d.Related = slices.Clone(d.Related)
	for i := range d.Related {
		d.Related[i].Text = r.scrub(d.Related[i].Text)
	}
	d.Edits = slices.DeleteFunc(slices.Clone(d.Edits), func(e Edit) bool { return r.scrub(e.Text) != e.Text })
	d.Values = slices.Clone(d.Values)
	for i := range d.Values {
		d.Values[i].Value = r.scrub(d.Values[i].Value)
	}
	return d
}

// scrub replaces the secrets in a text, the longest first.
func (r *Report) scrub(text string) string {
	if r.secrets.none() {
		return text
	}
	r.secrets.build()
	return r.secrets.replaceWords(r.secrets.hider.Replace(text), func(int) string { return Hidden })
}

// mask replaces the secrets in a line by asterisks of the same length.
func (r *Report) mask(line []byte) []byte {
	if r.secrets.none() {
		return line
	}
	r.secrets.build()
	return []byte(r.secrets.replaceWords(r.secrets.masker.Replace(string(line)), stars))
}

// build makes the replacers anew after a secret was added.
func (s *secrets) build() {
	if s.hider != nil {
		return
	}
	var hide, mask []string
	for _, v := range longestFirst(s.anywhere) {
		hide = append(hide, v, Hidden)
		mask = append(mask, v, stars(len(v)))
	}
	for _, v := range longestFirst(s.values) {
		for _, a := range around {
			hide = append(hide, a[0]+v+a[1], a[0]+Hidden+a[1])
			mask = append(mask, a[0]+v+a[1], a[0]+stars(len(v))+a[1])
		}
	}
	s.hider, s.masker = strings.NewReplacer(hide...), strings.NewReplacer(mask...)
}

func longestFirst(values map[string]bool) []string {
	return slices.SortedFunc(maps.Keys(values), func(a, b string) int { return cmp.Or(len(b)-len(a), strings.Compare(a, b)) })
}

func stars(n int) string { return strings.Repeat("*", n) }

// replaceWords replaces the words where neither a letter, a digit nor an
// underscore stands beside them.
func (s *secrets) replaceWords(text string, with func(length int) string) string {
	if len(s.words) == 0 {
		return text
	}
	var b strings.Builder
	before := utf8.RuneError
	for i := 0; i < len(text); {
		if n := s.wordAt(text[i:]); n > 0 && !isWordRune(before) {
			b.WriteString(with(n))
			i, before = i+n, utf8.RuneError
			continue
		}
		r, n := utf8.DecodeRuneInString(text[i:])
		b.WriteString(text[i : i+n])
		i, before = i+n, r
	}
	return b.String()
}

// wordAt is the length of the word that a text begins with, 0 without one.
func (s *secrets) wordAt(text string) int {
	for n := min(minSecret-1, len(text)); n > 0; n-- {
		after, _ := utf8.DecodeRuneInString(text[n:])
		if s.words[text[:n]] && !isWordRune(after) {
			return n
		}
	}
	return 0
}

func isWordRune(r rune) bool {
	return r == '_' || r != utf8.RuneError && (unicode.IsLetter(r) || unicode.IsDigit(r))
}
