package eval

import (
	"strconv"
	"strings"

	"github.com/hashicorp/hcl/v2"
	"github.com/zclconf/go-cty/cty"

	"pipeline/lang/diag"
)

// mark is the type of our cty marks.
type mark string

// Sensitive marks values that are shown nowhere.
const Sensitive = mark("sensitive")

// maxShown is how much of a value a diagnostic shows, in bytes.
const maxShown = 120

// Show renders a value as the language writes it, for diagnostics. Sensitive
// values and parts are hidden, long ones cut.
func Show(v cty.Value) string { return ShowUpTo(v, maxShown) }

// ShowUpTo is Show with another bound, in bytes.
func ShowUpTo(v cty.Value, bound int) string {
	b := shower{bound: bound}
	b.show(v)
	text := b.String()
	if len(text) > bound {
		cut := bound
		for cut > 0 && text[cut]&0xc0 == 0x80 {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

// shower writes values until there is enough.
type shower struct {
	strings.Builder

	bound int
}

func (b *shower) show(v cty.Value) {
	if v.IsMarked() {
		b.WriteString(diag.Hidden)
		return
	}
	if b.Len() > b.bound {
		return
	}
	switch ty := v.Type(); {
	case !v.IsKnown():
		b.WriteString("(unknown)")
	case v.IsNull():
		b.WriteString("null")
	case ty == cty.String:
		b.WriteString(strconv.Quote(v.AsString()))
	case ty == cty.Number:
		b.WriteString(Number(v))
	case ty == cty.Bool:
		b.WriteString(strconv.FormatBool(v.True()))
	case ty.IsObjectType() || ty.IsMapType():
		b.members(v)
	case v.CanIterateElements():
		b.elements(v)
	default:
		b.WriteString(ty.FriendlyName())
	}
}

func (b *shower) members(v cty.Value) {
	b.WriteString("{")
	sep := " "
	for it := v.ElementIterator(); it.Next() && b.Len() <= b.bound; sep = ", " {
		k, e := it.Element()
		b.WriteString(sep)
		k, _ = k.Unmark()
		b.WriteString(k.AsString() + " = ")
		b.show(e)
	}
	if sep != " " {
		b.WriteString(" ")
	}
	b.WriteString("}")
}

func (b *shower) elements(v cty.Value) {
	b.WriteString("[")
	sep := ""
	for it := v.ElementIterator(); it.Next() && b.Len() <= b.bound; sep = ", " {
		_, e := it.Element()
		b.WriteString(sep)
		b.show(e)
	}
	b.WriteString("]")
}

// maxExponent bounds numbers: ten to this many digits. One could be written in
// a few bytes that takes minutes to print.
const maxExponent = 400

// PlainNumber reports whether a text can be read as a number without costing
// more than it says: it need not be one.
func PlainNumber(text string) bool {
	if len(text) > 2*maxExponent {
		return false
	}
	_, exponent, ok := strings.Cut(strings.ToLower(text), "e")
	if !ok {
		return true
	}
	n, err := strconv.Atoi(strings.TrimPrefix(exponent, "+"))
	return err != nil && len(exponent) < 4 || err == nil && n >= -maxExponent && n <= maxExponent
}

// Number writes a number with all its digits.
func Number(v cty.Value) string { return v.AsBigFloat().Text('f', -1) }

// TypeName is the language's word for the type of a value.
func TypeName(ty cty.Type) string {
	switch {
	case ty == cty.String, ty == cty.Number, ty == cty.Bool:
		return ty.FriendlyName()
	case ty.IsObjectType(), ty.IsMapType():
		return "object"
	case ty.IsTupleType(), ty.IsListType(), ty.IsSetType():
		return "list"
	default:
		return "value"
	}
}

// IsSensitive reports whether any part of a value is sensitive.
func IsSensitive(v cty.Value) bool { return v.ContainsMarked() }

// Range is the range of a report's file that hcl means.
func Range(r *diag.Report, h hcl.Range) diag.Range {
	return r.At(h.Filename, h.Start.Byte, h.End.Byte)
}

// A returns the word with its indefinite article.
func A(word string) string {
	if word != "" && strings.ContainsRune("aeiou", rune(word[0])) {
		return "an " + word
	}
	return "a " + word
}
