//go:build linux

package guide

import (
	"reflect"
	"strings"
	"testing"
)

func TestSteps(t *testing.T) {
	t.Parallel()
	text := strings.ReplaceAll(`
'''hcl title="a.hcl"
a = 1
'''
'''hcl
not = "looked at"
'''
'''diff title="a.hcl"
-a = 1
+a = 2
'''
'''console
$ one
> more
shown
> not more
$ two
'''
'''console title="terminal 2"
$ stays
begins
'''
'''console order="any" shows="soon"
$ three
'''
'''console title="terminal 2"
goes on

$ four
$ five
'''
'''console title="terminal 2"
^C
^C
end
'''`, "'''", "```")
	want := []any{
		&write{3, "a.hcl", "a = 1\n"},
		&edit{9, "a.hcl", "a = 1\n", "a = 2\n"},
		&command{13, "", "one\nmore", false, false, shows{lines: []string{"shown", "> not more"}}},
		&command{17, "", "two", false, false, shows{}},
		&command{20, "terminal 2", "stays", true, false, shows{lines: []string{"begins"}}},
		&command{24, "", "three", false, true, shows{anyOrder: true}},
		&goesOn{27, "terminal 2", false, true, shows{lines: []string{"goes on", ""}}},
		&command{29, "terminal 2", "four", false, false, shows{}},
		&command{30, "terminal 2", "five", true, false, shows{}},
	}
	got, err := steps(text[:strings.LastIndex(text, "^C\nend")] + "end\n```")
	if err != nil {
		t.Fatal(err)
	}
	want = append(want, &goesOn{33, "terminal 2", true, true, shows{lines: []string{"end"}}})
	for i := range max(len(got), len(want)) {
		if i >= len(got) || i >= len(want) || !reflect.DeepEqual(got[i], want[i]) {
			t.Fatalf("step %d of %d, want %d:\n%+v\n%+v", i, len(got), len(want), got, want)
		}
	}
	if _, err := steps(text); err == nil || !strings.Contains(err.Error(), "nothing runs in this terminal") {
		t.Errorf("a second interrupt: %v", err)
	}
}

func TestDocumentsThatMakeNoSense(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		"```console\n$ one\n":             "line 1: a fenced block does not end",
		"``` console\n```":                "line 1: a fence needs a language",
		"```console title=a\n```":         "line 1: a fence needs a language",
		"a\n\n```console\nshown\n```":     "line 4: output without a command before it",
		"```console title=\"b\"\n^C\n```": "line 2: output without a command before it",
	} {
		if _, err := steps(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: %v, want %q", text, err, want)
		}
	}
	e := edit{file: "a", old: "b\n", new: "c\n"}
	if got, err := e.apply("ab\nb\nd\n"); err != nil || got != "ab\nc\nd\n" {
		t.Errorf("an edit gives %q, %v", got, err)
	}
	for _, text := range []string{"a\n", "b\nb\n", ""} {
		if _, err := e.apply(text); err == nil {
			t.Errorf("an edit of %q is made", text)
		}
	}
}
