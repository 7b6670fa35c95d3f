package scaffold

import (
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/engine/spec"
)

// sample is a value of a type, as the language writes it. Lines after the first
// are indented as if it stood at a depth of spaces. Optional members are left out.
func sample(t *spec.Type, depth int) string {
	if t == nil {
		return "{}"
	}
	switch t.Kind {
	case spec.TypeNumber:
		return "1"
	case spec.TypeBool:
		return "true"
	case spec.TypeList:
		return "[" + sample(t.Elem, depth) + "]"
	case spec.TypeMap:
		return "{ key = " + sample(t.Elem, depth) + " }"
	case spec.TypeObject:
		return object(t, depth)
	case spec.TypeString:
		return `"text"`
	}
	return "{}"
}

// object is a value of an object's type, a member a line.
func object(t *spec.Type, depth int) string {
	var members []string
	for _, a := range t.Attrs {
		if !a.Optional {
			members = append(members, memberName(a.Name)+" = "+sample(a.Type, depth+2)+"\n")
		}
	}
	if len(members) == 0 {
		return "{}"
	}
	indent := strings.Repeat(" ", depth)
	return "{\n" + indent + "  " + strings.Join(members, indent+"  ") + indent + "}"
}

// memberName is the name of a member as an object writes it.
func memberName(name string) string {
	if hclsyntax.ValidIdentifier(name) && !slices.Contains([]string{"for", "null", "true", "false"}, name) {
		return name
	}
	return quotedText(name)
}

// quotedText is a constant string of the language.
func quotedText(s string) string {
	return `"` + strings.NewReplacer(
		`\`, `\\`, `"`, `\"`, "\n", `\n`, "\r", `\r`, "\t", `\t`, "${", "$${", "%{", "%%{",
	).Replace(s) + `"`
}

// body is an entry's body for a stream.
func body(s *spec.Stream, depth int) string {
	if s.Entry == nil && (s.Codec == spec.CodecText || s.Codec == spec.CodecBytes) {
		return `"text"`
	}
	if s.Entry == nil && s.Codec == spec.CodecFields {
		return `{ field = "text" }` // an entry has one field at least
	}
	return sample(s.Entry, depth)
}
