package lang_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/tools/txtar"

	"pipeline/lang"
	"pipeline/lang/diag"
)

// compared are the mistakes of docs/diagnostics-compared.md: archive and case.
var compared = []struct {
	title string
	cases []string
}{
	{"Names", []string{
		"newcomer-names/retry_jitter of Celery", "newcomer-names/ackWait of NATS", "newcomer-names/auto_offset_reset of Kafka",
		"newcomer-names/mem_limit of docker-compose", "newcomer-names/dlq", "newcomer-names/hadnler with swapped letters", "newcomer-names/queue for a stream",
	}},
	{"Places", []string{
		"newcomer-levels/memory in the handler", "newcomer-levels/concurrency in the group", "newcomer-levels/stream in the subscription",
		"newcomer-levels/claim as a duration", "newcomer-levels/claim as an object", "newcomer-levels/dead_letter as a reference", "newcomer-levels/subscription at the top level",
	}},
	{"Habits of other tools", []string{
		"newcomer-terraform/a resource", "newcomer-terraform/depends_on", "newcomer-terraform/dynamic", "newcomer-terraform/replicas of docker-compose",
		"newcomer-syntax/a file of YAML", "newcomer-syntax/a block of YAML", "newcomer-syntax/a list of YAML", "newcomer-syntax/a section of TOML",
	}},
	{"Writing", []string{
		"newcomer-syntax/a colon for an argument", "newcomer-syntax/a trailing comma after a string", "newcomer-syntax/single quotes", "newcomer-syntax/a comment of Lua after a value",
		"newcomer-syntax/a missing closing brace of a nested block", "newcomer-syntax/a missing closing quote", "newcomer-syntax/a missing closing parenthesis of a type",
		"newcomer-syntax/a brace on the next line", "newcomer-syntax/commas between the arguments of a one-line block", "newcomer-syntax/a shell default",
	}},
	{"Characters", []string{
		"newcomer-characters/a Cyrillic letter in a block's name", "newcomer-characters/a no-break space before the equals sign", "newcomer-characters/a typographic greater-or-equal",
	}},
	{"Values", []string{
		"newcomer-values/a duration without quotes", "newcomer-values/milliseconds as a number in min_idle", "newcomer-values/an ISO 8601 duration",
		"newcomer-values/MB for MiB", "newcomer-values/underscores in a number", "newcomer-values/latest of Kafka", "newcomer-values/one attempt", "newcomer-values/yes",
	}},
	{"References and expressions", []string{
		"newcomer-expressions/a reference in quotes", "newcomer-expressions/a reference in a template", "newcomer-expressions/a misspelt field",
		"newcomer-expressions/a field in quotes", "newcomer-expressions/and", "newcomer-expressions/one equals sign", "newcomer-expressions/plus for strings",
	}},
}

const comparedHead = `# Diagnostics beside those of plain HCL

Fifty mistakes out of the corpus of tests, as people make them, with what a program prints that leaves parsing, decoding by a
schema, evaluation and type conversion to the hcl library, and what ` + "`pipeline validate`" + ` prints. Both decode by the same
table. hcl is given the types of entries too, so that it can find misspelt fields. A test writes this page and fails when it is not
up to date: ` + "`go test ./lang -run TestCompared -update`" + `.

Where hcl accepts a file, a program finds the mistake itself, or not at all.
`

// TestCompared writes the page, and checks that each of our reports is one
// diagnostic that says more.
func TestCompared(t *testing.T) {
	const path = "../docs/diagnostics-compared.md"
	base, err := os.ReadFile("testdata/base.hcl")
	if err != nil {
		t.Fatal(err)
	}
	var page strings.Builder
	page.WriteString(comparedHead)
	total := 0
	for _, section := range compared {
		fmt.Fprintf(&page, "\n## %s\n", section.title)
		for _, name := range section.cases {
			total++
			t.Run(name, func(t *testing.T) { compare(t, &page, string(base), name) })
		}
	}
	if total != 50 {
		t.Errorf("%d cases, 50 are promised", total)
	}
	if *update {
		if err := os.WriteFile(path, []byte(page.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if have, err := os.ReadFile(path); err != nil || string(have) != page.String() {
		t.Errorf("%s is not up to date (%v); go test ./lang -run TestCompared -update writes it", path, err)
	}
}

// compare writes one case.
func compare(t *testing.T, page *strings.Builder, base, name string) {
	archive, title, _ := strings.Cut(name, "/")
	text := findCase(t, archive, title)
	c := parseCase(t, base, text)
	_, r := lang.Load(c.files, "p.hcl", c.opts)
	stock := stockReport(c.source)
	if len(r.All()) != 1 {
		t.Errorf("%d diagnostics", len(r.All()))
		return
	}
	if d := r.All()[0]; !saysMore(d, stock) {
		t.Errorf("%s says no more than\n%s", d, stock)
	}
	if stock == "" {
		stock = "(hcl accepts the file)\n"
	}
	fmt.Fprintf(page, "\n### %s\n\n```hcl\n%s```\n\nhcl:\n\n```text\n%s\n```\n\npipeline:\n\n```text\n%s```\n",
		title, snippet(text), few(stock), render(t, r))
	if fixed := mended(c.source, r.All()[0]); fixed != "" {
		fmt.Fprintf(page, "\nand, with its edit:\n\n```hcl\n%s```\n", fixed)
	}
}

// few are the first three problems of hcl, and how many more there are.
func few(stock string) string {
	parts := strings.SplitAfter(strings.TrimSpace(stock), "\n\nError: ")
	if len(parts) <= 3 {
		return strings.TrimSpace(stock)
	}
	text := strings.TrimSuffix(strings.Join(parts[:3], ""), "Error: ")
	return fmt.Sprintf("%s\n\n(and %d more of the same kind)", strings.TrimSpace(text), len(parts)-3)
}

// mended are the lines that the edits of a diagnostic change, as they are
// then; "" without edits, or when lines are only removed.
func mended(source string, d diag.Diagnostic) string {
	if len(d.Edits) == 0 {
		return ""
	}
	before, after := strings.SplitAfter(source, "\n"), strings.SplitAfter(applyEdits(source, d), "\n")
	for len(before) > 0 && len(after) > 0 && before[0] == after[0] {
		before, after = before[1:], after[1:]
	}
	for len(before) > 0 && len(after) > 0 && before[len(before)-1] == after[len(after)-1] {
		before, after = before[:len(before)-1], after[:len(after)-1]
	}
	return strings.Join(after, "")
}

// saysMore reports whether a diagnostic has what hcl's text lacks: the word
// that was meant, or an edit, or another place.
func saysMore(d diag.Diagnostic, stock string) bool {
	switch {
	case stock == "":
		return true
	case d.Suggestion != "" && !strings.Contains(stock, `Did you mean "`+d.Suggestion+`"`):
		return true
	}
	return len(d.Edits) > 0 || len(d.Related) > 0 || d.Suggestion == "" && d.Detail != "" && strings.Count(stock, "Error:") > 1
}

// findCase is the text of a case of an archive.
func findCase(t *testing.T, archive, name string) string {
	t.Helper()
	a, err := txtar.ParseFile("testdata/invalid/" + archive + ".txtar")
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range a.Files {
		if f.Name == name {
			return string(f.Data)
		}
	}
	t.Fatalf("no case %q in %s", name, archive)
	return ""
}

// snippet is what a case adds.
func snippet(text string) string {
	var b strings.Builder
	whole := false
	for line := range strings.Lines(text) {
		switch {
		case whole:
			b.WriteString(line)
		case strings.HasPrefix(line, "@whole"):
			whole = true
		case strings.HasPrefix(line, "+"):
			b.WriteString(strings.TrimPrefix(line[1:], " "))
		}
	}
	return b.String()
}
