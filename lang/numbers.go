package lang

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// numberHabit is a way of writing a number that hcl does not have.
type numberHabit struct {
	pattern *regexp.Regexp
	// what says what is wrong; help what to do.
	what, help string
	code       diag.Code
	// behind is what must follow; nil is anything.
	behind *regexp.Regexp
	// meant is what was to be written, "" when it cannot be said.
	meant func(name string, m []string) string
}

// plain is how numbers are written.
const plainNumber = "Numbers are written in decimal digits, with a point: 1000000, 0.5."

// numberHabits are looked for where a value begins, the longest first.
var numberHabits = []numberHabit{
	{regexp.MustCompile(`^\d{1,3}(?:_\d+)+`), "a number has no underscores", plainNumber, diag.Syntax, nil, without("_")},
	{regexp.MustCompile(`^\d{1,3}(?:,\d{3})+\b`), "a number has no commas", plainNumber, diag.Syntax, nil, without(",")},
	{regexp.MustCompile(`^0[xXoObB][0-9a-fA-F]+`), "a number is written in decimal digits", plainNumber, diag.Syntax, nil, decimal},
	{regexp.MustCompile(`^\.\d+`), "a number begins with a digit", plainNumber, diag.Syntax, nil, func(_ string, m []string) string { return "0" + m[0] }},
	{regexp.MustCompile(`^\d+\.\d+(?:\.\d+)+[\w.-]*`), "a version stands without quotes", "It is a string: two points make no number.", diag.UnquotedValue, nil, func(_ string, m []string) string { return strconv.Quote(m[0]) }},
	{regexp.MustCompile(`^(\d+)([kKmM])\b`), "a number has no suffix", plainNumber, diag.Syntax, nil, thousands},
	{regexp.MustCompile(`^(\d+(?:\.\d+)?)[ \t]*%`), "a number has no percent sign", plainNumber, diag.Syntax, lineEnd, hundredths},
	{regexp.MustCompile(`^(\d+),(\d+)`), "a number has a point, not a comma", plainNumber, diag.Syntax, lineEnd, pointed},
}

// lineEnd is the end of a line, or a comment before it.
var lineEnd = regexp.MustCompile(`^[ \t]*(?:[\r\n#]|//|$)`)

// hundredths reads 20%, and pointed 0,2, where a fraction is wanted.
func hundredths(name string, m []string) string {
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil || !allAre(name, schema.Number) {
		return ""
	}
	return strconv.FormatFloat(n/100, 'f', -1, 64)
}

func pointed(name string, m []string) string {
	if !allAre(name, schema.Number) {
		return ""
	}
	return m[1] + "." + m[2]
}

func without(sign string) func(string, []string) string {
	return func(_ string, m []string) string { return strings.ReplaceAll(m[0], sign, "") }
}

func decimal(_ string, m []string) string {
	n, ok := new(big.Int).SetString(m[0], 0)
	if !ok || len(m[0]) > 20 {
		return ""
	}
	return n.String()
}

// thousands reads 100k, where a count is wanted; a size or duration is left to
// others.
func thousands(name string, m []string) string {
	if !counts(name) {
		return ""
	}
	zeros := "000"
	if strings.EqualFold(m[2], "m") {
		zeros = "000000"
	}
	return m[1] + zeros
}

// counts reports whether all arguments of a name are whole numbers.
func counts(name string) bool { return allAre(name, schema.Integer) }

// allAre reports whether all arguments of a name are of a kind.
func allAre(name string, kind schema.Kind) bool {
	found, all := false, true
	schema.Pipeline.Walk(func(_ []string, b *schema.Block) {
		if a := b.Arg(name); a != nil {
			found, all = true, all && a.Kind == kind
		}
	})
	return found && all
}

// numbers finds numbers that are written as other languages do, where the
// value of an argument is nothing else.
func (r *repairer) numbers() {
	changed := false
	for i := 0; i+2 < len(r.tokens); i++ {
		if r.kind(i) != hclsyntax.TokenIdent || r.kind(i+1) != hclsyntax.TokenEqual {
			continue
		}
		if r.kind(i+2) == hclsyntax.TokenPlus && r.kind(i+3) == hclsyntax.TokenNumberLit {
			r.fail(diag.Syntax, i+2, i+2, "a number has no plus sign", plainNumber).Edit(r.span(i+2, i+2), "")
			r.blank(from(r.tokens[i+2]), to(r.tokens[i+2]))
			changed = true
			continue
		}
		changed = r.number(r.source(i, i), from(r.tokens[i+2])) || changed
	}
	if changed {
		r.mended()
	}
}

// number reports the value at an offset when it is a number of another
// language, and writes a plain one over it.
func (r *repairer) number(name string, start int) bool {
	if start >= len(r.text) {
		return false
	}
	if c := r.text[start]; c != '.' && (c < '0' || c > '9') {
		return false
	}
	rest := string(r.text[start:min(start+80, len(r.text))])
	for _, h := range numberHabits {
		m := h.pattern.FindStringSubmatch(rest)
		if m == nil || h.behind != nil && !h.behind.MatchString(rest[len(m[0]):]) {
			continue
		}
		meant := h.meant(name, m)
		if meant == "" {
			return false
		}
		end := start + len(m[0])
		at := r.f.src.Range(start, end)
		r.l.fail(h.code, at, fmt.Sprintf("%s: %s", name, h.what), h.help).Suggest(meant).Edit(at, meant)
		r.blank(start, end)
		if len(meant) <= len(m[0]) && h.code == diag.Syntax {
			r.put(start, meant)
			return true
		}
		r.put(start, "1")
		r.poison(start, end)
		return true
	}
	return false
}
