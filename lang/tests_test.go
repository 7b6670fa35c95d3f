package lang_test

import (
	"testing"

	"pipeline/lang"
)

// TestPaymentsTests: the tests of the worked example load, and nothing is said
// of them.
func TestPaymentsTests(t *testing.T) {
	for _, path := range []string{"../examples/payments.hcl", "../examples", "../examples/payments_test.hcl"} {
		suite, report := lang.LoadTests(lang.OS(), path, lang.Options{})
		if text := render(t, report); text != "" || suite == nil {
			t.Fatalf("%s:\n%s", path, text)
		}
		if len(suite.Tests) != 22 {
			t.Errorf("%s: %d tests", path, len(suite.Tests))
		}
	}
}
