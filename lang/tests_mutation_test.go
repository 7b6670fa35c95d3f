package lang_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"pgregory.net/rapid"

	"pipeline/lang"
)

// TestMutatedTests moves, drops and repeats pieces of good test files: whatever
// comes of it is a suite or an error, and every assert of a suite has an answer.
func TestMutatedTests(t *testing.T) {
	read := func(name string) string {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	pipeline, base := read("testdata/tests/base.hcl"), read("testdata/tests/base_test.hcl")
	words := strings.FieldsFunc(base, func(r rune) bool { return r == ' ' || r == '\n' })
	words = append(words, "subscription.bill_order.calls", "[*]", "&&", "!", "null", "each", "raw", "for", "[for c in stream.dead.values : c]", "try(stream.dead.values[0].x, 1)")
	loaded := 0
	rapid.Check(t, func(rt *rapid.T) {
		text := base
		for range rapid.IntRange(1, 4).Draw(rt, "mutations") {
			at := rapid.IntRange(0, len(text)).Draw(rt, "at")
			end := min(len(text), at+rapid.IntRange(0, 20).Draw(rt, "length"))
			text = text[:at] + rapid.SampledFrom(words).Draw(rt, "word") + text[end:]
		}
		files := fstest.MapFS{"p.hcl": {Data: []byte(pipeline)}, "p_test.hcl": {Data: []byte(text)}, "h.lua": {Data: []byte("x")}}
		suite, r := lang.LoadTests(files, "p.hcl", lang.Options{})
		if (suite == nil) != r.HasErrors() {
			rt.Fatalf("suite %v, errors %v:\n%s", suite != nil, r.HasErrors(), text)
		}
		checkReport(t, files, r)
		if suite == nil {
			return
		}
		loaded++
		for _, test := range suite.Tests {
			for _, step := range test.Steps {
				for _, a := range step.Asserts {
					if result := a.Check(nil); !result.Passed && len(result.Lines()) == 0 {
						rt.Fatalf("%s fails without a word", a.Condition)
					}
				}
			}
		}
	})
	t.Logf("%d suites could be loaded", loaded)
}
