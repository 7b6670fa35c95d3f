package reference

import (
	"encoding/json"
	"fmt"
	"strings"

	"pipeline/lang/eval"
	"pipeline/lang/schema"
)

// object is a JSON object.
type object = map[string]any

// JSONSchema describes a whole pipeline in the shape of HCL's JSON syntax, as a
// JSON Schema of draft 2020-12 for editors:
//
//   - A block with a label is an object of its labels, each an object of its
//     arguments and blocks: {"group": {"ledger": {…}}}. A block without one is
//     an object; one that may stand several times also an array of them.
//   - A constant is itself. A text with "${" in it is computed, and taken as
//     fitting wherever a constant is.
//   - A reference is its words, "stream.payments", and so is a type.
//
// What this version refuses is refused. Bounds of durations and sizes, and what
// is checked across blocks, are beyond a JSON Schema: they are said in
// descriptions.
func JSONSchema(version string) json.Marshaler {
	root := body(schema.Pipeline)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "Pipeline language, edition " + language()
	root["description"] = "A pipeline in the shape of HCL's JSON syntax, all its files together, as pipeline " + version + " reads it."
	root["required"] = []string{"pipeline"}
	root["$defs"] = object{
		"computed": object{"type": "string", "pattern": `\$\{`, "description": "A text with an expression in it, ${…}."},
		"name":     object{"type": "string", "pattern": `^[\p{L}_][\p{L}\p{N}_-]*$`},
		"duration": object{"type": "string", "pattern": units(eval.DurationUnits())},
		"size":     object{"type": "string", "pattern": units(eval.SizeUnits())},
		"type":     object{"type": "string", "pattern": `^\s*((string|number|bool|any)\s*$|(list|map|object)\s*\()`},
		"scalar":   object{"type": []string{"string", "number", "boolean"}},
	}
	return marshaler(root)
}

// marshaler is an object that marshals itself, so that nobody relies on what it
// is made of.
type marshaler object

// MarshalJSON writes the members sorted by name.
func (m marshaler) MarshalJSON() ([]byte, error) { return json.Marshal(object(m)) }

// units is the pattern of numbers with units.
func units(docs []eval.FormDoc) string {
	names := make([]string, len(docs))
	for i, d := range docs {
		names[i] = d.Form
	}
	return `^(([0-9]+\.?[0-9]*|\.[0-9]+)(` + strings.Join(names, "|") + `))+$`
}

// body is the schema of what stands within a block.
func body(b *schema.Block) object {
	properties := object{"//": object{"description": "A comment."}}
	var required []string
	for _, a := range b.Args {
		properties[a.Name] = property(a)
		if a.Required {
			required = append(required, a.Name)
		}
	}
	for _, name := range b.BlockNames() {
		properties[name] = nested(b, name)
		if b.Block(name, "").Min > 0 {
			required = append(required, name)
		}
	}
	out := object{"type": "object", "properties": properties, "additionalProperties": b.Free}
	if required != nil {
		out["required"] = required
	}
	for _, pair := range b.Excludes {
		out["not"] = object{"required": pair}
	}
	return out
}

// nested is the schema of all blocks of a name within a block.
func nested(parent *schema.Block, name string) object {
	var variants []*schema.Block
	for _, c := range parent.Blocks {
		if c.Name == name {
			variants = append(variants, c)
		}
	}
	b := variants[0]
	switch {
	case b.Unavailable:
		return object{"not": object{}, "description": b.Doc + notHere}
	case len(b.Labels) == 0 && b.Max == 1:
		return described(body(b), b.Doc)
	case len(b.Labels) == 0:
		one := body(b)
		return object{"description": b.Doc, "anyOf": []any{one, object{"type": "array", "items": one}}}
	}
	out := object{"type": "object", "description": b.Doc}
	if b.Min > 0 {
		out["minProperties"] = b.Min
	}
	if b.Max > 0 && len(b.Labels[0].Allowed) == 0 || b.Max > 0 && name == "broker" {
		out["maxProperties"] = b.Max
	}
	if b.Variant == "" {
		out["propertyNames"] = object{"$ref": "#/$defs/name"}
		out["additionalProperties"] = body(b)
		return out
	}
	properties := object{}
	for _, v := range variants {
		if !v.Later() {
			properties[v.Variant] = described(body(v), v.Doc)
		}
	}
	out["properties"], out["additionalProperties"] = properties, false
	return out
}

func described(schema object, doc string) object {
	schema["description"] = doc
	return schema
}

// notHere ends the description of what this version refuses.
const notHere = " Not in this version: it is refused."

// property is the schema of an argument.
func property(a *schema.Arg) object {
	if a.Unavailable {
		return object{"not": object{}, "description": a.Doc + notHere}
	}
	out := object{}
	switch a.Kind {
	case schema.Type, schema.Expression, schema.Reference, schema.Headers, schema.Any, schema.Condition:
		out = uncomputed(a)
	default:
		out["anyOf"] = []any{constant(a), object{"$ref": "#/$defs/computed"}}
	}
	out["description"] = describe(a)
	if a.Default != "" {
		out["default"] = typed(a)
	}
	if a.Secret {
		out["writeOnly"] = true
	}
	return out
}

// uncomputed is the schema of an argument that is read, not evaluated.
func uncomputed(a *schema.Arg) object {
	switch a.Kind {
	case schema.Type:
		return object{"$ref": "#/$defs/type"}
	case schema.Reference:
		return object{"type": "string", "pattern": `^` + a.Target + `\.[\p{L}_][\p{L}\p{N}_-]*$`}
	case schema.Headers:
		return object{"type": "object", "additionalProperties": object{"$ref": "#/$defs/scalar"}}
	case schema.Condition:
		return object{"anyOf": []any{object{"type": "boolean"}, object{"$ref": "#/$defs/computed"}}}
	case schema.Expression:
		return object{"$ref": "#/$defs/scalar"}
	}
	return object{}
}

// constant is the schema of an argument's constants.
func constant(a *schema.Arg) object {
	out := object{"type": "string"}
	switch a.Kind {
	case schema.Strings:
		return object{"type": "array", "items": object{"type": "string"}}
	case schema.Bool:
		return object{"type": "boolean"}
	case schema.Duration:
		return object{"$ref": "#/$defs/duration"}
	case schema.Size:
		return object{"$ref": "#/$defs/size"}
	case schema.Integer:
		out["type"] = "integer"
	case schema.Number:
		out["type"] = "number"
	}
	if a.Kind == schema.Integer || a.Kind == schema.Number {
		if a.Min != "" {
			out["minimum"] = json.Number(a.Min)
		}
		if a.Max != "" {
			out["maximum"] = json.Number(a.Max)
		}
	}
	if a.Allowed != nil && a.Also == "" {
		var values []any
		for _, v := range available(a) {
			values = append(values, typedAs(a, v))
		}
		out["enum"] = values
	}
	return out
}

// available are the values of a closed list that this version takes.
func available(a *schema.Arg) []string {
	var out []string
	for _, v := range a.Allowed {
		refused := false
		for _, r := range a.UnavailableValues {
			refused = refused || r == v
		}
		if !refused {
			out = append(out, v)
		}
	}
	return out
}

// typed is the default in JSON's types.
func typed(a *schema.Arg) any { return typedAs(a, a.Default) }

func typedAs(a *schema.Arg, text string) any {
	switch a.Kind {
	case schema.Integer, schema.Number:
		return json.Number(text)
	case schema.Bool:
		return text == "true"
	}
	return text
}

// describe is the description of an argument: what it is, and what a JSON
// Schema cannot say.
func describe(a *schema.Arg) string {
	text := a.Doc
	if a.Kind == schema.Duration || a.Kind == schema.Size {
		text += fmt.Sprintf(" A %s%s.", a.Kind, bounds(a, ""))
	}
	if a.Unit != "" {
		text += " Counts " + a.Unit + "."
	}
	if a.Default == "" && a.DefaultDoc != "" {
		text += " Default: " + a.DefaultDoc + "."
	}
	if a.Also != "" {
		text += fmt.Sprintf(" One of %s, or %s.", strings.Join(a.Allowed, ", "), a.Also)
	}
	return text
}
