package lang

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/hashicorp/hcl/v2/hclsyntax"

	"pipeline/lang/diag"
)

// checkQuick checks that a text which is parsed at once would have passed every
// other check of writing too, and means the same.
func checkQuick(t *testing.T, text string) bool {
	t.Helper()
	body := quick("p.hcl", []byte(text), quickPiece)
	pieces := quick("p.hcl", []byte(text), 1)
	if (body == nil) != (pieces == nil) {
		t.Errorf("parsed as a whole %v, in pieces %v:\n%.2000s", body != nil, pieces != nil, text)
	}
	if body == nil {
		return false
	}
	l := &loader{report: &diag.Report{}}
	src := diag.NewSource("p.hcl", []byte(text))
	l.report.AddSource(src)
	tokens := lex(src.Text, src.Name)
	l.guard(src, tokens)
	f := &file{name: src.Name, src: src}
	repaired, _ := l.repair(f, tokens)
	if all := l.report.All(); len(all) > 0 || string(repaired) != text {
		t.Errorf("%v in:\n%.2000s", all, text)
	}
	parsed, diags := hclsyntax.ParseConfig(src.Text, src.Name, start)
	if len(diags) > 0 {
		t.Errorf("%v in:\n%.2000s", diags, text)
	}
	for _, got := range []*hclsyntax.Body{body, pieces} {
		if !reflect.DeepEqual(got.Attributes, parsed.Body.(*hclsyntax.Body).Attributes) || !reflect.DeepEqual(got.Blocks, parsed.Body.(*hclsyntax.Body).Blocks) {
			t.Errorf("parsed otherwise:\n%.2000s", text)
		}
	}
	return true
}

func TestQuickReadsPlainFiles(t *testing.T) {
	for _, pattern := range []string{"testdata/base.hcl", "../examples/*.hcl", "../examples/*/*.hcl"} {
		paths, err := filepath.Glob(pattern)
		if err != nil || len(paths) == 0 {
			t.Fatalf("%s: no files, %v", pattern, err)
		}
		for _, path := range paths {
			if strings.HasSuffix(path, "_test.hcl") {
				continue // tests hold large numbers
			}
			text, err := os.ReadFile(path)
			if err != nil {
				t.Fatal(err)
			}
			if !checkQuick(t, string(text)) {
				t.Errorf("%s is not read at once", path)
			}
		}
	}
}

// TestQuickLeavesTheRest: none of these is plain.
func TestQuickLeavesTheRest(t *testing.T) {
	for name, text := range map[string]string{
		"heredoc":        "a = <<X\nx\nX\n",
		"long comment":   "/* a */\n",
		"no last line":   "# a",
		"mark":           "\ufeffa = 1\n",
		"no UTF-8":       "# \xff\n",
		"other quotes":   "a = 'x'\n",
		"look-alike":     "a = \u201cx\u201d\n",
		"carriage":       "a = 1\rb = 2\n",
		"not closed":     "a {\n",
		"wrong bracket":  "a = [1}\n",
		"closed twice":   "a = 1\n}\n",
		"nested":         "a = " + strings.Repeat("(", 201) + "1" + strings.Repeat(")", 201) + "\n",
		"prefixes":       "a = " + strings.Repeat("!", 9) + "true\n",
		"sums":           "a = 1" + strings.Repeat("+1", 1001) + "\n",
		"long sum":       "a = [1\n" + strings.Repeat("+1\n", 1001) + "]\n",
		"many":           "a {\n" + strings.Repeat("a {\n}\n", maxQuickOpen+1) + "}\n",
		"number":         "a = 123456789012345678\n",
		"exponent":       "a = 1e9\n",
		"twice":          "a = 1\na = 2\n",
		"interpolation":  "a = \"${\n}\"\n",
		"open end":       "a = \"x\\",
		"dollars":        "a = \"$${x}\"\n",
		"line in quotes": "a = \"x\ny\"\n",
		"error":          "a = = 1\n",
	} {
		if checkQuick(t, text) {
			t.Errorf("%s: parsed at once", name)
		}
	}
}

func FuzzQuick(f *testing.F) {
	for _, text := range []string{
		"a = \"${b}\" # x\nc \"d\" {\n  e = [1, 2.5, -3] // y\n  f = !true\n}\n", "a = \"%{ if true }x%{ endif }\"\n", "a = { b = 1, c : 2 }\n",
		"a = b[*].c\nd = b.*.c\n", "a = [for x in b : x]\n", "a = \"\\\"$x%y\"\r\nb = (1\n+2)\n", "a = \"$\"\nb = \"%\"\n", "a-b = c-d ? 1 : 2\n", "a = 1.e\n", "a = \"${\"${\"\"}\"}\"\n",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if len(text) < 1<<14 {
			checkQuick(t, text)
		}
	})
}
