package tests

import (
	"slices"
	"testing"
	"testing/fstest"
)

// TestPromiseFaultsAreFound proves that a promise without a test, and a test that is not there, are found.
func TestPromiseFaultsAreFound(t *testing.T) {
	t.Parallel()
	source := func(imports, body string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package a\n\nimport (\n\"testing\"\n" + imports + ")\n\n" + body)}
	}
	index := newTestIndex(fstest.MapFS{
		"tests/a/a_test.go": source("\"pipeline/tests/redistest\"\n",
			"func TestA(t *testing.T) { t.Run(\"one case\", nil) }\nvar cases = []string{\"a/b\", \"deep\"}\nfunc TestB() { f(\"of b\") }"),
		"tests/a/b_test.go":                   source("", "func TestC(t *testing.T) {}\n"),
		"tests/a/c_test.go":                   source("\"pipeline/tests/redistest\"\n\"pipeline/engine/broker/brokertest\"\n", "func TestD() {}\n"),
		"engine/broker/brokertest/x_cases.go": source("", "var xCases = []string{\"does it\"}\n"),
		"engine/broker/brokertest/run.go":     source("", "var cases = []string{\"Read\"}\n"),
		"tests/cli/run.txtar":                 {Data: []byte("redis 8.6\n")},
		"tests/cli/dev.txtar":                 {Data: []byte("exec pipeline dev\n")},
	})
	tests := map[string]struct {
		page string
		want []int // lines
	}{
		"a test":                         {"## S\n- p\n  - `tests/a.TestA`\n", nil},
		"with a word about it":           {"## S\n- p\n  - `tests/a.TestA` and why\n", nil},
		"a case in the function":         {"## S\n- p\n  - `tests/a.TestA/one_case`\n", nil},
		"a case in a variable":           {"## S\n- p\n  - `tests/a.TestA/deep`\n", nil},
		"a case with a slash in a case":  {"## S\n- p\n  - `tests/a.TestA/one_case/a/b/deep`\n", nil},
		"a case of every broker":         {"## S\n- p\n  - `tests/a.TestD/Read/does_it`\n", nil},
		"a script":                       {"## S\n- p\n  - `cmd/pipeline.TestScripts/run`\n", nil},
		"prose before the first section": {"# P\n\nprose\n\n## S\n\n- p\n  - `tests/a.TestA`\n", nil},
		"no promise at all":              {"## S\n", nil},

		"no test":                            {"## S\n- p\n- q\n  - `tests/a.TestA`\n", []int{2}},
		"no such test":                       {"## S\n- p\n  - `tests/a.TestA`\n  - `tests/a.TestX`\n", []int{4}},
		"no such package":                    {"## S\n- p\n  - `tests/x.TestA`\n", []int{3, 2}},
		"no such case":                       {"## S\n- p\n  - `tests/a.TestA/other`\n", []int{3}},
		"half a case":                        {"## S\n- p\n  - `tests/a.TestA/one`\n", []int{3}},
		"a case of another function":         {"## S\n- p\n  - `tests/a.TestA/of_b`\n", []int{3}},
		"a case of every broker, not run":    {"## S\n- p\n  - `tests/a.TestA/does_it`\n", []int{3}},
		"no such script":                     {"## S\n- p\n  - `cmd/pipeline.TestScripts/none`\n", []int{3, 2}},
		"a test without a server":            {"## S\n- p\n  - `tests/a.TestC`\n", []int{2}},
		"a script without a server":          {"## S\n- p\n  - `cmd/pipeline.TestScripts/dev`\n", []int{2}},
		"a test where no server has a say":   {"## S\n- p (no server)\n  - `tests/a.TestC`\n", nil},
		"no test where no server has a say":  {"## S\n- p (no server)\n", []int{2}},
		"prose in a section":                 {"## S\n- p\n  - `tests/a.TestA`\nprose\n", []int{4}},
		"a test before the section's first":  {"## S\n- p\n  - `tests/a.TestA`\n## R\n  - `tests/a.TestA`\n", []int{5}},
		"a promise of two lines":             {"## S\n- p\n  and q\n  - `tests/a.TestA`\n", []int{3}},
		"a test that is not written as such": {"## S\n- p\n  - tests/a.TestA\n", []int{3, 2}},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got []int
			for _, f := range promiseFaults(test.page, index) {
				got = append(got, f.line)
			}
			if !slices.Equal(got, test.want) {
				t.Errorf("faults in lines %v, want %v", got, test.want)
			}
		})
	}
}

// TestMissingSectionsAreFound proves that the page cannot pass over what is promised elsewhere.
func TestMissingSectionsAreFound(t *testing.T) {
	t.Parallel()
	const (
		delivery = "# Delivery\n\n## Here\n\ntext\n\n## There\n"
		readme   = "# P\n\n1. **Not this.**\n\n## What is promised\n\n1. **Once, always**, of it.\n2. **Never robbed.** Why.\n\n## More\n\n1. **Nor this.**\n"
	)
	for page, want := range map[string][]string{
		"": {"Here", "There", "Once, always", "Never robbed"},
		"## Here\n- Once, always, it is\n## There\n":          {"There", "Never robbed"},
		"## Here\n- Once, always\n## There\n- Never robbed\n": nil,
	} {
		if got := missingSections(page, delivery, readme); !slices.Equal(got, want) {
			t.Errorf("of %q is missing %q, want %q", page, got, want)
		}
	}
}
