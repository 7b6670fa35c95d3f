package reference_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"pipeline/examples"
	"pipeline/lang"
	"pipeline/lang/diag"
	"pipeline/lang/reference"
	"pipeline/lang/schema"
)

var testingMD = filepath.Join("..", "..", "docs", "testing.md")

func testingText(t *testing.T) string {
	t.Helper()
	text, err := reference.Testing(examples.PaymentsTests)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// TestTesting: docs/testing.md is what the generator writes.
func TestTesting(t *testing.T) {
	t.Parallel()
	got := testingText(t)
	if *update {
		if err := os.WriteFile(testingMD, []byte(got), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(testingMD)
	if err != nil {
		t.Fatal(err)
	}
	if got != string(want) {
		t.Error("docs/testing.md is not what the tables say; go test ./lang/reference -update writes it anew")
	}
	checkTables(t, got)
}

// testsOf puts the example of a block into what it needs around it.
func testsOf(path []string, example string) string {
	step := "step \"s\" {\nassert {\ncondition = stream.payments.values == []\n}\n"
	switch {
	case len(path) == 1:
		return example
	case len(path) == 3:
		return "test \"t\" {\n" + step + example + "\n}\n}\n"
	case path[1] == "expect_error":
		return "test \"t\" {\n" + example + "\n}\n"
	}
	return "test \"t\" {\n" + example + "\n" + step + "}\n}\n"
}

// loadTests loads tests of the worked example; locals that they use are there.
func loadTests(text string) *diag.Report {
	if !strings.Contains(text, "locals {") {
		text = "locals {\npaid = { id = 1, account = \"a\", amount_cents = 1 }\nlocked = local.paid\n}\n" + text
	}
	if !strings.Contains(text, "test \"") {
		text += "\ntest \"t\" {\nstep \"s\" {\nassert {\ncondition = stream.payments.values == [local.paid]\n}\n}\n}\n"
	}
	files := fstest.MapFS{
		"payments.hcl": {Data: []byte(examples.Payments)}, "payments_test.hcl": {Data: []byte(text)}, "handlers/payments.lua": {Data: []byte(examples.PaymentsScript)},
	}
	_, report := lang.LoadTests(files, "payments.hcl", lang.Options{})
	return report
}

func problems(r *diag.Report) string {
	var b strings.Builder
	for _, d := range r.All() {
		if d.Code != diag.Unused {
			b.WriteString(d.String() + "\n")
		}
	}
	return b.String()
}

// TestTestingExamples: every example of the reference loads without a word.
func TestTestingExamples(t *testing.T) {
	t.Parallel()
	schema.Test.Walk(func(path []string, b *schema.Block) {
		if len(path) == 0 {
			return
		}
		text := testsOf(path, b.Example)
		if said := problems(loadTests(text)); said != "" {
			t.Errorf("%s: %s\n%s", strings.Join(path, "."), said, text)
		}
	})
	for _, m := range fences.FindAllStringSubmatch(testingText(t), -1) {
		if m[1] != "hcl" || !strings.Contains(m[2], "test \"") {
			continue
		}
		if said := problems(loadTests(m[2])); said != "" {
			t.Errorf("%s\n%s", said, m[2])
		}
	}
}

// TestTestArguments: every argument of the table is read with the value of its
// example, and missed where it is required.
func TestTestArguments(t *testing.T) {
	t.Parallel()
	schema.Test.Walk(func(path []string, b *schema.Block) {
		for _, a := range b.Args {
			given := []string{a.Name}
			for _, other := range b.Args {
				if other.Required && other != a {
					given = append(given, other.Name)
				}
			}
			if b.Name == "publish" && a.Name != "entry" && a.Name != "entries" && a.Name != "raw" {
				given = append(given, "entry")
			}
			if b.Name == "mock" && a.Name == "times" {
				given = append(given, "error")
			}
			text := testsOf(path, written(b, given, ""))
			if said := problems(loadTests(text)); said != "" {
				t.Errorf("%s.%s: %s\n%s", b.Name, a.Name, said, text)
			}
			if said := problems(loadTests(testsOf(path, written(b, given, a.Name)))); said == "" {
				t.Errorf("%s.%s is not read", b.Name, a.Name)
			}
			if said := problems(loadTests(testsOf(path, written(b, given[1:], "")))); a.Required != strings.Contains(said, string(diag.MissingArgument)) && b.Name != "publish" && b.Name != "mock" {
				t.Errorf("%s without %s: %s", b.Name, a.Name, said)
			}
		}
	})
}

// written is a block with these arguments; wrong has a value that none can have.
func written(b *schema.Block, args []string, wrong string) string {
	head := b.Name
	switch {
	case b.Variant != "":
		head += " \"" + b.Variant + "\""
	case b.Name == "mock":
		head += " \"post_payment\""
	case len(b.Labels) > 0:
		head += " \"name\""
	}
	var lines []string
	for _, name := range args {
		value := b.Arg(name).Example
		if name == wrong {
			value = "nothing.here"
		}
		lines = append(lines, name+" = "+value)
	}
	if b.Name == "test" {
		lines = append(lines, "step \"s\" {\nassert {\ncondition = stream.payments.values == []\n}\n}")
	}
	return head + " {\n" + strings.Join(lines, "\n") + "\n}"
}
