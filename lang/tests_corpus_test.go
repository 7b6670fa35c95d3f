package lang_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"pipeline/lang"
	"pipeline/lang/diag"
)

// The cases of testdata/tests/invalid are test files with one mistake each,
// written as those of the corpus of pipelines (corpus_test.go): differences to
// base_test.hcl, which are the tests of base.hcl. Every case says, apart from
// what the loader does, the code that is right, the text that the range covers,
// and what a person would have guessed:
//
//	@code CODE, @at TEXT, @at#3 TEXT, @guess WORD or -, @warning
//	@pipeline            the rest is a difference to base.hcl
type testCase struct {
	files   fstest.MapFS
	source  string
	want    expectation
	warning bool
}

const testCaseFile = "p_test.hcl"

func testBase(t *testing.T) (pipeline, tests string) {
	t.Helper()
	read := func(name string) string {
		text, err := os.ReadFile(filepath.Join("testdata", "tests", name))
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	return read("base.hcl"), read("base_test.hcl")
}

func parseTestCase(t *testing.T, text string) testCase {
	t.Helper()
	pipeline, base := testBase(t)
	c := testCase{files: fstest.MapFS{"h.lua": {Data: []byte("function handle() end\n")}}}
	var diff, pipelineDiff []string
	whole, ofPipeline := false, false
	for line := range strings.Lines(text) {
		option, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		switch {
		case ofPipeline:
			pipelineDiff = append(pipelineDiff, line)
		case option == "@pipeline":
			ofPipeline = true
		case option == "@whole":
			whole = true
		case option == "@warning":
			c.warning = true
		case strings.HasPrefix(option, "@at#"):
			c.want.at, c.want.nth = rest, int(option[len("@at#")]-'0')
		case c.want.option(option, rest):
		default:
			diff = append(diff, line)
		}
	}
	c.source = strings.Join(diff, "")
	if !whole {
		c.source = applyDiff(t, base, diff)
	}
	c.want.mark(&c.source)
	c.files[testCaseFile] = &fstest.MapFile{Data: []byte(c.source)}
	c.files["p.hcl"] = &fstest.MapFile{Data: []byte(strings.ReplaceAll(applyDiff(t, pipeline, pipelineDiff), added, ""))}
	return c
}

func TestTestBaseIsClean(t *testing.T) {
	c := parseTestCase(t, "")
	suite, r := lang.LoadTests(c.files, "p.hcl", lang.Options{})
	if len(r.All()) != 0 || suite == nil {
		t.Errorf("base_test.hcl is not clean:\n%s", render(t, r))
	}
}

func TestInvalidTests(t *testing.T) {
	archives, err := filepath.Glob("testdata/tests/invalid/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	total, guesses, met := 0, 0, 0
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			n, g, m := runTestArchive(t, path)
			total, guesses, met = total+n, guesses+g, met+m
		})
	}
	t.Logf("%d cases, %d of %d guesses met", total, met, guesses)
	if total < 80 {
		t.Errorf("%d cases, at least 80 are wanted", total)
	}
}

func runTestArchive(t *testing.T, path string) (cases, guesses, met int) {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".want"); ok {
			want[name] = f.Data
		}
	}
	out := &txtar.Archive{Comment: archive.Comment}
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".want") {
			continue
		}
		cases++
		t.Run(f.Name, func(t *testing.T) {
			c := parseTestCase(t, string(f.Data))
			got := c.run(t)
			out.Files = append(out.Files, f, txtar.File{Name: f.Name + ".want", Data: []byte(render(t, got))})
			if !*update && !bytes.Equal([]byte(render(t, got)), want[f.Name]) {
				t.Errorf("got:\n%s\nwant:\n%s", render(t, got), want[f.Name])
			}
			if c.want.guess != "-" {
				guesses++
				if c.want.met(got.All()) {
					met++
				} else {
					t.Errorf("a person would have guessed %s:\n%s", c.want.guess, render(t, got))
				}
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(out), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return cases, guesses, met
}

// run loads a case and checks what holds for each.
func (c *testCase) run(t *testing.T) *diag.Report {
	t.Helper()
	suite, r := lang.LoadTests(c.files, "p.hcl", lang.Options{})
	if (suite == nil) != r.HasErrors() || c.warning == r.HasErrors() {
		t.Errorf("suite %v, errors %v, only a warning is wanted: %v", suite != nil, r.HasErrors(), c.warning)
	}
	if got := len(r.All()); got != 1 {
		t.Errorf("%d diagnostics, want 1:\n%s", got, render(t, r))
	}
	if c.want.code == "" || c.want.at == "" || !c.want.guessed {
		t.Error("a case says its @code, @at and @guess")
	}
	checkReport(t, c.files, r)
	c.want.check(t, r)
	checkSecrets(t, "hunter2", r)
	c.edits(t, r)
	return r
}

// edits applies the edits of the problem: it must be gone, and nothing new come.
func (c *testCase) edits(t *testing.T, before *diag.Report) {
	t.Helper()
	for _, d := range before.All() {
		if len(d.Edits) == 0 {
			continue
		}
		src := c.source
		for _, e := range slices.Backward(d.Edits) {
			src = src[:e.Range.Start.Byte] + e.Text + src[e.Range.End.Byte:]
		}
		files := maps.Clone(c.files)
		files[testCaseFile] = &fstest.MapFile{Data: []byte(src)}
		if _, after := lang.LoadTests(files, "p.hcl", lang.Options{}); len(after.All()) != 0 {
			t.Errorf("the edit of %s does not help:\n%s", d.Code, render(t, after))
		}
	}
}

// TestTestPathsAreOneDiagnostic misspells every name that conditions may read:
// each gives one problem, which proposes the right one.
func TestTestPathsAreOneDiagnostic(t *testing.T) {
	for _, path := range []string{
		"subscription.bill_order.outcomes[0]", "subscription.bill_order.calls[0].deliveries", "subscription.bill_order.calls[0].entry.account",
		"subscription.bill_order.calls[*].consumer", "subscription.bill_order.calls[0].replies[0].stream", "subscription.bill_order.calls[0].logs[0].message",
		"stream.receipts.values[0].order", "stream.receipts.entries[0].headers", "stream.receipts.entries[0].value.order", "stream.dead.entries[0].dead_letter.reason",
		"group.billing.pending[0].consumer", "group.billing.pending[*].deliveries", "group.billing.dead_letters[0].dead_letter.attempts", "local.order.account",
	} {
		for i, c := range path {
			if c < 'a' || c > 'z' {
				continue
			}
			typo := path[:i] + string(c) + path[i:]
			text := fmt.Sprintf("- condition = subscription.bill_order.outcomes == [\"ack\"]\n+ condition = %s != null || group.billing.pending != []\n", typo)
			parsed := parseTestCase(t, text)
			_, r := lang.LoadTests(parsed.files, "p.hcl", lang.Options{})
			if all := r.All(); len(all) != 1 || all[0].Suggestion == "" {
				t.Errorf("%s:\n%s", typo, render(t, r))
			}
		}
	}
}
