package value

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

// refusal is why ParseJSON refuses a text that encoding/json accepts, or "".
func refusal(src string) string {
	if !utf8.ValidString(src) {
		return "UTF-8"
	}
	if halfSurrogate(src) {
		return "surrogate"
	}
	d := json.NewDecoder(strings.NewReader(src))
	d.UseNumber()
	type level struct {
		names  map[string]bool // nil in an array
		inName bool
	}
	var open []level
	for {
		token, err := d.Token()
		if err == io.EOF {
			return ""
		}
		if n := len(open); n > 0 && open[n-1].names != nil && token != json.Delim('}') {
			top := &open[n-1]
			if top.inName = !top.inName; top.inName {
				if top.names[token.(string)] {
					return "each member name once"
				}
				top.names[token.(string)] = true
			}
		}
		switch token {
		case json.Delim('{'):
			open = append(open, level{names: map[string]bool{}})
		case json.Delim('['):
			open = append(open, level{})
		case json.Delim('}'), json.Delim(']'):
			open = open[:len(open)-1]
		}
		if len(open) > MaxDepth {
			return "levels"
		}
	}
}

var (
	escapes = regexp.MustCompile(`\\(u[0-9a-fA-F]{4}|.)`)
	pair    = regexp.MustCompile(`(?i)\\ud[89ab][0-9a-f]{2}\\ud[c-f][0-9a-f]{2}`)
	half    = regexp.MustCompile(`(?i)^\\ud[89a-f]`)
)

func halfSurrogate(src string) bool {
	// A backslash that is itself escaped starts no escape.
	src = strings.ReplaceAll(src, `\\`, "..")
	return slices.ContainsFunc(escapes.FindAllString(pair.ReplaceAllString(src, "...."), -1), half.MatchString)
}

func FuzzParseJSON(f *testing.F) {
	for _, s := range []string{
		paymentJSON, `null`, `[1,2.5e-3,"\ud83d\ude00\n",{"a":{},"b":[]}]`, `{"a":1,"a":2}`, `"\ud800"`, `"\\ud800"`,
		"\"\xff\"", `{"k":"v",}`, `01`, `"a` + "\n" + `b"`, strings.Repeat("[", 200) + strings.Repeat("]", 200),
		`{"a":{"b":1,"b":2}}`, `[{"a":1},{"a":1}]`, "\uFEFF1", `{"\u0061":1,"a":2}`,
		`{"b":1,"a":{"d":1.50,"c":"é"},"c":null}`, `{"b": 1,"a":2}`, `[{"b":"\/","a":[{"z":1,"y":"x"}]}]`,
	} {
		f.Add(s)
	}
	var arena Arena
	f.Fuzz(func(t *testing.T, src string) {
		arena.Reset()
		v, err := ParseJSON(src, &arena)
		if err != nil {
			checkRefusal(t, src, err)
			return
		}
		if !json.Valid([]byte(src)) {
			t.Fatalf("encoding/json refuses %q", src)
		}
		if why := refusal(src); why != "" {
			t.Fatalf("%q is accepted: %s", src, why)
		}
		checkWritten(t, src, &v)
		text, err := AppendJSON(nil, &v)
		if err != nil {
			t.Fatalf("%q: %v", src, err)
		}
		if theirs := normal(t, []byte(src)); !bytes.Equal(normal(t, text), theirs) {
			t.Fatalf("%q became %s, encoding/json reads %s", src, text, theirs)
		}
	})
}

func checkRefusal(t *testing.T, src string, err error) {
	syntax, ok := errors.AsType[*SyntaxError](err)
	if !ok || syntax.Offset < 0 || syntax.Offset > len(src) || syntax.Line < 1 || syntax.Column < 1 {
		t.Fatalf("%q: %#v", src, err)
	}
	if text := err.Error(); strings.ContainsAny(text, "\n\r\x1b\x00") || len(text) > 300 {
		t.Fatalf("%q: the message is no line: %q", src, text)
	}
	if json.Valid([]byte(src)) {
		if why := refusal(src); why == "" || !strings.Contains(err.Error(), why) {
			t.Fatalf("%q is refused: %v; encoding/json accepts it (%q)", src, err, why)
		}
	}
}

// normal is src as encoding/json reads and writes it, digits kept.
func normal(t *testing.T, src []byte) []byte {
	d := json.NewDecoder(bytes.NewReader(src))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatal(err)
	}
	out, err := json.Marshal(v)
	if err != nil {
		t.Fatal(err)
	}
	return out
}
