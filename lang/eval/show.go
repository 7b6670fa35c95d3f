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
func Show(v cty.Value) string {
	var b strings.Builder
	show(&b, v)
	text := b.String()
	if len(text) > maxShown {
		cut := maxShown
		for cut > 0 && text[cut]&0xc0 == 0x80 {
			cut--
		}
		text = text[:cut] + "…"
	}
	return text
}

func show(b *strings.Builder, v cty.Value) {
	if v.IsMarked() {
		b.WriteString(diag.Hidden)
		return
	}
	if b.Len() > maxShown {
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
		showMembers(b, v)
	case v.CanIterateElements():
		showElements(b, v)
	default:
		b.WriteString(ty.FriendlyName())
	}
}

func showMembers(b *strings.Builder, v cty.Value) {
	b.WriteString("{")
	sep := " "
	for it := v.ElementIterator(); it.Next() && b.Len() <= maxShown; sep = ", " {
		k, e := it.Element()
		b.WriteString(sep)
		k, _ = k.Unmark()
		b.WriteString(k.AsString() + " = ")
		show(b, e)
	}
	if sep != " " {
		b.WriteString(" ")
	}
	b.WriteString("}")
}

func showElements(b *strings.Builder, v cty.Value) {
	b.WriteString("[")
	sep := ""
	for it := v.ElementIterator(); it.Next() && b.Len() <= maxShown; sep = ", " {
		_, e := it.Element()
		b.WriteString(sep)
		show(b, e)
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
