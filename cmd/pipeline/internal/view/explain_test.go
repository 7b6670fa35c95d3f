package view

import (
	"bytes"
	"strings"
	"testing"
)

// explained is a small explanation with every part.
var explained = Explanation{
	Code: "unused", Meaning: "Nothing refers to the block.", Action: "Refer to it or remove it.", Exits: []int{1, 2},
	Text:   []string{"One word after another makes a paragraph that is longer than a narrow terminal is wide."},
	Bad:    []Listing{{Name: "pipeline.hcl", Text: "stream \"x\" {\n}\n"}, {Name: "h.lua", Text: "-- nothing\n"}, {Text: "$ pipeline validate ."}},
	Report: "warning[unused]: …\n\n1 warning\n", Good: []Listing{{Name: "pipeline.hcl", Text: "# nothing\n"}}, Part: true,
}

func TestExplain(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := New(Options{Out: &out, Err: &out, Width: 40})
	v.Explain(explained)
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	want := `unused

Nothing refers to the block. Refer to it
or remove it.

Exit code: 1 or 2.

One word after another makes a paragraph
that is longer than a narrow terminal is
wide.

In a pipeline that is otherwise
complete, this is reported:

    # pipeline.hcl
    stream "x" {
    }

    # h.lua
    -- nothing

    $ pipeline validate .

    warning[unused]: …

    1 warning

And this is right:

    # nothing
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestExplainJSON(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := New(Options{Out: &out, Err: &out, JSON: true})
	v.Explain(Explanation{Code: "unused", Meaning: "M.", Action: "A.", Text: []string{}})
	v.Codes([]Code{{"unused", "M."}})
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"explanation","code":"unused","meaning":"M.","action":"A.","text":[]}
{"event":"code","code":"unused","meaning":"M."}
`
	if got := out.String(); got != want {
		t.Errorf("got:\n%s\nwant:\n%s", got, want)
	}
}

func TestCodesAreATable(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	v := New(Options{Out: &out, Err: &out, Color: true, Width: 30})
	v.Codes([]Code{{"unused", "Nothing refers to the block, whatever."}, {"syntax", "Odd."}})
	if err := v.Close(); err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(out.String(), "\n")
	if len(lines) != 4 || !strings.HasPrefix(lines[1], "unused  Nothing refers") || !strings.HasSuffix(lines[1], "…") {
		t.Errorf("%q", lines)
	}
}
