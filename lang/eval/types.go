package eval

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"
	"github.com/zclconf/go-cty/cty/convert"
	ctyjson "github.com/zclconf/go-cty/cty/json"

	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// typeAliases are names that other languages give to our types.
var typeAliases = map[string]string{
	"str": "string", "enum": "string", "char": "string", "bytes": "string", "text": "string", "varchar": "string", "uuid": "string", "date": "string", "datetime": "string", "timestamp": "string",
	"int": "number", "integer": "number", "int32": "number", "int64": "number", "uint64": "number", "float": "number", "double": "number", "decimal": "number", "long": "number", "num": "number",
	"boolean": "bool", "array": "list", "set": "list", "tuple": "list", "slice": "list", "vector": "list",
	"dict": "map", "hash": "map", "struct": "object", "record": "object", "json": "any", "dynamic": "any", "anything": "any", "unknown": "any",
}

var (
	plainTypes = []string{"string", "number", "bool", "any"}
	typeNames  = []string{"string", "number", "bool", "any", "list", "map", "object"}
)

// ParseType reads a type: string, number, bool, any, list(T), map(T) or
// object({ name = T, other = optional(T, default) }). ok is false when a
// diagnostic was reported.
func (s *Scope) ParseType(e hclsyntax.Expression) (t *spec.Type, ok bool) {
	switch x := e.(type) {
	case *hclsyntax.ScopeTraversalExpr:
		if len(x.Traversal) == 1 {
			return s.plainType(x, x.Traversal.RootName())
		}
	case *hclsyntax.FunctionCallExpr:
		return s.builtType(x)
	case *hclsyntax.TemplateExpr:
		if word, isText := literalText(x); isText {
			return nil, s.quotedType(x, word)
		}
	case *hclsyntax.ObjectConsExpr:
		text := s.text(x)
		s.fail(diag.InvalidType, x, "an object type is written object({ … })", "").Edit(s.at(x.Range()), "object("+text+")")
		return nil, false
	}
	d := s.fail(diag.InvalidType, e, "this is not a type", typeHelp)
	if list, ok := e.(*hclsyntax.TupleConsExpr); ok && len(list.Exprs) == 1 {
		shape := "list(" + s.text(list.Exprs[0]) + ")"
		d.Suggest(shape).Edit(s.at(e.Range()), shape)
	}
	return nil, false
}

const typeHelp = "Types are string, number, bool, any, list(…), map(…) and object({ name = type, … })."

func (s *Scope) plainType(e hclsyntax.Expression, name string) (*spec.Type, bool) {
	if slices.Contains(plainTypes, name) {
		return &spec.Type{Kind: spec.TypeKind(name)}, true
	}
	if slices.Contains(typeNames, name) {
		s.fail(diag.InvalidType, e, fmt.Sprintf("%s needs the type of what it holds", name), "Write "+example(name)+".").Suggest(example(name))
		return nil, false
	}
	meant := meantType(name)
	p := s.fail(diag.InvalidType, e, fmt.Sprintf("there is no type %q", name), typeHelp).Suggest(meant)
	if slices.Contains(plainTypes, meant) {
		p.Edit(s.at(e.Range()), meant)
	}
	return nil, false
}

func (s *Scope) quotedType(e hclsyntax.Expression, word string) bool {
	p := s.fail(diag.InvalidType, e, "a type is written without quotes", typeHelp)
	if meant := meantType(word); meant != "" {
		p.Suggest(meant)
		p.Edit(s.at(e.Range()), meant)
	}
	return false
}

// MeantType is the type that a word of another language stands for, or "".
func MeantType(word string) string { return meantType(word) }

// TypeHelp says what types there are.
const TypeHelp = typeHelp

func meantType(word string) string {
	lower := strings.ToLower(word)
	if slices.Contains(typeNames, lower) {
		return lower
	}
	if alias := typeAliases[lower]; alias != "" {
		return alias
	}
	return diag.Nearest(word, typeNames)
}

func example(name string) string {
	if name == "object" {
		return "object({ id = number })"
	}
	return name + "(string)"
}

func (s *Scope) builtType(x *hclsyntax.FunctionCallExpr) (*spec.Type, bool) {
	switch x.Name {
	case "list", "map":
		if len(x.Args) != 1 {
			d := s.fail(diag.InvalidType, x, x.Name+" takes one type", "Write "+example(x.Name)+".")
			if x.Name == "map" && len(x.Args) == 2 {
				d.Detail = "The keys of a map are always strings; write the type of its values."
				d.Suggest("map(" + s.text(x.Args[1]) + ")")
			}
			return nil, false
		}
		elem, ok := s.ParseType(x.Args[0])
		return &spec.Type{Kind: spec.TypeKind(x.Name), Elem: elem}, ok
	case "object":
		return s.objectType(x)
	case "optional":
		s.fail(diag.InvalidType, x, "optional stands only for a member of an object", "Write object({ name = optional(string) }).")
		return nil, false
	}
	if slices.Contains(plainTypes, x.Name) {
		s.fail(diag.InvalidType, x, fmt.Sprintf("%s takes no parentheses", x.Name), "").Suggest(x.Name).Edit(s.at(x.Range()), x.Name)
		return nil, false
	}
	meant := meantType(x.Name)
	p := s.failAt(diag.InvalidType, x.NameRange, fmt.Sprintf("there is no type %q", x.Name), typeHelp).Suggest(meant)
	if meant == "list" || meant == "map" || meant == "object" {
		p.Edit(s.at(x.NameRange), meant)
	}
	return nil, false
}

func (s *Scope) objectType(x *hclsyntax.FunctionCallExpr) (*spec.Type, bool) {
	var cons *hclsyntax.ObjectConsExpr
	if len(x.Args) == 1 {
		cons, _ = x.Args[0].(*hclsyntax.ObjectConsExpr)
	}
	if cons == nil {
		s.fail(diag.InvalidType, x, "object takes its members in braces", "Write object({ id = number }).")
		return nil, false
	}
	t, ok := &spec.Type{Kind: spec.TypeObject}, true
	seen := map[string]bool{}
	for _, item := range cons.Items {
		name, isName := memberName(item.KeyExpr)
		if !isName {
			s.fail(diag.InvalidType, item.KeyExpr, "the name of a member must be a word or a string", "")
			ok = false
			continue
		}
		if seen[name] {
			s.fail(diag.DuplicateName, item.KeyExpr, fmt.Sprintf("the member %q is declared twice", name), "Remove one.")
			ok = false
			continue
		}
		seen[name] = true
		attr, good := s.member(name, item.ValueExpr)
		t.Attrs, ok = append(t.Attrs, attr), ok && good
	}
	slices.SortFunc(t.Attrs, func(a, b spec.Attr) int { return strings.Compare(a.Name, b.Name) })
	return t, ok
}

// member reads the type of a member, which may be optional.
func (s *Scope) member(name string, e hclsyntax.Expression) (spec.Attr, bool) {
	call, isCall := e.(*hclsyntax.FunctionCallExpr)
	if !isCall || call.Name != "optional" {
		t, ok := s.ParseType(e)
		return spec.Attr{Name: name, Type: t}, ok
	}
	if len(call.Args) < 1 || len(call.Args) > 2 {
		s.fail(diag.InvalidType, call, "optional takes a type and perhaps a default", "Write optional(string) or optional(string, \"EUR\").")
		return spec.Attr{Name: name}, false
	}
	t, ok := s.ParseType(call.Args[0])
	attr := spec.Attr{Name: name, Type: t, Optional: true}
	if !ok || len(call.Args) == 1 {
		return attr, ok
	}
	v, ok := s.Eval(call.Args[1], Use{})
	if !ok {
		return attr, false
	}
	v, _ = v.UnmarkDeep()
	v, err := Convert(v, t)
	if err != nil {
		s.fail(diag.TypeMismatch, call.Args[1], fmt.Sprintf("the default of %q is not %s", name, A(string(t.Kind))), upperFirst(err.Error())+".").Suggest(Meant(err))
		return attr, false
	}
	text, err := ctyjson.Marshal(v, v.Type())
	if err != nil {
		s.fail(diag.InvalidValue, call.Args[1], fmt.Sprintf("the default of %q cannot be written as JSON", name), "")
		return attr, false
	}
	attr.Default = string(text)
	return attr, true
}

// memberName is the name that an object's key writes.
func memberName(e hclsyntax.Expression) (string, bool) {
	if key, ok := e.(*hclsyntax.ObjectConsKeyExpr); ok {
		if v, diags := key.Value(nil); !diags.HasErrors() && v.Type() == cty.String && !v.IsNull() {
			return v.AsString(), true
		}
	}
	return "", false
}

// Convert converts a value to a declared type, filling in defaults of members
// that are absent. The error says which part does not fit, without showing it.
func Convert(v cty.Value, t *spec.Type) (cty.Value, error) {
	if t == nil || t.Kind == spec.TypeAny {
		return v, nil
	}
	if v.ContainsMarked() {
		v, _ = v.UnmarkDeep()
		out, err := Convert(v, t)
		if err != nil {
			return cty.NilVal, err
		}
		return out.Mark(Sensitive), nil
	}
	if v.IsNull() {
		return cty.NullVal(ctyType(t)), nil
	}
	switch t.Kind {
	case spec.TypeString, spec.TypeNumber, spec.TypeBool:
		out, err := convert.Convert(v, ctyType(t))
		if err != nil {
			return cty.NilVal, fmt.Errorf("%s is needed, this is %s", A(string(t.Kind)), A(TypeName(v.Type())))
		}
		return out, nil
	case spec.TypeObject:
		return convertObject(v, t)
	default:
		return convertElements(v, t)
	}
}

func convertObject(v cty.Value, t *spec.Type) (cty.Value, error) {
	if !v.Type().IsObjectType() && !v.Type().IsMapType() {
		return cty.NilVal, fmt.Errorf("an object is needed, this is %s", A(TypeName(v.Type())))
	}
	given := v.AsValueMap()
	out := map[string]cty.Value{}
	for name, e := range given {
		if t.Attr(name) == nil {
			return cty.NilVal, &memberError{name, diag.Nearest(name, attrNames(t))}
		}
		out[name] = e
	}
	for _, a := range t.Attrs {
		e, ok := given[a.Name]
		switch {
		case ok && (!e.IsNull() || a.Default == ""):
			c, err := Convert(e, a.Type)
			if err != nil {
				return cty.NilVal, fmt.Errorf("member %q: %w", a.Name, err)
			}
			out[a.Name] = c
		case a.Default != "":
			d, err := fromJSON(a.Default)
			if err != nil {
				return cty.NilVal, fmt.Errorf("member %q: %w", a.Name, err)
			}
			out[a.Name] = d
		case a.Optional:
			out[a.Name] = cty.NullVal(ctyType(a.Type))
		default:
			return cty.NilVal, fmt.Errorf("the member %q is missing", a.Name)
		}
	}
	return cty.ObjectVal(out), nil
}

// fromJSON reads a default, which was checked when the type was read.
func fromJSON(text string) (cty.Value, error) {
	ty, err := ctyjson.ImpliedType([]byte(text))
	if err != nil {
		return cty.NilVal, err
	}
	return ctyjson.Unmarshal([]byte(text), ty)
}

// memberError is a member that a type does not have.
type memberError struct{ name, meant string }

func (e *memberError) Error() string { return fmt.Sprintf("there is no member %q", e.name) }

// Meant is the name that an error of Convert says was probably meant, or "".
func Meant(err error) string {
	if e, ok := errors.AsType[*memberError](err); ok {
		return e.meant
	}
	return ""
}

// convertElements converts a list or a map. Lists become tuples: a cty list
// never equals one that is written out.
func convertElements(v cty.Value, t *spec.Type) (cty.Value, error) {
	ty := v.Type()
	isMap := ty.IsObjectType() || ty.IsMapType()
	if !v.CanIterateElements() || isMap != (t.Kind == spec.TypeMap) {
		return cty.NilVal, fmt.Errorf("%s is needed, this is %s", A(string(t.Kind)), A(TypeName(ty)))
	}
	var list []cty.Value
	members := map[string]cty.Value{}
	for it := v.ElementIterator(); it.Next(); {
		k, e := it.Element()
		c, err := Convert(e, t.Elem)
		if err != nil {
			return cty.NilVal, fmt.Errorf("element %s: %w", Show(k), err)
		}
		if isMap {
			members[k.AsString()] = c
		} else {
			list = append(list, c)
		}
	}
	if isMap {
		return cty.ObjectVal(members), nil
	}
	return cty.TupleVal(list), nil
}

// ctyType is the cty type for values of a declared type.
func ctyType(t *spec.Type) cty.Type {
	switch t.Kind {
	case spec.TypeString:
		return cty.String
	case spec.TypeNumber:
		return cty.Number
	case spec.TypeBool:
		return cty.Bool
	default:
		return cty.DynamicPseudoType
	}
}

func attrNames(t *spec.Type) []string {
	names := make([]string, len(t.Attrs))
	for i, a := range t.Attrs {
		names[i] = a.Name
	}
	return names
}
