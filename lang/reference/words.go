package reference

import (
	"fmt"
	"strconv"
	"strings"

	"pipeline/lang/schema"
)

// bounds says what bounds an argument, each value between two quotes: ", 1 to
// 10".
func bounds(a *schema.Arg, quote string) string {
	low, high := quote+a.Min+quote, quote+a.Max+quote
	switch {
	case a.Min != "" && a.Max != "":
		return fmt.Sprintf(", %s to %s", low, high)
	case a.Min != "":
		return ", at least " + low
	case a.Max != "":
		return ", at most " + high
	}
	return ""
}

// code sets a text as Markdown code.
func code(text string) string { return "`" + text + "`" }

// cell makes a text fit for a table of Markdown.
func cell(text string) string { return strings.ReplaceAll(text, "|", `\|`) }

// valueType is the column that says what values an argument takes.
func valueType(a *schema.Arg) string {
	switch {
	case a.Kind == schema.Reference:
		return "reference to a " + code(a.Target)
	case a.Allowed != nil:
		words := make([]string, len(a.Allowed))
		for i, v := range a.Allowed {
			words[i] = code(literal(a, v))
		}
		text := either(words)
		if a.Also != "" {
			text += ", or " + a.Also
		}
		return text
	case a.Unit != "":
		return string(a.Kind) + " of " + a.Unit + bounds(a, "")
	case a.Kind == schema.Duration || a.Kind == schema.Size:
		return string(a.Kind) + bounds(a, "`")
	}
	return string(a.Kind) + bounds(a, "")
}

// literal writes a value of an argument as in a file.
func literal(a *schema.Arg, text string) string {
	switch a.Kind {
	case schema.Integer, schema.Number, schema.Bool, schema.Type:
		return text
	}
	return strconv.Quote(text)
}

// defaultValue is the column that says what holds without an argument.
func defaultValue(a *schema.Arg) string {
	switch {
	case a.Required:
		return "**required**"
	case a.Default != "":
		return code(literal(a, a.Default))
	}
	return a.DefaultDoc
}

// either writes a, b or c.
func either(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " or " + words[last]
}

// and writes a, b and c.
func and(words []string) string {
	last := len(words) - 1
	if last < 1 {
		return strings.Join(words, "")
	}
	return strings.Join(words[:last], ", ") + " and " + words[last]
}
