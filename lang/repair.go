package lang

import (
	"bytes"
	"fmt"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// repairer reports mistakes of writing that hcl's parser misunderstands, and
// mends a copy of the text so that parsing can go on behind them. A repair
// never changes the length of the text: offsets into the copy are offsets into
// the file.
type repairer struct {
	l      *loader
	f      *file
	text   []byte
	tokens hclsyntax.Tokens
	// fatal: what is left cannot be parsed sensibly.
	fatal bool
}

// repair mends what it can; ok is false when parsing makes no sense.
func (l *loader) repair(f *file, tokens hclsyntax.Tokens) (text []byte, ok bool) {
	r := &repairer{l: l, f: f, text: bytes.Clone(f.src.Text), tokens: tokens}
	for _, pass := range []func(){r.units} {
		pass()
		if r.fatal {
			return nil, false
		}
	}
	return r.text, true
}

// fail reports a problem between two tokens, inclusive.
func (r *repairer) fail(code diag.Code, from, to int, summary, detail string) *diag.Diagnostic {
	return r.l.fail(code, r.span(from, to), summary, detail)
}

// span is the range from one token to another, inclusive.
func (r *repairer) span(from, to int) diag.Range {
	return r.f.src.Range(r.tokens[from].Range.Start.Byte, r.tokens[to].Range.End.Byte)
}

// put writes over the text at an offset.
func (r *repairer) put(offset int, s string) { copy(r.text[offset:], s) }

// poison marks a piece whose repaired value is not what is meant.
func (r *repairer) poison(start, end int) { r.f.poison = append(r.f.poison, span{start, end}) }

// units finds numbers with a unit and no quotes: 30s, 16MiB, 30 s.
func (r *repairer) units() {
	for i := 0; i+1 < len(r.tokens); i++ {
		number, word := r.tokens[i], r.tokens[i+1]
		if number.Type != hclsyntax.TokenNumberLit || word.Type != hclsyntax.TokenIdent {
			continue
		}
		start, end := number.Range.Start.Byte, word.Range.End.Byte
		adjacent := number.Range.End.Byte == word.Range.Start.Byte
		value := string(number.Bytes) + string(word.Bytes)
		if !adjacent && !isUnit(string(word.Bytes)) {
			continue
		}
		rng := r.f.src.Range(start, end)
		d := r.l.fail(diag.UnquotedValue, rng, fmt.Sprintf("%s stands without quotes", r.f.src.Text[start:end]), "Durations and sizes are strings with a unit.")
		quoted := fmt.Sprintf("%q", value)
		d.Suggest(value).Edit(rng, quoted)
		for at := start; at < end; at++ {
			r.text[at] = '0'
		}
		r.text[start] = '1'
		r.poison(start, end)
	}
}

// isUnit reports whether a word is a unit, or what people write for one.
func isUnit(word string) bool {
	_, durationErr := eval.ParseDuration("1" + word)
	_, sizeErr := eval.ParseSize("1" + word)
	return durationErr == nil || sizeErr == nil
}
