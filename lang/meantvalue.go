package lang

import (
	"fmt"
	"math/big"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// durationFor is a bare number with the unit that was probably meant: what
// Redis and most queues count in milliseconds is round in them, hours and days
// are round in seconds.
func (c *converter) durationFor(number string) (n, unit string) {
	count, err := strconv.ParseInt(number, 10, 64)
	switch {
	case err != nil || count < 1000 || count > 1<<40:
		return number, "s"
	case count%3600 == 0 && count < 1<<32:
		return text(time.Duration(count) * time.Second), ""
	}
	return text(time.Duration(count) * time.Millisecond), ""
}

var (
	suffixed = regexp.MustCompile(`^(\d{1,12}(?:\.\d+)?)\s*([kKmM%])$`)
	grouped  = regexp.MustCompile(`^\d{1,3}([,_ ]\d{3})+$`)
)

// meantNumber is the number that a text stands for, or "".
func meantNumber(arg *schema.Arg, text string) string {
	if grouped.MatchString(text) {
		return strings.NewReplacer(",", "", "_", "", " ", "").Replace(text)
	}
	m := suffixed.FindStringSubmatch(text)
	if m == nil {
		return ""
	}
	n, err := strconv.ParseFloat(m[1], 64)
	if err != nil {
		return ""
	}
	switch strings.ToLower(m[2]) {
	case "k":
		n *= 1e3
	case "m":
		n *= 1e6
	case "%":
		if arg.Max != "1" {
			return ""
		}
		n /= 100
	}
	return strconv.FormatFloat(n, 'f', -1, 64)
}

// inBounds proposes the nearest number that is allowed; a fraction that is
// given in percent is divided.
func (c *converter) inBounds(d *diag.Diagnostic, got *big.Float, high bool) {
	if c.arg.Kind != schema.Integer && c.arg.Kind != schema.Number {
		return
	}
	n, _ := got.Float64()
	switch {
	case high && c.arg.Max == "1" && n <= 100:
		d.Suggest(strconv.FormatFloat(n/100, 'f', -1, 64))
	case high:
		d.Suggest(c.arg.Max)
	case n >= 0 && c.arg.Min != "":
		d.Suggest(c.arg.Min)
	}
}

// single is the only element of a list that is written out, as it stands in
// the file, when it is of a type; else "".
func (c *converter) single(t cty.Type) string {
	list, ok := c.expr.(*hclsyntax.TupleConsExpr)
	if !ok || len(list.Exprs) != 1 || !isConstant(list.Exprs[0]) {
		return ""
	}
	if v, diags := list.Exprs[0].Value(nil); diags.HasErrors() || v.Type() != t {
		return ""
	}
	return c.l.sourceOf(list.Exprs[0].Range())
}

// listOf is a text as a list of strings; commas separate elements.
func listOf(text string) string {
	parts := strings.Split(text, ",")
	for i, p := range parts {
		parts[i] = strconv.Quote(strings.TrimSpace(p))
	}
	return "[" + strings.Join(parts, ", ") + "]"
}

// dateID is the id of the first entry of a day, or "".
func dateID(text string) string {
	for _, layout := range []string{time.DateOnly, time.DateTime, time.RFC3339} {
		if t, err := time.Parse(layout, text); err == nil && t.UnixMilli() > 0 {
			return fmt.Sprintf("%d-0", t.UnixMilli())
		}
	}
	return ""
}
