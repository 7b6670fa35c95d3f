package reference_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/hashicorp/hcl/v2"
	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/schema"
)

// wrongValue is a value that no constant argument takes.
const wrongValue = "{ wrong = true }"

// parse parses a text that is right.
func parse(t testing.TB, text string) *hclsyntax.Body {
	t.Helper()
	f, diags := hclsyntax.ParseConfig([]byte(text), "p.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		t.Fatalf("%v\n%s", diags, text)
	}
	body, ok := f.Body.(*hclsyntax.Body)
	if !ok {
		t.Fatalf("a body of %T", f.Body)
	}
	return body
}

// load loads a pipeline of one file; every script that it names exists.
func load(text string) (*spec.Pipeline, []diag.Diagnostic) {
	files := fstest.MapFS{"p.hcl": {Data: []byte(text)}}
	for _, m := range scripts.FindAllStringSubmatch(text, -1) {
		files[m[1]] = &fstest.MapFile{}
	}
	p, report := lang.Load(files, "p.hcl", lang.Options{Hostname: "host"})
	var problems []diag.Diagnostic
	for _, d := range report.All() {
		if d.Severity == diag.Error {
			problems = append(problems, d)
		}
	}
	return p, problems
}

var scripts = regexp.MustCompile(`"([\w/.]+\.(?:lua|wasm))"`)

// chain is a block with the blocks that it stands in, outermost first.
type chain []*schema.Block

func (c chain) String() string {
	names := make([]string, len(c))
	for i, b := range c {
		names[i] = b.Name
		if b.Variant != "" {
			names[i] += " " + b.Variant
		}
	}
	return strings.Join(names, "/")
}

// chains are all blocks of the table.
func chains() []chain {
	var out []chain
	var walk func(c chain)
	walk = func(c chain) {
		out = append(out, c)
		for _, b := range c[len(c)-1].Blocks {
			walk(append(slices.Clip(c), b))
		}
	}
	for _, b := range schema.Pipeline.Blocks {
		walk(chain{b})
	}
	return out
}

// wrap puts a text into the block at the end of the chain, with everything that
// the blocks around it require. leave names an argument of the innermost block
// that is left out.
func (c chain) wrap(text, leave string) string {
	have := ""
	for _, b := range slices.Backward(c) {
		text = enclose(b, text, leave, have)
		leave, have = "", b.Name
	}
	if c[0].Name == "retry" {
		// A policy is seen where a subscription follows it.
		text += "group \"g\" {\nstream = stream.s\nsubscription \"s\" {\nhandler = handler.h\nretry = retry.the_retry\n}\n}\n"
	}
	return complete(text)
}

// enclose writes one block around a text; have is the type of the block that
// the text is.
func enclose(b *schema.Block, text, leave, have string) string {
	label := ""
	switch {
	case b.Variant != "":
		label = fmt.Sprintf(" %q", b.Variant)
	case b.Name == "variable":
		label = ` "workers"`
	case len(b.Labels) > 0:
		label = fmt.Sprintf(" %q", "the_"+b.Name)
	}
	lines := text
	for _, a := range b.Args {
		value := a.Example
		if b.Name == "variable" && a.Name == "default" {
			value = "8"
		} else if !a.Required {
			continue
		}
		if a.Name != leave {
			lines += fmt.Sprintf("\n%s = %s", a.Name, value)
		}
	}
	for _, nested := range b.Blocks {
		if nested.Min > 0 && nested.Name != have {
			lines += "\n" + enclose(nested, "", "", "")
		}
	}
	return b.Name + label + " {\n" + lines + "\n}\n"
}

// complete adds the pipeline block and all that a text refers to and does not
// declare.
func complete(text string) string {
	f, diags := hclsyntax.ParseConfig([]byte(text), "p.hcl", hcl.InitialPos)
	if diags.HasErrors() {
		return text
	}
	body, ok := f.Body.(*hclsyntax.Body)
	if !ok {
		return text
	}
	declared := map[string]bool{}
	for _, b := range body.Blocks {
		declared[b.Type] = true
		declared[b.Type+"."+strings.Join(b.Labels, ".")] = true
	}
	add := func(key, block string) {
		if !declared[key] {
			declared[key] = true
			text += "\n" + block + "\n"
		}
	}
	add("pipeline", `pipeline "sample" {}`)
	_ = hclsyntax.VisitAll(body, func(n hclsyntax.Node) hcl.Diagnostics {
		e, ok := n.(*hclsyntax.ScopeTraversalExpr)
		if !ok || len(e.Traversal) < 2 {
			return nil
		}
		step, ok := e.Traversal[1].(hcl.TraverseAttr)
		if !ok {
			return nil
		}
		root, name := e.Traversal.RootName(), step.Name
		switch root {
		case "stream":
			add("stream."+name, fmt.Sprintf("stream %q {}", name))
		case "handler":
			add("handler."+name, fmt.Sprintf("handler %q {\n  source = \"h.lua\"\n}", name))
		case "retry":
			add("retry."+name, fmt.Sprintf("retry %q {\n  max_attempts = 9\n}", name))
		case "var":
			add("variable."+name, fmt.Sprintf("variable %q {\n  default = \"SE\"\n}", name))
		}
		return nil
	})
	return text
}

// home is the chain of the block that a snippet stands in: nil where it is a
// part of the top level already.
func home(t testing.TB, snippet string) chain {
	t.Helper()
	body := parse(t, snippet)
	if len(body.Blocks) == 0 {
		t.Fatalf("no block in:\n%s", snippet)
	}
	name := body.Blocks[0].Type
	if schema.Pipeline.Block(name, "") != nil {
		return nil
	}
	for _, c := range chains() {
		if c[len(c)-1].Name == name {
			return c[:len(c)-1]
		}
	}
	t.Fatalf("no block %q in the language", name)
	return nil
}

// whole makes a pipeline out of a snippet of the documentation.
func whole(t testing.TB, snippet string) string {
	t.Helper()
	if c := home(t, snippet); c != nil {
		if c[0].Name == "variable" {
			return complete("variable \"home\" {\n  default = \"SE\"\n" + snippet + "\n}\n")
		}
		return c.around(snippet, parse(t, snippet).Blocks[0].Type)
	}
	return complete(snippet)
}

// around writes the blocks of a chain around a block of the type have.
func (c chain) around(text, have string) string {
	for _, b := range slices.Backward(c) {
		text = enclose(b, text, "", have)
		have = b.Name
	}
	return complete(text)
}
