package eval

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/zclconf/go-cty/cty/function"
	ctyjson "github.com/zclconf/go-cty/cty/json"
)

// Every function is documented, nothing else is, and every example gives what
// the documentation says.
func TestFunctionDocs(t *testing.T) {
	all := maps.Clone(functions)
	all["env"] = envFunc(func(string) (string, bool) { return "", false })
	all["hostname"] = hostnameFunc("host")
	var documented []string
	for _, d := range FunctionDocs() {
		documented = append(documented, d.Name)
		f, ok := all[d.Name]
		if !ok {
			t.Errorf("%s is documented and does not exist", d.Name)
			continue
		}
		checkSignature(t, d, f)
		e, diags := hclsyntax.ParseExpression([]byte(d.Example), "", hcl.InitialPos)
		if diags.HasErrors() || !strings.Contains(d.Example, d.Name+"(") {
			t.Errorf("%s: the example %s: %v", d.Name, d.Example, diags)
			continue
		}
		v, diags := e.Value(&hcl.EvalContext{Functions: all})
		if diags.HasErrors() {
			t.Errorf("%s: %v", d.Name, diags)
			continue
		}
		got, err := ctyjson.Marshal(v, v.Type())
		if err != nil || string(got) != d.Result && d.Where == "" {
			t.Errorf("%s gives %s, %v; documented is %s", d.Example, got, err, d.Result)
		}
	}
	if want := FunctionNames(); !slices.Equal(slices.Sorted(slices.Values(documented)), slices.Sorted(slices.Values(want))) {
		t.Errorf("documented: %v\nexisting: %v", documented, want)
	}
}

// checkSignature compares the parameters in a signature with the function's.
func checkSignature(t *testing.T, d FunctionDoc, f function.Function) {
	t.Helper()
	inner, ok := strings.CutPrefix(d.Signature, d.Name+"(")
	inner, closed := strings.CutSuffix(inner, ")")
	if !ok || !closed {
		t.Errorf("%s: the signature is %s", d.Name, d.Signature)
		return
	}
	fixed, variable := 0, false
	for p := range strings.SplitSeq(inner, ", ") {
		switch {
		case strings.HasSuffix(p, "…") || strings.HasSuffix(p, "?"):
			variable = true
		case p != "":
			fixed++
		}
	}
	if len(f.Params()) != fixed || (f.VarParam() != nil) != variable {
		t.Errorf("%s: the function has %d parameters, and more: %v", d.Signature, len(f.Params()), f.VarParam() != nil)
	}
}

// Every unit, type and operator is documented, and nothing else.
func TestFormDocs(t *testing.T) {
	forms := func(docs []FormDoc) []string {
		var all []string
		for _, d := range docs {
			if d.Doc == "" {
				t.Errorf("%s is not documented", d.Form)
			}
			all = append(all, d.Form)
		}
		slices.Sort(all)
		return all
	}
	if got := forms(DurationUnits()); !slices.Equal(got, slices.Sorted(maps.Keys(durationUnits))) {
		t.Errorf("units of durations: %v", got)
	}
	if got := forms(SizeUnits()); !slices.Equal(got, slices.Sorted(maps.Keys(sizeUnits))) {
		t.Errorf("units of sizes: %v", got)
	}
	types := map[string]bool{}
	for _, form := range forms(TypeDocs()) {
		name, _, _ := strings.Cut(form, "(")
		types[name] = true
	}
	delete(types, "optional")
	if got := slices.Sorted(maps.Keys(types)); !slices.Equal(got, slices.Sorted(slices.Values(typeNames))) {
		t.Errorf("types: %v", got)
	}
	text := strings.Join(forms(EntryForms()), "\n")
	for _, op := range operators {
		if !strings.Contains(text, " "+string(op)+" ") {
			t.Errorf("the operator %s is not documented", op)
		}
	}
	for _, root := range []string{"entry", "headers", "reply"} {
		if !slices.Contains(forms(EntryRoots()), root) {
			t.Errorf("the root %s is not documented", root)
		}
	}
}
