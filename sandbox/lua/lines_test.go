package lua

import (
	"fmt"
	"testing"
)

func TestSplitLines(t *testing.T) {
	for code, want := range map[string]string{
		"a":                `["a"]`,
		"a\nb":             `["a" "b"]`,
		"a\rb\n":           `["a" "b" ""]`,
		"a\r\nb\n\rc":      `["a" "b" "c"]`,
		"\n\n\r\r\n\r":     `["" "" "" "" ""]`,
		"a\r\n\r\n\nb\r\r": `["a" "" "" "b" "" ""]`,
	} {
		if got := fmt.Sprintf("%q", splitLines([]byte(code))); got != want {
			t.Errorf("%q: %s, want %s", code, got, want)
		}
	}
}
