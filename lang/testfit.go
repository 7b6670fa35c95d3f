package lang

import (
	"fmt"
	"maps"
	"slices"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty"

	"pipeline/engine/spec"
	body "pipeline/engine/value"
	"pipeline/lang/diag"
	"pipeline/lang/eval"
)

// misfit is why a body is not of a stream's type.
type misfit struct {
	path, problem string
	// meant is the name that was probably meant.
	meant string
}

// fits warns of a body that is not of its stream's type.
func (b *testBuilder) fits(v cty.Value, e hclsyntax.Expression, stream *node) {
	s := b.variant.loader.built.streams[b.variant.loader.named["stream"][stream.label]]
	if s == nil {
		return
	}
	m := misfitOf("", v, s.Entry, s.Codec)
	if m == nil {
		return
	}
	l := b.loader
	what := m.problem
	if m.path != "" {
		what = m.path + " " + m.problem
	}
	d := l.add(diag.Warning, diag.TypeMismatch, b.origin(e), fmt.Sprintf("this is no entry of stream %q: %s", stream.label, what),
		fmt.Sprintf("It is published all the same, and will be invalid. If that is meant, write raw = { %s = … }.", s.Body))
	d.Suggest(m.meant)
	if declared := stream.val("entry"); declared.set {
		d.Relate(declared.rng, "the entry is declared here")
	}
}

// origin is where a value is written: in a local, if the expression is no more
// than its name.
func (b *testBuilder) origin(e hclsyntax.Expression) diag.Range {
	l := b.loader
	if tr, ok := e.(*hclsyntax.ScopeTraversalExpr); ok && tr.Traversal.RootName() == "local" && len(tr.Traversal) == 2 {
		step, isAttr := tr.Traversal[1].(hcl.TraverseAttr)
		for _, n := range l.root.all("locals") {
			for _, attr := range n.free {
				if isAttr && attr.Name == step.Name {
					return b.origin(attr.Expr)
				}
			}
		}
	}
	return eval.Range(l.report, e.Range())
}

// misfitOf compares a body with a declared type; nil when it fits.
func misfitOf(path string, v cty.Value, t *spec.Type, codec spec.Codec) *misfit {
	isText := !v.IsNull() && v.Type() == cty.String
	switch {
	case codec == spec.CodecText || codec == spec.CodecBytes:
		if !isText {
			return &misfit{path: path, problem: fmt.Sprintf("must be a string: the codec is %q", codec)}
		}
		return nil
	case codec == spec.CodecFields && path == "" && (v.IsNull() || !v.Type().IsObjectType() && !v.Type().IsMapType()):
		return &misfit{problem: "it must be an object: the codec is \"fields\""}
	case t == nil || t.Kind == spec.TypeAny:
		return nil
	case v.IsNull():
		return &misfit{path: path, problem: "is null"}
	}
	if codec == spec.CodecFields && path != "" {
		return misfitText(path, v, t)
	}
	if got := kindOf(v); got != t.Kind && (got != spec.TypeObject || t.Kind != spec.TypeMap) {
		problem := fmt.Sprintf("must be %s, this is %s", eval.A(string(t.Kind)), eval.A(string(got)))
		if path == "" {
			problem = "it " + problem
		}
		return &misfit{path: path, problem: problem}
	}
	switch t.Kind {
	case spec.TypeList:
		for i, e := range v.AsValueSlice() {
			if m := misfitOf(path+body.IndexPath(i, ""), e, t.Elem, codec); m != nil {
				return m
			}
		}
	case spec.TypeMap:
		members := v.AsValueMap()
		for _, name := range slices.Sorted(maps.Keys(members)) {
			if m := misfitOf(memberPath(path, name), members[name], t.Elem, codec); m != nil {
				return m
			}
		}
	case spec.TypeObject:
		return misfitMembers(path, v.AsValueMap(), t, codec)
	}
	return nil
}

// misfitMembers compares the members of an object.
func misfitMembers(path string, members map[string]cty.Value, t *spec.Type, codec spec.Codec) *misfit {
	for _, a := range t.Attrs {
		e, given := members[a.Name]
		switch {
		case (!given || e.IsNull()) && a.Optional:
		case !given:
			var others []string
			for name := range members {
				if t.Attr(name) == nil {
					others = append(others, name)
				}
			}
			slices.Sort(others)
			m := &misfit{path: memberPath(path, a.Name), problem: "is missing"}
			if diag.Nearest(a.Name, others) != "" {
				m.meant = a.Name
			}
			return m
		default:
			if m := misfitOf(memberPath(path, a.Name), e, a.Type, codec); m != nil {
				return m
			}
		}
	}
	return nil
}

// misfitText compares a member that is carried as text with its type.
func misfitText(path string, v cty.Value, t *spec.Type) *misfit {
	switch got := kindOf(v); {
	case got == spec.TypeList || got == spec.TypeObject:
		return &misfit{path: path, problem: "cannot be carried as text"}
	case got == t.Kind || t.Kind == spec.TypeString:
		return nil
	case t.Kind == spec.TypeNumber && got == spec.TypeString && body.ValidNumber(v.AsString()),
		t.Kind == spec.TypeBool && got == spec.TypeString && (v.AsString() == "true" || v.AsString() == "false"):
		return nil
	default:
		return &misfit{path: path, problem: fmt.Sprintf("must be %s, this is %s", eval.A(string(t.Kind)), eval.A(string(got)))}
	}
}

func kindOf(v cty.Value) spec.TypeKind {
	switch ty := v.Type(); {
	case ty == cty.String:
		return spec.TypeString
	case ty == cty.Number:
		return spec.TypeNumber
	case ty == cty.Bool:
		return spec.TypeBool
	case ty.IsObjectType() || ty.IsMapType():
		return spec.TypeObject
	}
	return spec.TypeList
}

// memberPath is the path of a member.
func memberPath(path, name string) string {
	step := body.MemberPath(name, "")
	if path == "" || step[0] == '[' {
		return path + step
	}
	return path + "." + step
}
