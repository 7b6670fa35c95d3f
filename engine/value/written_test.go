package value

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// checkWritten holds what AppendJSON writes of v, and of all in it, against what it
// writes of a value that has no text.
func checkWritten(t interface{ Fatalf(string, ...any) }, src string, v *Value) {
	want, fails := appendValue(nil, v, 0)
	got, err := AppendJSON(nil, v)
	if err != nil || fails != nil || string(got) != string(want) {
		t.Fatalf("of %q: got %q %v, want %q %v", src, got, err, want, fails)
	}
	for i := range v.Items() {
		checkWritten(t, src, &v.Items()[i])
	}
}

// spelled draws JSON as producers write it: in any order, with and without white
// space and escapes, sometimes with a name twice.
func spelled(t *rapid.T, depth int) string {
	pick := func(of ...string) string { return rapid.SampledFrom(of).Draw(t, "of") }
	space := func() string { return pick("", "", "", "", "", "", "", " ", "\n\t") }
	n := rapid.IntRange(0, 4).Draw(t, "n")
	kind := rapid.IntRange(0, 3).Draw(t, "kind")
	if depth == 0 {
		kind = 0
	}
	var parts []string
	switch kind {
	case 0:
		return pick("null", "true", "false", "0", "-0", "1.50", "1E+2", "18446744073709551615", `""`, `"a"`, `"é\u2028"`, "\"\u2028\x7f\"",
			`"a\/b"`, `"\n"`, `"\u0041"`, `"\""`, `"\\"`)
	case 1:
		for range n {
			parts = append(parts, space()+spelled(t, depth-1)+space())
		}
		return "[" + strings.Join(parts, ",") + "]"
	}
	for range n {
		name := pick(`""`, `"a"`, `"b"`, `"ba"`, `"c"`, `"amount_cents"`, `"é"`, `"\u0062"`, `"B"`)
		parts = append(parts, space()+name+space()+":"+space()+spelled(t, depth-1))
	}
	return "{" + strings.Join(parts, ",") + "}"
}

func TestWritten(t *testing.T) {
	var arena Arena
	rapid.Check(t, func(t *rapid.T) {
		arena.Reset()
		src := spelled(t, 4)
		v, err := ParseJSON(src, &arena)
		if err == nil {
			checkWritten(t, src, &v)
		} else if !strings.Contains(err.Error(), "each member name once") {
			t.Fatalf("%q: %v", src, err)
		}
	})
}

// TestWhatIsWritten sees to it that what can be copied is, and which texts can.
func TestWhatIsWritten(t *testing.T) {
	for src, want := range map[string]struct{ written, sorted bool }{
		`{"a":1,"b":[{}]}`:        {true, true},
		`{"b":1,"a":2}`:           {written: true},
		`[{"a":{"b":1,"a":2}},3]`: {written: true},
		`[]`:                      {true, true},
		`"text"`:                  {},
		`5`:                       {},
		`{"a": 1}`:                {},
		`{"a":1 }`:                {},
		`{"a":[1, 2]}`:            {},
		`{"a":"\n"}`:              {},
		`{"\u0061":1}`:            {},
		` {"a":1} `:               {true, true},
	} {
		v, err := ParseJSON(src, nil)
		if err != nil {
			t.Fatal(err)
		}
		if v.written() != want.written || v.sorted != want.sorted {
			t.Errorf("%s: written %t, sorted %t", src, v.written(), v.sorted)
		}
		if v.Kind() >= Array && v.Text() != "" {
			t.Errorf("%s has the text %q", src, v.Text())
		}
	}
	v, err := ParseJSON(`{"note":"\n","x":{"b":1},"y":[2],"z":[ 3]}`, nil)
	if err != nil {
		t.Fatal(err)
	}
	if v.written() || !v.Get("x").written() || !v.Get("y").written() || v.Get("z").written() {
		t.Error("what is in an object depends on what stands before it")
	}
}

// TestAppendText writes each byte at each place of short texts.
func TestAppendText(t *testing.T) {
	for length := range 20 {
		for at := range length {
			for c := range 256 {
				b := []byte(strings.Repeat("x", length))
				b[at] = byte(c)
				want := `"` + string(b) + `"`
				if c < 0x20 || c == '"' || c == '\\' {
					want = `"` + string(b[:at]) + string(appendEscape(nil, byte(c))) + string(b[at+1:]) + `"`
				}
				got, ok := AppendText([]byte("kept"), string(b))
				if ok != (c < 0x80) || ok && string(got) != "kept"+want || !ok && string(got) != "kept" {
					t.Fatalf("%q: %q %t, want %q", b, got, ok, want)
				}
			}
		}
	}
	if got, ok := AppendText(nil, "é and more of it"); !ok || string(got) != `"é and more of it"` {
		t.Errorf("%s %t", got, ok)
	}
}
