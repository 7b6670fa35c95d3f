package explain_test

import (
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"pipeline/lang/diag"
	"pipeline/lang/diag/explain"
)

// A page is an archive pages/CODE.txtar:
//
//	Why the problem matters: what would go wrong at run time. Paragraphs of
//	Markdown, with an empty line between two of them.
//
//	@whole
//
//	-- bad.hcl --
//	… the part of shop.hcl that has the problem …
//	-- good.hcl --
//	… the same without it …
//	-- report --
//	… written by the test …
//
// The examples replace the blocks of shop.hcl that they declare themselves. So
// that the page stays short, they hold nothing that the problem does not need.
//
// Options are paragraphs of their own: "@whole" says that the examples are whole
// pipelines, and "@beside CODE …" that the bad one cannot but report these codes
// too. Besides these files a page may have
//
//	NAME                       another file of both examples
//	bad/NAME, good/NAME        another file of one of them
//	command                    what runs, default "pipeline validate ."
//	bad.command, good.command  the same for one of them
//
// A script bill.lua takes the place of the shop's. A command may begin with
// NAME=value, which is the environment that it sees. In a file <0xE9> stands for
// the byte E9, and <1000 bytes> for so many letters.
//
// bad.hcl must report the code once and nothing else, good.hcl nothing at all.
// cmd/pipeline/internal/cli runs them, compares the reports, and with -update
// writes them and docs/diagnostics.md:
//
//	go test ./cmd/pipeline/internal/cli -run TestPages -update
const howTo = `write lang/diag/explain/pages/%s.txtar in the format that lang/diag/explain/explain_test.go describes:

Why it matters: what would go wrong at run time.
-- bad.hcl --
(the blocks of lang/diag/explain/shop.hcl that have the problem)
-- good.hcl --
(the same blocks without it)

then run: go test ./cmd/pipeline/internal/cli -run TestPages -update`

// TestEveryCodeHasAPage checks that there is a page for each code and a code for
// each page.
func TestEveryCodeHasAPage(t *testing.T) {
	for _, code := range diag.Codes() {
		if explain.Of(code) == nil {
			t.Errorf("the code %s has no page; "+howTo, code, code)
		}
	}
	for _, p := range explain.All() {
		if _, ok := diag.Describe(p.Code); !ok {
			t.Errorf("pages/%s.txtar explains a code that does not exist", p.Code)
		}
	}
}

func TestPagesAreComplete(t *testing.T) {
	for _, p := range explain.All() {
		t.Run(string(p.Code), func(t *testing.T) {
			if len(p.Text) == 0 {
				t.Error("no text says why it matters")
			}
			for _, text := range p.Text {
				if !strings.HasSuffix(text, ".") {
					t.Errorf("the paragraph %q does not end with a stop", text)
				}
			}
			if p.Bad.Source == "" && len(p.Bad.Files) == 0 {
				t.Error("no bad.hcl")
			}
			if p.Good.Source == "" {
				t.Error("no good.hcl")
			}
			if p.Bad.Command == p.Good.Command && p.Bad.Source == p.Good.Source && slices.Equal(p.Bad.Files, p.Good.Files) {
				t.Error("the good example is the bad one")
			}
			if !strings.Contains(p.Report, "["+string(p.Code)+"]") {
				t.Error("the report lacks the code; run the test of cmd/pipeline/internal/cli with -update")
			}
		})
	}
}

// TestShortTextsSayMore checks the table of codes: what a page is headed by.
func TestShortTextsSayMore(t *testing.T) {
	for _, code := range diag.Codes() {
		doc, _ := diag.Describe(code)
		for _, text := range []string{doc.Meaning, doc.Action} {
			if !strings.HasSuffix(text, ".") || len(text) < 10 || strings.Contains(text, "The detail says") {
				t.Errorf("%s: %q says too little", code, text)
			}
		}
	}
}

func TestParseRefusesWhatIsNoPart(t *testing.T) {
	for name, text := range map[string]string{
		"an option":  "Text.\n\n@unknown\n",
		"a bad file": "Text.\n-- bad.lua --\n",
		"good name":  "Text.\n-- goods/x --\n-- good.md --\n",
	} {
		if _, err := explain.Parse("x", []byte(text)); err == nil {
			t.Errorf("%s: accepted", name)
		}
	}
}

func TestParse(t *testing.T) {
	p, err := explain.Parse("unused", []byte(`One
paragraph.

@whole

@beside a b

Another.
-- both.lua --
1
-- bad.hcl --
2
-- bad/x/y --
3
-- command --
pipeline run .
-- good.command --
A=b pipeline run x
-- report --
4
`))
	if err != nil {
		t.Fatal(err)
	}
	if p.Code != "unused" || !p.Whole || !slices.Equal(p.Beside, []string{"a", "b"}) || !slices.Equal(p.Text, []string{"One paragraph.", "Another."}) {
		t.Errorf("%+v", p)
	}
	if !slices.Equal(p.Shared, []explain.File{{Name: "both.lua", Text: "1\n"}}) || p.Report != "4\n" {
		t.Errorf("%+v", p)
	}
	if p.Bad.Source != "2\n" || p.Bad.Command != "pipeline run ." || !slices.Equal(p.Bad.Files, []explain.File{{Name: "x/y", Text: "3\n"}}) {
		t.Errorf("%+v", p.Bad)
	}
	if p.Good.Command != "A=b pipeline run x" || p.Good.Source != "" {
		t.Errorf("%+v", p.Good)
	}
}

// TestReadSaysWhichPage checks that a page that cannot be read is named.
func TestReadSaysWhichPage(t *testing.T) {
	dir := t.TempDir()
	if err := os.WriteFile(filepath.Join(dir, "x.txtar"), []byte("@odd\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := explain.Read(os.DirFS(dir)); err == nil || !strings.Contains(err.Error(), path.Join("page x.txtar")) {
		t.Errorf("got %v", err)
	}
}
