package format_test

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"golang.org/x/tools/txtar"

	"pipeline/lang/diag"
	"pipeline/lang/format"
)

var update = flag.Bool("update", false, "write golden files anew")

// formatted lays out a text that has no error, and checks that doing so again
// changes nothing.
func formatted(t testing.TB, src string) string {
	t.Helper()
	out, report := format.Format("p.hcl", []byte(src))
	if out == nil && report.HasErrors() {
		t.Fatalf("%v\n%s", report.All(), src)
	}
	again, report := format.Format("p.hcl", out)
	if !bytes.Equal(again, out) {
		t.Fatalf("formatting again changes the text, %v:\n%s\nto:\n%s", report.All(), out, again)
	}
	return string(out)
}

func TestFormat(t *testing.T) {
	t.Parallel()
	archive, err := txtar.ParseFile("testdata/layout.txtar")
	if err != nil {
		t.Fatal(err)
	}
	var out txtar.Archive
	for i := 0; i+1 < len(archive.Files); i += 2 {
		src, want := archive.Files[i], archive.Files[i+1]
		if want.Name != src.Name+".want" {
			t.Fatalf("%s stands after %s", want.Name, src.Name)
		}
		t.Run(src.Name, func(t *testing.T) {
			got := formatted(t, string(src.Data))
			out.Files = append(out.Files, src, txtar.File{Name: want.Name, Data: []byte(got)})
			if !*update && got != string(want.Data) {
				t.Errorf("got\n%s\nwant\n%s", got, want.Data)
			}
		})
	}
	if *update {
		_ = os.WriteFile("testdata/layout.txtar", txtar.Format(&out), 0o644)
	}
}

// White space that an archive cannot show.
func TestWhiteSpace(t *testing.T) {
	t.Parallel()
	for name, c := range map[string][2]string{
		"nothing":               {"", ""},
		"only white space":      {" \t\n\n  \n", ""},
		"no final line break":   {"a = 1", "a = 1\n"},
		"a final comment":       {"# a", "# a\n"},
		"white space at ends":   {"a = 1  \t\n# b \t \n/* c */ \n", "a = 1\n# b\n/* c */\n"},
		"tabs":                  {"a {\n\tb\t=\t1\t# x\n\tcc\t=\t2 # y\n}\n", "a {\n  b  = 1 # x\n  cc = 2 # y\n}\n"},
		"CRLF":                  {"a = 1\r\n\r\n\r\n# b\r\nc {\r\n}\r\n", "a = 1\n\n# b\nc {\n}\n"},
		"CRLF in a heredoc":     {"a = <<E\r\n x\r\n\r\nE\r\nb = 1\r\n", "a = <<E\r\n x\r\n\r\nE\nb = 1\n"},
		"CRLF in a comment":     {"/* a  \r\n  b */\r\nb = 1\r\n", "/* a  \r\n  b */\nb = 1\n"},
		"a byte order mark":     {"\xef\xbb\xbfa = 1\n", "a = 1\n"},
		"only a mark":           {"\xef\xbb\xbf", ""},
		"blank lines":           {"\n\n a = 1\n\n \n\t\n b = 2\n\n\n", "a = 1\n\nb = 2\n"},
		"white space in quotes": {"a = \" b\t ${ c } \"\n", "a = \" b\t ${ c } \"\n"},
		"heredoc ends":          {"a = <<E\n x  \n\n\n y\t\nE\n", "a = <<E\n x  \n\n\n y\t\nE\n"},
		"a carriage return":     {"# a\rb\n", "# a\rb\n"},
	} {
		if got := formatted(t, c[0]); got != c[1] {
			t.Errorf("%s: got %q, want %q", name, got, c[1])
		}
	}
}

// numbered are arguments of different names.
func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "a%d=1\n", i)
	}
	return b.String()
}

// A text with an error is not laid out, and the error is the loader's.
func TestRefused(t *testing.T) {
	rep := strings.Repeat
	for name, c := range map[string]struct {
		src  string
		code diag.Code
	}{
		"an open block":       {"a {\n", diag.UnclosedBlock},
		"an open string":      {"a = \"b\n", diag.UnclosedString},
		"no quotes":           {"a = 30s\n", diag.UnquotedValue},
		"a word operator":     {"a = b and c\n", ""},
		"not UTF-8":           {"a = 1 # \xff\n", diag.NotUTF8},
		"parentheses":         {"a = " + rep("(", 100_000) + "1" + rep(")", 100_000), diag.TooNested},
		"open parentheses":    {"a = " + rep("(", 1<<19), diag.TooNested},
		"brackets":            {"a = " + rep("[", 100_000) + rep("]", 100_000), diag.TooNested},
		"blocks":              {rep("a {\n", 100_000) + rep("}\n", 100_000), diag.TooNested},
		"not":                 {"a = " + rep("!", 500_000) + "true\n", diag.TooNested},
		"minus":               {"a = " + rep("- ", 400_000) + "1\n", diag.TooNested},
		"indexes":             {"a = b" + rep("[b]", 100_000) + "\n", diag.TooComplex},
		"sums":                {"a = 1" + rep("+1", 400_000) + "\n", diag.TooComplex},
		"templates":           {"a = " + rep(`"${`, 100_000), diag.TooNested},
		"heredocs":            {"a = " + rep("<<A\n${", 100_000), diag.TooNested},
		"over 1 MiB":          {"# " + rep("x", 1<<20), diag.FileTooLarge},
		"over 1 MiB laid out": {"a = " + rep("[\n", 190) + rep("1,\n", 9000) + rep("]\n", 190), diag.FileTooLarge},
		"aligned":             {rep("x", 119) + "=1\n" + numbered(10_000), diag.FileTooLarge},
	} {
		t.Run(name, func(t *testing.T) { // one at a time: they are timed
			begin := time.Now()
			out, report := format.Format("p.hcl", []byte(c.src))
			took := time.Since(begin)
			if out != nil || !report.HasErrors() {
				t.Fatalf("%d bytes, %v", len(out), report.All())
			}
			if got := report.All()[0]; c.code != "" && got.Code != c.code {
				t.Errorf("%s, want %s", got, c.code)
			}
			if took > time.Minute { // a second or so, several times that with the race detector, on a machine that others use
				t.Errorf("took %v", took)
			}
		})
	}
}

// One long name neither moves its neighbours out of sight nor multiplies the
// size of the file.
func TestLongLines(t *testing.T) {
	t.Parallel()
	long := strings.Repeat("x", 500_000)
	src := long + "=1#c\na=1 # d\nbb=2\n"
	if got, want := formatted(t, src), long+" = 1 #c\na  = 1 # d\nbb = 2\n"; got != want {
		t.Errorf("%d bytes: %.40q … %q", len(got), got, got[max(0, len(got)-30):])
	}
}
