package reference_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"
	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/zclconf/go-cty/cty"
	"pgregory.net/rapid"

	"pipeline/lang/eval"
	"pipeline/lang/reference"
	"pipeline/lang/schema"
)

// compiled is the schema, after its own check against draft 2020-12.
func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := json.Marshal(reference.JSONSchema("0.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("pipeline.json", doc); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("pipeline.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// fits validates a pipeline file in HCL's JSON shape.
func fits(t testing.TB, s *jsonschema.Schema, text string) error {
	t.Helper()
	shaped, err := json.Marshal(shape([]byte(text), schema.Pipeline, parse(t, text)))
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(bytes.NewReader(shaped))
	if err != nil {
		t.Fatal(err)
	}
	return s.Validate(doc)
}

// shape turns a body into HCL's JSON shape.
func shape(text []byte, b *schema.Block, body *hclsyntax.Body) map[string]any {
	out := map[string]any{}
	for name, attr := range body.Attributes {
		out[name] = shapeValue(text, b.Arg(name), attr.Expr)
	}
	for _, block := range body.Blocks {
		label := ""
		if len(block.Labels) > 0 {
			label = block.Labels[0]
		}
		inner := &schema.Block{}
		if s := b.Block(block.Type, label); s != nil {
			inner = s
		}
		value := shape(text, inner, block.Body)
		switch have := out[block.Type].(type) {
		case nil:
			out[block.Type] = value
			if label != "" {
				out[block.Type] = map[string]any{label: value}
			}
		case map[string]any:
			if label != "" {
				have[label] = value
			} else {
				out[block.Type] = []any{have, value}
			}
		case []any:
			out[block.Type] = append(have, value)
		}
	}
	return out
}

// shapeValue turns an expression into its JSON shape: a constant as it is, a
// reference or type as its words, all else as a text with ${…}.
func shapeValue(text []byte, a *schema.Arg, e hclsyntax.Expression) any {
	source := string(e.Range().SliceBytes(text))
	if a != nil && (a.Kind == schema.Type || a.Kind == schema.Reference) {
		if _, isTraversal := e.(*hclsyntax.ScopeTraversalExpr); isTraversal || a.Kind == schema.Type {
			return source
		}
	}
	switch x := e.(type) {
	case *hclsyntax.TupleConsExpr:
		list := []any{}
		for _, item := range x.Exprs {
			list = append(list, shapeValue(text, nil, item))
		}
		return list
	case *hclsyntax.ObjectConsExpr:
		members := map[string]any{}
		for _, item := range x.Items {
			key, diags := item.KeyExpr.Value(nil)
			if diags.HasErrors() || key.Type() != cty.String {
				return "${" + source + "}"
			}
			members[key.AsString()] = shapeValue(text, nil, item.ValueExpr)
		}
		return members
	case *hclsyntax.TemplateExpr:
		if len(x.Variables()) > 0 || len(x.Parts) > 1 {
			return strings.Trim(source, `"`)
		}
	}
	v, diags := e.Value(nil)
	switch {
	case diags.HasErrors():
		return "${" + source + "}"
	case v.Type() == cty.String:
		return v.AsString()
	case v.Type() == cty.Number:
		return json.Number(eval.Number(v))
	case v.Type() == cty.Bool:
		return v.True()
	}
	return "${" + source + "}"
}

// TestSchemaAcceptsExamples: the worked examples, and every example of the
// reference that this version takes, fit.
func TestSchemaAcceptsExamples(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, name := range []string{"payments.hcl", filepath.Join("orders", "orders.hcl")} {
		text, err := os.ReadFile(filepath.Join("..", "..", "examples", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := fits(t, s, string(text)); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, m := range fences.FindAllStringSubmatch(markdown(t), -1) {
		if m[1] != "hcl" {
			continue
		}
		text := whole(t, m[2])
		if err := fits(t, s, text); err != nil {
			t.Errorf("%v\n%s", err, text)
		}
	}
}

// TestSchemaAgrees: for every argument of the table, the schema takes what the
// language takes, misses what it misses and refuses what it refuses.
func TestSchemaAgrees(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	for _, c := range chains() {
		b := c[len(c)-1]
		if b.Later() {
			if fits(t, s, c.wrap("", "")) == nil {
				t.Errorf("%s is taken", c)
			}
			continue
		}
		t.Run(c.String(), func(t *testing.T) {
			t.Parallel()
			if err := fits(t, s, c.wrap("", "")); (err != nil) != b.Unavailable {
				t.Errorf("without arguments: %v", err)
			}
			if fits(t, s, c.wrap("no_such_argument = 1", "")) == nil != b.Free {
				t.Error("an unknown argument is taken")
			}
			for _, a := range b.Args {
				if !b.Unavailable {
					agrees(t, s, c, a)
				}
			}
		})
	}
}

func agrees(t *testing.T, s *jsonschema.Schema, c chain, a *schema.Arg) {
	t.Helper()
	set := func(value string) string { return c.wrap(a.Name+" = "+value, a.Name) }
	refused := a.Unavailable
	for _, v := range a.UnavailableValues {
		refused = refused || a.Example == `"`+v+`"`
	}
	if err := fits(t, s, set(a.Example)); (err != nil) != refused {
		t.Errorf("%s = %s: %v", a.Name, a.Example, err)
	}
	wrong := wrongValue
	if a.Kind == schema.Headers {
		wrong = "5"
	}
	if a.Kind != schema.Any && fits(t, s, set(wrong)) == nil {
		t.Errorf("%s = %s is taken", a.Name, wrong)
	}
	if a.Required && fits(t, s, c.wrap("", a.Name)) == nil {
		t.Errorf("%s is not missed", a.Name)
	}
	if a.Allowed != nil && a.Also == "" {
		bad := `"nonsense"`
		if a.Kind == schema.Integer {
			bad = "99"
		}
		if fits(t, s, set(bad)) == nil {
			t.Errorf("%s = %s is taken", a.Name, bad)
		}
	}
	if a.Kind == schema.Integer && a.Min != "" {
		if fits(t, s, set("-1")) == nil {
			t.Errorf("%s = -1 is taken", a.Name)
		}
	}
	if a.Kind == schema.Duration || a.Kind == schema.Size {
		if fits(t, s, set("30")) == nil || fits(t, s, set(`"thirty"`)) == nil {
			t.Errorf("%s without a unit is taken", a.Name)
		}
	}
	if _, err := load(set(wrong)); err == nil && a.Kind != schema.Any {
		t.Errorf("%s = %s is taken by the language", a.Name, wrong)
	}
}

// TestSchemaRefuses: what is wrong beyond single arguments.
func TestSchemaRefuses(t *testing.T) {
	t.Parallel()
	s := compiled(t)
	const good = `pipeline "p" {}
broker "memory" {}
stream "s" {}
handler "h" { source = "h.lua" }
group "g" {
  stream = stream.s
  subscription "s" { handler = handler.h }
}
`
	if err := fits(t, s, good); err != nil {
		t.Fatal(err)
	}
	for name, change := range map[string][2]string{
		"no pipeline":             {`pipeline "p" {}`, ``},
		"two pipelines":           {`pipeline "p" {}`, "pipeline \"p\" {}\npipeline \"q\" {}"},
		"two brokers":             {`broker "memory" {}`, "broker \"memory\" {}\nbroker \"redis\" { url = \"redis://x\" }"},
		"an unknown broker":       {`broker "memory" {}`, `broker "kafka" {}`},
		"a group that reads none": {`subscription "s" { handler = handler.h }`, ``},
		"an unknown block":        {`stream "s" {}`, "stream \"s\" {}\nstreem \"t\" {}"},
		"a wrong reference":       {`stream = stream.s`, `stream = handler.h`},
		"a reference as a string": {`stream = stream.s`, `stream = "payments"`},
		"a name that is none":     {`stream "s" {}`, `stream "9 lives" {}`},
		"a grant that is none":    {`{ source = "h.lua" }`, "{\n  source = \"h.lua\"\n  grant \"disk\" {}\n}"},
		"reply beside route":      {`{ handler = handler.h }`, "{\n  handler = handler.h\n  reply {\n    to = stream.s\n  }\n  route \"r\" {\n    to = stream.s\n  }\n}"},
	} {
		if !strings.Contains(good, change[0]) {
			t.Fatalf("%s: no %q", name, change[0])
		}
		err := fits(t, s, strings.Replace(good, change[0], change[1], 1))
		if _, ok := errors.AsType[*jsonschema.ValidationError](err); !ok {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestUnitPatterns: the patterns take what the language reads as a duration or
// size, and nothing else.
func TestUnitPatterns(t *testing.T) {
	t.Parallel()
	text, err := json.Marshal(reference.JSONSchema("0.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Defs map[string]struct{ Pattern string } `json:"$defs"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	duration, size := regexp.MustCompile(doc.Defs["duration"].Pattern), regexp.MustCompile(doc.Defs["size"].Pattern)
	rapid.Check(t, func(t *rapid.T) {
		parts := rapid.SliceOfN(rapid.SampledFrom([]string{"1", "30", ".", "0.5", "s", "m", "h", "d", "ms", "us", "w", "B", "KiB", "MiB", "kb", " ", "-", "x"}), 0, 5)
		text := strings.Join(parts.Draw(t, "parts"), "")
		if _, err := eval.ParseDuration(text); (err == nil || beyondCounting(err)) != duration.MatchString(text) {
			t.Fatalf("the duration %q: %v", text, err)
		}
		if _, err := eval.ParseSize(text); (err == nil || beyondCounting(err)) != size.MatchString(text) {
			t.Fatalf("the size %q: %v", text, err)
		}
	})
}

// TestSchemaIsStable: two runs give the same bytes.
func TestSchemaIsStable(t *testing.T) {
	t.Parallel()
	first, err := json.Marshal(reference.JSONSchema("0.1.0"))
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		again, err := json.Marshal(reference.JSONSchema("0.1.0"))
		if err != nil || !bytes.Equal(first, again) {
			t.Fatal("the schema differs from run to run")
		}
	}
}

// TestDocument: the JSON form holds the whole table.
func TestDocument(t *testing.T) {
	t.Parallel()
	d := reference.Describe("1.2.3")
	if d.Format != 1 || d.Version != "1.2.3" || d.Language != "1" {
		t.Errorf("%d %s %s", d.Format, d.Version, d.Language)
	}
	var walk func(path string, want []*schema.Block, got []reference.Block)
	walk = func(path string, want []*schema.Block, got []reference.Block) {
		if len(want) != len(got) {
			t.Errorf("%s: %d blocks, not %d", path, len(got), len(want))
			return
		}
		for i, b := range want {
			at := fmt.Sprintf("%s/%s", path, b.Name)
			if got[i].Name != b.Name || got[i].Doc != b.Doc || len(got[i].Arguments) != len(b.Args) || got[i].AtLeast != b.Min || got[i].AtMost != b.Max {
				t.Errorf("%s: %+v", at, got[i])
				continue
			}
			for j, a := range b.Args {
				if g := got[i].Arguments[j]; g.Name != a.Name || g.Type != a.Kind || g.Default != a.Default || (g.Status == reference.Refused) != a.Unavailable {
					t.Errorf("%s.%s: %+v", at, a.Name, g)
				}
			}
			if (got[i].Status == reference.Later) != b.Later() || (got[i].Status == reference.Refused) != b.Unavailable {
				t.Errorf("%s: %s", at, got[i].Status)
			}
			walk(at, b.Blocks, got[i].Blocks)
		}
	}
	walk("", schema.Pipeline.Blocks, d.Blocks)
	if len(d.Functions) != len(eval.FunctionNames()) || len(d.Diagnostics) < 50 {
		t.Errorf("%d functions, %d diagnostics", len(d.Functions), len(d.Diagnostics))
	}
	for _, x := range d.Diagnostics {
		if x.Meaning == "" || x.Action == "" {
			t.Errorf("%s is not documented", x.Code)
		}
	}
}

// beyondCounting reports a text of the right form whose value is too large, which
// a pattern cannot tell.
func beyondCounting(err error) bool {
	e, ok := errors.AsType[*eval.UnitError](err)
	return ok && strings.HasSuffix(e.Reason, "than this program can count")
}
