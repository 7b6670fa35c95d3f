package view

import (
	"encoding/json"
	"testing"
)

// What is shown of a name or a value is either itself, or JSON that means it and holds
// nothing that a terminal or a browser acts on.
func TestWhatIsLegible(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"plain": "plain", "ünïcode": "ünïcode", "line\nline": `"line\nline"`, "\u202eevil": `"\u202eevil"`, "a\u2066b": `"a\u2066b"`,
		"\x1b[31m": `"\u001b[31m"`, "\u0085": `"\u0085"`, "": `""`, "\xff": "base64 /w==",
	} {
		got := legible(text)
		if got != want || !isClean(got) {
			t.Errorf("%q is shown as %q, want %q", text, got, want)
		}
		var back string
		if got[0] == '"' && (json.Unmarshal([]byte(got), &back) != nil || back != text) {
			t.Errorf("%q means %q", got, back)
		}
	}
}
