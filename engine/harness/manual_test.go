package harness_test

import (
	"bytes"
	"flag"
	"go/ast"
	"go/doc"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"
)

var update = flag.Bool("update", false, "write docs/testing-in-go.md")

// TestTheManualIsMadeOfTheExamples compares docs/testing-in-go.md with the
// examples that are run.
func TestTheManualIsMadeOfTheExamples(t *testing.T) {
	files := token.NewFileSet()
	source, err := os.ReadFile("example_test.go")
	if err != nil {
		t.Fatal(err)
	}
	file, err := parser.ParseFile(files, "example_test.go", source, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	examples := doc.Examples(file)
	shown := map[string]bool{}
	text, err := template.New("testing-in-go.md.tmpl").Funcs(template.FuncMap{
		"example": func(name string) string {
			i := slices.IndexFunc(examples, func(e *doc.Example) bool { return e.Name == name })
			if i < 0 {
				t.Fatalf("there is no example %q", name)
			}
			shown[name] = true
			e := examples[i]
			return strings.TrimSpace(e.Doc) + "\n\n```go\n" + bodyOf(string(source), files, e) + "\n```\n\nprints\n\n```text\n" + e.Output + "```"
		},
		"function": func(name string) string { return function(string(source), files, file, name) },
	}).ParseFiles(filepath.Join("testdata", "testing-in-go.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	var page bytes.Buffer
	if err := text.Execute(&page, nil); err != nil {
		t.Fatal(err)
	}
	for _, e := range examples {
		if !shown[e.Name] {
			t.Errorf("the example %q is not in the manual", e.Name)
		}
	}
	path := filepath.Join("..", "..", "docs", "testing-in-go.md")
	if *update {
		if err := os.WriteFile(path, page.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(path); err != nil || !bytes.Equal(have, page.Bytes()) {
		t.Errorf("%s is not what the examples say (%v); run go test ./engine/harness -run Manual -update", path, err)
	}
}

// bodyOf is what stands between the braces of an example, without its output.
func bodyOf(text string, files *token.FileSet, e *doc.Example) string {
	code := between(text, files, e.Code.Pos()+1, e.Code.End()-1)
	code, _, _ = strings.Cut(code, "\t// Output:")
	var b strings.Builder
	for line := range strings.Lines(code) {
		b.WriteString(strings.TrimPrefix(line, "\t"))
	}
	return strings.TrimSpace(b.String())
}

// function is the text of a function with its comment.
func function(text string, files *token.FileSet, file *ast.File, name string) string {
	for _, d := range file.Decls {
		if f, ok := d.(*ast.FuncDecl); ok && f.Name.Name == name {
			return between(text, files, f.Doc.Pos(), f.End())
		}
	}
	return "there is no function " + name
}

func between(text string, files *token.FileSet, from, to token.Pos) string {
	return text[files.Position(from).Offset:files.Position(to).Offset]
}
