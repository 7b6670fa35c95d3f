package lang

import (
	"errors"
	"fmt"
	"math"
	"math/big"
	"slices"
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"

	"pipeline/lang/diag"
	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

type diagnostics = hcl.Diagnostics

// converter reads one evaluated argument by its kind and reports what does not
// fit.
type converter struct {
	l    *loader
	arg  *schema.Arg
	v    *value
	expr hclsyntax.Expression
	got  cty.Value
}

func (c *converter) convert() bool {
	switch c.arg.Kind {
	case schema.String:
		return c.text()
	case schema.Strings:
		return c.texts()
	case schema.Bool:
		return c.flag()
	case schema.Integer, schema.Number:
		return c.number()
	case schema.Duration:
		return c.duration()
	case schema.Size:
		return c.size()
	}
	return true
}

// wrong reports a value of another type.
func (c *converter) wrong(need string) *diag.Diagnostic {
	return c.l.fail(diag.WrongType, c.v.rng, fmt.Sprintf("%s must be %s, this is %s", c.arg.Name, need, eval.A(eval.TypeName(c.got.Type()))), "")
}

// fix adds an edit when the argument is written as a constant right here.
func (c *converter) fix(d *diag.Diagnostic, text string) {
	d.Suggest(text)
	if isConstant(c.expr) {
		d.Edit(c.v.rng, text)
		return
	}
	c.values(d)
}

// values shows what the names in the expression stand for.
func (c *converter) values(d *diag.Diagnostic) {
	if !isConstant(c.expr) && !c.arg.Secret {
		d.Values = append(d.Values, diag.Value{Name: c.arg.Name, Value: eval.Show(c.got)})
	}
}

// isConstant reports whether an expression names nothing.
func isConstant(e hclsyntax.Expression) bool {
	switch x := e.(type) {
	case *hclsyntax.LiteralValueExpr:
		return true
	case *hclsyntax.UnaryOpExpr:
		return isConstant(x.Val)
	}
	_, isText := eval.LiteralText(e)
	return isText
}

func (c *converter) text() bool {
	if c.got.Type() != cty.String {
		d := c.wrong("a string")
		if only := c.single(cty.String); only != "" {
			d.Suggest(only).Edit(c.v.rng, only)
		} else if c.arg.Allowed != nil {
			c.closest(d)
		} else if s, err := convert.Convert(c.got, cty.String); err == nil && isConstant(c.expr) && !s.IsNull() {
			c.fix(d, strconv.Quote(c.l.sourceOf(c.expr.Range())))
		}
		return false
	}
	c.v.text = c.got.AsString()
	if c.arg.Allowed != nil && c.arg.Also == "" {
		return c.allowed(c.v.text)
	}
	if c.v.text == "" && c.arg.Required {
		c.l.fail(diag.InvalidValue, c.v.rng, c.arg.Name+" is empty", "Give it a value.")
		return false
	}
	return true
}

// allowed checks a text against the closed list of values.
func (c *converter) allowed(text string) bool {
	if slices.Contains(c.arg.Allowed, text) {
		return true
	}
	d := c.l.fail(diag.InvalidValue, c.v.rng, fmt.Sprintf("%s cannot be %s", c.arg.Name, eval.Show(c.got)), "")
	c.closest(d)
	c.values(d)
	return false
}

// closest suggests the allowed value that was meant.
func (c *converter) closest(d *diag.Diagnostic) {
	if c.arg.Kind != schema.String {
		d.Detail = "It is " + strings.Join(c.arg.Allowed, " or ") + "."
		if len(c.arg.Allowed) == 1 {
			d.Suggest(c.arg.Allowed[0])
		}
		return
	}
	text := strings.Trim(eval.Show(c.got), `"`)
	if c.got.Type() == cty.String {
		text = c.got.AsString()
	}
	near := meantValue(c.arg, text)
	if near == "" && len(c.arg.Allowed) == 1 {
		near = c.arg.Allowed[0]
	}
	d.Detail = "It is " + either(c.arg.Allowed) + "."
	if c.arg.Also != "" {
		d.Detail = "It is " + either(c.arg.Allowed) + ", or " + c.arg.Also + "."
	}
	if near != "" {
		d.Suggest(near)
		if isConstant(c.expr) {
			d.Edit(c.v.rng, strconv.Quote(near))
		}
	}
}

// meantValue is the allowed value that a text stands for, or "".
func meantValue(arg *schema.Arg, text string) string {
	if near := diag.Nearest(text, arg.Allowed); near != "" {
		return near
	}
	return valueAliases[arg.Name][strings.ToLower(diag.Latin(text))]
}

// valueAliases are what people write for the values of closed lists.
var valueAliases = map[string]map[string]string{
	"start":          {"$": "new", "latest": "new", "now": "new", "end": "new", "last": "new", ">": "new", "tail": "new", "0": "beginning", "0-0": "beginning", "earliest": "beginning", "first": "beginning", "start": "beginning", "oldest": "beginning", "all": "beginning"},
	"codec":          {"hash": "fields", "flat": "fields", "raw": "bytes", "binary": "bytes", "protobuf": "bytes", "proto": "bytes", "msgpack": "bytes", "avro": "bytes", "cbor": "bytes", "string": "text", "utf8": "text", "plain": "text"},
	"using":          {"xautoclaim": "autoclaim", "xreadgroup": "read", "claim": "autoclaim", "xclaim": "autoclaim", "automatic": "auto"},
	"on_invalid":     {"dead_letter": "dead", "dlq": "dead", "skip": "drop", "ignore": "drop", "discard": "drop", "fail": "stop", "abort": "stop"},
	"on_failure":     {"dead_letter": "dead", "dlq": "dead", "fail": "stop", "abort": "stop"},
	"while_retrying": {"block": "hold", "wait": "hold", "strict": "hold", "continue": "pass", "skip": "pass"},
	"protect":        {"unacked": "unacknowledged", "pending": "unacknowledged", "acked": "unacknowledged", "unread": "unacknowledged", "true": "unacknowledged"},
	"input":          {"bytes": "raw", "body": "raw", "json": "envelope"},
}

// either writes "a", "b" or "c".
func either(words []string) string {
	text := quotedList(words)
	if i := strings.LastIndex(text, " and "); i >= 0 {
		return text[:i] + " or " + text[i+5:]
	}
	return text
}

func (c *converter) texts() bool {
	if c.got.Type() == cty.String && isConstant(c.expr) {
		c.fix(c.wrong("a list of strings"), listOf(c.got.AsString()))
		return false
	}
	if !c.got.CanIterateElements() || c.got.Type().IsObjectType() || c.got.Type().IsMapType() {
		c.wrong("a list of strings")
		return false
	}
	for it := c.got.ElementIterator(); it.Next(); {
		_, e := it.Element()
		if e.IsNull() || e.Type() != cty.String {
			c.l.fail(diag.WrongType, c.v.rng, fmt.Sprintf("%s must be a list of strings", c.arg.Name), "One of its elements is "+eval.A(eval.TypeName(e.Type()))+".")
			return false
		}
		c.v.list = append(c.v.list, e.AsString())
	}
	return true
}

func (c *converter) flag() bool {
	if c.got.Type() == cty.Bool {
		c.v.flag = c.got.True()
		return true
	}
	d := c.wrong("true or false")
	if c.got.Type() == cty.Number {
		switch eval.Number(c.got) {
		case "1":
			c.fix(d, "true")
		case "0":
			c.fix(d, "false")
		}
	}
	if c.got.Type() == cty.String {
		switch strings.ToLower(c.got.AsString()) {
		case "true", "yes", "on", "1":
			c.fix(d, "true")
		case "false", "no", "off", "0":
			c.fix(d, "false")
		}
	}
	return false
}

func (c *converter) number() bool {
	if c.got.Type() != cty.Number {
		d := c.wrong("a number")
		if c.got.Type() == cty.String {
			if n, err := convert.Convert(c.got, cty.Number); err == nil {
				c.fix(d, eval.Number(n))
			} else if meant := meantNumber(c.arg, c.got.AsString()); meant != "" {
				c.fix(d, meant)
			}
		}
		return false
	}
	f := c.got.AsBigFloat()
	if c.arg.Kind == schema.Integer {
		if !f.IsInt() {
			c.l.fail(diag.WrongType, c.v.rng, fmt.Sprintf("%s must be a whole number, this is %s", c.arg.Name, eval.Show(c.got)), "")
			return false
		}
		c.v.integer, _ = f.Int64()
	}
	c.v.number, _ = f.Float64()
	if c.arg.Allowed != nil && !slices.Contains(c.arg.Allowed, eval.Show(c.got)) {
		return c.allowed(eval.Show(c.got))
	}
	return c.bounds(f, func(bound string) *big.Float { n, _, _ := big.ParseFloat(bound, 10, 64, 0); return n })
}

func (c *converter) duration() bool {
	if c.got.Type() != cty.String {
		return c.unit(diag.InvalidDuration, "a duration, a string with a unit", "s")
	}
	d, err := eval.ParseDuration(c.got.AsString())
	if err != nil {
		return c.badUnit(diag.InvalidDuration, err, "Units are us, ms, s, m, h, d and w.")
	}
	c.v.dur = d
	return c.bounds(big.NewFloat(float64(d)), func(bound string) *big.Float {
		b, _ := eval.ParseDuration(bound)
		return big.NewFloat(float64(b))
	})
}

func (c *converter) size() bool {
	if c.got.Type() != cty.String {
		return c.unit(diag.InvalidSize, "a size, a string with a unit", "B")
	}
	n, err := eval.ParseSize(c.got.AsString())
	if err != nil {
		return c.badUnit(diag.InvalidSize, err, "Units are B, KiB, MiB and GiB.")
	}
	c.v.integer = n
	return c.bounds(big.NewFloat(float64(n)), func(bound string) *big.Float {
		b, _ := eval.ParseSize(bound)
		return big.NewFloat(float64(b))
	})
}

// unit reports a bare number where a unit is needed.
func (c *converter) unit(code diag.Code, need, unit string) bool {
	if c.got.Type() != cty.Number {
		c.wrong(need)
		return false
	}
	if usual := strings.TrimLeft(c.arg.Default, "0123456789."); code == diag.InvalidSize && usual != "" {
		unit = usual
	}
	d := c.l.fail(code, c.v.rng, fmt.Sprintf("%s needs a unit", c.arg.Name), "It is "+need+".")
	number := eval.Number(c.got)
	if bytes, err := strconv.ParseInt(number, 10, 64); code == diag.InvalidSize && err == nil && bytes >= 1<<10 {
		number, unit = largestUnit(bytes)
	}
	if code == diag.InvalidDuration {
		number, unit = c.durationFor(number)
	}
	d.Suggest(strconv.Quote(number + unit)) // no edit: the unit is a guess
	c.values(d)
	return false
}

// largestUnit writes a number of bytes in the largest unit that keeps it whole.
// A bare number of a thousand or more is hardly one of MiB.
func largestUnit(bytes int64) (number, unit string) {
	units := []string{"B", "KiB", "MiB", "GiB"}
	u := 0
	for ; u < len(units)-1 && bytes%(1<<10) == 0; u++ {
		bytes /= 1 << 10
	}
	return strconv.FormatInt(bytes, 10), units[u]
}

// badUnit reports a text that is no number with a unit.
func (c *converter) badUnit(code diag.Code, err error, detail string) bool {
	unit, ok := errors.AsType[*eval.UnitError](err)
	if !ok {
		c.l.fail(code, c.v.rng, err.Error(), detail)
		return false
	}
	d := c.l.fail(code, c.v.rng, fmt.Sprintf("%s: %s", c.arg.Name, unit.Error()), detail)
	if unit.Suggestion != "" {
		d.Suggest(unit.Suggestion)
		if isConstant(c.expr) && !unit.Guessed {
			d.Edit(c.v.rng, strconv.Quote(unit.Suggestion))
		}
	}
	c.values(d)
	return false
}

// bounds checks a number against the schema's bounds.
func (c *converter) bounds(got *big.Float, parse func(string) *big.Float) bool {
	low := c.arg.Min != "" && got.Cmp(parse(c.arg.Min)) < 0
	high := c.arg.Max != "" && got.Cmp(parse(c.arg.Max)) > 0
	if !low && !high && got.Sign() >= 0 {
		return true
	}
	limit := "at least " + c.arg.Min
	if high {
		limit = "at most " + c.arg.Max
	} else if c.arg.Min == "" {
		limit = "0 or more"
	}
	shown := strings.Trim(eval.Show(c.got), `"`)
	detail := ""
	if c.arg.Why != "" && !c.arg.Required {
		detail = "The reason: " + c.arg.Why + "."
	}
	d := c.l.fail(diag.OutOfRange, c.v.rng, fmt.Sprintf("%s must be %s, this is %s", c.arg.Name, limit, shown), detail)
	c.values(d)
	c.inBounds(d, got, high)
	return false
}

// readDefault fills in the schema's default, which a test checks.
func readDefault(v *value, arg *schema.Arg) {
	switch arg.Kind {
	case schema.String:
		v.text = arg.Default
	case schema.Bool:
		v.flag = arg.Default == "true"
	case schema.Integer, schema.Number:
		v.number, _ = strconv.ParseFloat(arg.Default, 64)
		v.integer = int64(math.Round(v.number))
	case schema.Duration:
		v.dur, _ = eval.ParseDuration(arg.Default)
	case schema.Size:
		v.integer, _ = eval.ParseSize(arg.Default)
	}
}
