package cli

import (
	"bytes"
	"encoding/json"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"text/template"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/lang/diag"
	"pipeline/lang/diag/explain"
)

// root is the top of the module.
var root = filepath.Join("..", "..", "..", "..")

// docFamily is a section of docs/diagnostics.md.
type docFamily struct {
	Title, Intro string
	Pages        []docPage
}

// Anchor is the section's name in a link.
func (f docFamily) Anchor() string { return strings.ReplaceAll(strings.ToLower(f.Title), " ", "-") }

// docPage is a code in docs/diagnostics.md.
type docPage struct {
	view.Explanation
	Bad, Good []docListing
}

// ExitList joins the exit codes.
func (p docPage) ExitList() string {
	var b strings.Builder
	for i, c := range p.Exits {
		if i > 0 {
			b.WriteString(" or ")
		}
		b.WriteByte(byte('0' + c))
	}
	return b.String()
}

type docListing struct{ Label, Language, Text string }

// checkDiagnosticsDoc checks that docs/diagnostics.md is what the codes, their
// pages and the template give; -update writes it.
func checkDiagnosticsDoc(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("testdata", "diagnostics.md.tmpl"))
	if err != nil {
		t.Fatal(err)
	}
	tmpl, err := template.New("doc").Parse(string(text))
	if err != nil {
		t.Fatal(err)
	}
	// The pages are read from disk: -update may have written them just now.
	pages := map[diag.Code]*explain.Page{}
	for _, folder := range pageFolders {
		read, err := explain.Read(os.DirFS(folder))
		if err != nil {
			t.Fatal(err)
		}
		for _, p := range read {
			pages[p.Code] = p
		}
	}
	const sample = diag.UnknownField
	shop, script := explain.Shop()
	var b bytes.Buffer
	if err := tmpl.Execute(&b, map[string]any{
		"Families": docFamilies(t, pages), "Shop": shop, "Script": script,
		"Sample": pages[sample], "SampleJSON": sampleJSON(t, pages[sample]),
	}); err != nil {
		t.Fatal(err)
	}
	checkDoc(t, filepath.Join(root, "docs", "diagnostics.md"), b.Bytes())
}

// checkDoc compares a file with what it should be, or writes it.
func checkDoc(t *testing.T, name string, want []byte) {
	t.Helper()
	if *update {
		if err := os.WriteFile(name, want, 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(name)
	if err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s is not what the codes and their pages give (%v); run\n"+
			"go test ./cmd/pipeline/internal/cli -run TestPages -update", name, err)
	}
}

// docFamilies are the codes in the order and the groups of lang/diag/codes.go,
// then those of the command line.
func docFamilies(t *testing.T, pages map[diag.Code]*explain.Page) []docFamily {
	t.Helper()
	file, err := parser.ParseFile(token.NewFileSet(), filepath.Join(root, "lang", "diag", "codes.go"), nil, parser.ParseComments)
	if err != nil {
		t.Fatal(err)
	}
	var families []docFamily
	seen := 0
	for _, d := range file.Decls {
		group, ok := d.(*ast.GenDecl)
		if !ok || group.Tok != token.CONST {
			continue
		}
		f := docFamily{Title: strings.TrimSuffix(strings.TrimSpace(group.Doc.Text()), ".")}
		for _, s := range group.Specs {
			word, _ := stringLiteral(s.(*ast.ValueSpec).Values[0])
			f.Pages = append(f.Pages, onePage(t, diag.Code(word), pages))
			seen++
		}
		families = append(families, f)
	}
	if seen != len(diag.Codes()) {
		t.Errorf("codes.go declares %d codes, Codes returns %d", seen, len(diag.Codes()))
	}
	own := docFamily{
		Title: "The command line and the server",
		Intro: "These are no problems of a pipeline file: they are about the arguments, the input, or the server. What a login needs is told in [rights.md](rights.md), what TLS needs in [topologies.md](topologies.md#tls).",
	}
	for _, code := range codeNames() {
		own.Pages = append(own.Pages, onePage(t, code, pages))
	}
	return append(families, own)
}

func onePage(t *testing.T, code diag.Code, pages map[diag.Code]*explain.Page) docPage {
	t.Helper()
	e, ok := explanation(code)
	if !ok {
		t.Fatalf("there is no code %s", code)
	}
	out := docPage{Explanation: e}
	if p := pages[code]; p != nil {
		out.Text, out.Report = p.Text, p.Report
		out.Bad, out.Good = docListings(listings(p, p.Bad)), docListings(listings(p, p.Good))
	}
	return out
}

// docListings give each file a fence in its language, and a label where there
// are several.
func docListings(of []view.Listing) []docListing {
	var out []docListing
	for _, l := range of {
		d := docListing{Language: strings.TrimPrefix(path.Ext(l.Name), "."), Text: strings.TrimRight(l.Text, "\n") + "\n"}
		switch {
		case l.Name == "":
			d.Language = "sh"
		case len(of) > 1:
			d.Label = "`" + l.Name + "`"
		}
		if d.Language == "vars" {
			d.Language = "hcl"
		}
		out = append(out, d)
	}
	return out
}

// sampleJSON is what the bad example prints with --json, indented.
func sampleJSON(t *testing.T, p *explain.Page) string {
	t.Helper()
	here, err := os.Getwd()
	if err != nil {
		t.Fatal(err)
	}
	dir := exampleTree(t, p, p.Bad)
	t.Chdir(dir)
	_, lines, _ := runMain(t, []string{"validate", ".", "--json"}, nil)
	t.Chdir(here)
	var b bytes.Buffer
	if err := json.Indent(&b, []byte(strings.TrimSpace(lines)), "", "  "); err != nil {
		t.Fatalf("%s: %v", lines, err)
	}
	return b.String() + "\n"
}

// TestExplanationsAreWhole checks what explain has of a code with a page.
func TestExplanationsAreWhole(t *testing.T) {
	t.Parallel()
	for _, c := range listedCodes() {
		e, ok := explanation(c.Code)
		if !ok || e.Meaning == "" || e.Action == "" {
			t.Errorf("%s: %+v", c.Code, e)
		}
		if explain.Of(c.Code) != nil && (e.Report == "" || len(e.Bad) == 0 || len(e.Good) == 0 || len(e.Text) == 0) {
			t.Errorf("%s: its page is not shown", c.Code)
		}
	}
	for given, want := range map[string]string{
		"unused": "unused", "error[unused]: stream \"x\"": "unused", "[unused]": "unused", " unused ": "unused",
	} {
		if got := bareCode(given); got != want {
			t.Errorf("%q gives %q", given, got)
		}
	}
	codes := listedCodes()
	if !slices.ContainsFunc(codes, func(c view.Code) bool { return c.Code == "entries_left" }) {
		t.Error("the codes of the command line are not listed")
	}
}
