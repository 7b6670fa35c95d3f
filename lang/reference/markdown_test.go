package reference_test

import (
	"flag"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"pipeline/examples"
	"pipeline/lang/reference"
)

var update = flag.Bool("update", false, "write docs/language.md anew")

var languageMD = filepath.Join("..", "..", "docs", "language.md")

func markdown(t *testing.T) string {
	t.Helper()
	text, err := reference.Markdown(reference.Example{Pipeline: examples.Payments, Script: examples.PaymentsScript})
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestMarkdown: docs/language.md is what the generator writes.
func TestMarkdown(t *testing.T) {
	t.Parallel()
	got := markdown(t)
	if *update {
		if err := os.WriteFile(languageMD, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(languageMD)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("docs/language.md is not what the table says; go test ./lang/reference -update writes it anew")
	}
}

var fences = regexp.MustCompile("(?ms)^```(\\w+)\n(.*?)^```$")

// TestMarkdownExamples: every example of the reference loads without errors.
func TestMarkdownExamples(t *testing.T) {
	t.Parallel()
	count := 0
	for _, m := range fences.FindAllStringSubmatch(markdown(t), -1) {
		if m[1] != "hcl" {
			continue
		}
		count++
		text := whole(t, m[2])
		if _, problems := load(text); problems != nil {
			t.Errorf("%v\n%s", problems, text)
		}
	}
	if count < 25 {
		t.Errorf("only %d examples were found", count)
	}
}

// TestMarkdownTables: no cell breaks its table.
func TestMarkdownTables(t *testing.T) {
	t.Parallel()
	checkTables(t, markdown(t))
}

func checkTables(t *testing.T, text string) {
	t.Helper()
	columns := 0
	for line := range strings.Lines(fences.ReplaceAllString(text, "")) {
		if !strings.HasPrefix(line, "|") {
			columns = 0
			continue
		}
		n := strings.Count(strings.ReplaceAll(line, `\|`, ""), "|")
		if columns != 0 && n != columns {
			t.Errorf("%d columns, not %d: %s", n, columns, line)
		}
		columns = n
	}
}

// TestUnavailable: what this version refuses is said in the reference.
func TestUnavailable(t *testing.T) {
	t.Parallel()
	text := markdown(t)
	if len(reference.Unavailable()) == 0 {
		t.Skip("everything is available")
	}
	for _, u := range reference.Unavailable() {
		if !strings.Contains(text, "- "+u+"\n") {
			t.Errorf("not said: %s", u)
		}
	}
}
