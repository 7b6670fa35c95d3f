package view

import (
	"bytes"
	"strings"
	"testing"
)

// shown is what a view prints.
func shown(t *testing.T, o Options, tell func(v *View)) string {
	t.Helper()
	var out bytes.Buffer
	o.Out, o.Err = &out, &out
	v := New(o)
	tell(v)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

func TestFormatted(t *testing.T) {
	t.Parallel()
	changed := Formatted{File: "a.hcl", Changed: true, ShowDiff: true, Before: []byte("a=\t1 # \x1b[2J\n"), After: []byte("a = 1 # \x1b[2J\n")}
	named, same := changed, changed
	named.ShowDiff, same.Changed = false, false
	for name, c := range map[string]struct {
		options Options
		f       Formatted
		want    string
	}{
		"the name":          {Options{}, named, "a.hcl\n"},
		"a hostile name":    {Options{}, Formatted{File: "a\x1b\n.hcl", Changed: true}, "a\ufffd .hcl\n"},
		"nothing":           {Options{}, same, ""},
		"text":              {Options{}, Formatted{File: "stdin", Text: []byte("a = 1\n")}, "a = 1\n"},
		"no text":           {Options{}, Formatted{File: "stdin", Text: []byte{}}, ""},
		"for a program":     {Options{}, changed, "diff a.hcl.orig a.hcl\n--- a.hcl.orig\n+++ a.hcl\n@@ -1,1 +1,1 @@\n-a=\t1 # \x1b[2J\n+a = 1 # \x1b[2J\n"},
		"for a terminal":    {Options{Width: 80}, changed, "diff a.hcl.orig a.hcl\n--- a.hcl.orig\n+++ a.hcl\n@@ -1,1 +1,1 @@\n-a=    1 # \ufffd[2J\n+a = 1 # \ufffd[2J\n"},
		"JSON":              {Options{JSON: true}, named, `{"event":"formatted","file":"a.hcl","changed":true,"written":false}` + "\n"},
		"JSON, the same":    {Options{JSON: true}, same, `{"event":"formatted","file":"a.hcl","changed":false,"written":false,"diff":""}` + "\n"},
		"JSON, empty stdin": {Options{JSON: true}, Formatted{File: "stdin", Text: []byte{}}, `{"event":"formatted","file":"stdin","changed":false,"written":false,"text":""}` + "\n"},
	} {
		if got := shown(t, c.options, func(v *View) { v.Formatted(c.f) }); got != c.want {
			t.Errorf("%s: got %q, want %q", name, got, c.want)
		}
	}
	colored := shown(t, Options{Width: 80, Color: true}, func(v *View) { v.Formatted(changed) })
	for _, want := range []string{"\x1b[31m-a=    1 # \ufffd[2J\x1b[0m\n", "\x1b[32m+a = 1 # \ufffd[2J\x1b[0m\n", "\x1b[36m@@"} {
		if !strings.Contains(colored, want) {
			t.Errorf("%q lacks %q", colored, want)
		}
	}
}

func TestCreated(t *testing.T) {
	t.Parallel()
	tell := func(v *View) {
		v.Created("a/b.hcl")
		v.Paste("p.hcl", "x {\n}\n")
		v.Next([]Step{{"pipeline validate a", "check it"}, {"pipeline run a", "run it"}})
	}
	want := "created a/b.hcl\n\nAdd this to p.hcl:\n\nx {\n}\n\nNext:\n  pipeline validate a  check it\n  pipeline run a       run it\n"
	if got := shown(t, Options{}, tell); got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	want = `{"event":"created","file":"a/b.hcl"}
{"event":"paste","file":"p.hcl","text":"x {\n}\n"}
{"event":"next","command":"pipeline validate a","why":"check it"}
{"event":"next","command":"pipeline run a","why":"run it"}
`
	if got := shown(t, Options{JSON: true}, tell); got != want {
		t.Errorf("got %s, want %s", got, want)
	}
}
