package lang

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"unicode"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/schema"
)

// sortedAttributes are the arguments of a body in file order.
func sortedAttributes(body *hclsyntax.Body) []*hclsyntax.Attribute {
	out := make([]*hclsyntax.Attribute, 0, len(body.Attributes))
	for _, a := range body.Attributes {
		out = append(out, a)
	}
	slices.SortFunc(out, func(a, b *hclsyntax.Attribute) int { return a.SrcRange.Start.Byte - b.SrcRange.Start.Byte })
	return out
}

// firstAttribute is the argument of the name in the body that holds an offset.
func firstAttribute(body *hclsyntax.Body, name string, offset int) *hclsyntax.Attribute {
	if body == nil {
		return nil
	}
	for _, b := range body.Blocks {
		if r := b.Body.SrcRange; r.Start.Byte <= offset && offset < r.End.Byte {
			return firstAttribute(b.Body, name, offset)
		}
	}
	return body.Attributes[name]
}

// quotedList writes "a", "b" and "c".
func quotedList(words []string) string {
	quoted := make([]string, len(words))
	for i, w := range words {
		quoted[i] = strconv.Quote(w)
	}
	return list(quoted)
}

// list writes a, b and c.
func list(words []string) string {
	if len(words) < 2 {
		return strings.Join(words, "")
	}
	last := len(words) - 1
	return strings.Join(words[:last], ", ") + " and " + words[last]
}

// count writes a number with its noun: "no label", "1 label", "2 labels".
func count(n int, noun string) string {
	switch n {
	case 0:
		return "no " + noun
	case 1:
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}

// identifier is a name made fit for references.
func identifier(s string) string {
	clean := strings.Map(func(r rune) rune {
		switch {
		case unicode.IsLetter(r), r >= '0' && r <= '9', r == '_':
			return r
		}
		return '_'
	}, s)
	clean = strings.Trim(clean, "_")
	if clean == "" || !hclsyntax.ValidIdentifier(clean) {
		return ""
	}
	return clean
}

// sample is a value that an argument could have.
func sample(a *schema.Arg) string {
	if a.Kind == schema.String && a.Allowed != nil {
		return strconv.Quote(a.Allowed[0])
	}
	if a.Kind == schema.Condition {
		return a.Example
	}
	switch a.Kind {
	case schema.Reference:
		return a.Target + ".name"
	case schema.Duration:
		return strconv.Quote("30s")
	case schema.Size:
		return strconv.Quote("16MiB")
	case schema.Integer, schema.Number:
		return "1"
	case schema.Bool:
		return "true"
	case schema.Strings:
		return "[\"…\"]"
	case schema.Expression:
		return "entry.id"
	case schema.Type:
		return "object({ id = number })"
	}
	return "\"…\""
}
