package diag_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"

	"pipeline/lang/diag"
)

// one reports a single problem at the marked part of a text: «…».
func one(text string) *diag.Report {
	start := strings.Index(text, "«")
	text = strings.Replace(text, "«", "", 1)
	end := strings.Index(text, "»")
	text = strings.Replace(text, "»", "", 1)
	r := &diag.Report{}
	src := diag.NewSource("f.hcl", []byte(text))
	r.AddSource(src)
	r.Add(diag.Diagnostic{Code: diag.Syntax, Summary: "wrong", Range: src.Range(start, end)})
	return r
}

func text(t *testing.T, r *diag.Report, o diag.TextOptions) string {
	t.Helper()
	var b strings.Builder
	if err := r.WriteText(&b, o); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

// TestCarets checks where carets stand below their line, in columns of the
// screen, and the position that is printed.
func TestCarets(t *testing.T) {
	for _, c := range []struct{ name, in, line, carets, at string }{
		{"plain", "a = «b»\n", "a = b", "    ^", "1:5"},
		{"several", "a = «bcd» e\n", "a = bcd e", "    ^^^", "1:5"},
		{"tab", "\ta = «b»\n", "    a = b", "        ^", "1:6"},
		{"tab after text", "ab\t«c»\n", "ab  c", "    ^", "1:4"},
		{"crlf", "x\r\na = «b»\r\nc", "a = b", "    ^", "2:5"},
		{"wide", "a = 注文 «b»\n", "a = 注文 b", "         ^", "1:8"},
		{"wide marked", "a = «注文»\n", "a = 注文", "    ^^^^", "1:5"},
		{"combining", "a = e\u0301 «b»\n", "a = e\u0301 b", "      ^", "1:7"},
		{"emoji", "a = 👍 «b»\n", "a = 👍 b", "       ^", "1:7"},
		{"empty range", "a =«»\n", "a =", "   ^", "1:4"},
		{"end of file", "a\n«»", "", "^", "2:1"},
		{"over lines", "a = «(\n1\n)»\n", "a = (", "    ^", "1:5"},
		{"escape sequence", "a = \x1b[31m«b»\n", "a = \ufffd[31mb", "         ^", "1:10"},
	} {
		t.Run(c.name, func(t *testing.T) {
			lines := strings.Split(text(t, one(c.in), diag.TextOptions{}), "\n")
			if got := strings.TrimPrefix(lines[3], lines[3][:strings.Index(lines[3], "|")+2]); got != c.line {
				t.Errorf("line   %q, want %q", got, c.line)
			}
			if got := strings.TrimPrefix(lines[4], lines[4][:strings.Index(lines[4], "|")+2]); got != c.carets {
				t.Errorf("carets %q, want %q", got, c.carets)
			}
			if !strings.HasSuffix(lines[1], "f.hcl:"+c.at) {
				t.Errorf("place %q, want %s", lines[1], c.at)
			}
		})
	}
}

func TestLongLinesAreCut(t *testing.T) {
	out := text(t, one(strings.Repeat("x", 5000)+"«bad»"+strings.Repeat("y", 5000)), diag.TextOptions{})
	for line := range strings.Lines(out) {
		if len([]rune(line)) > 180 {
			t.Errorf("a line of %d characters", len([]rune(line)))
		}
	}
	if !strings.Contains(out, "bad") || !strings.Contains(out, "^^^") {
		t.Error(out)
	}
}

func TestColourIsOptional(t *testing.T) {
	r := one("a = «b»\n")
	if out := text(t, r, diag.TextOptions{}); strings.Contains(out, "\x1b") {
		t.Errorf("%q", out)
	}
	colored := text(t, r, diag.TextOptions{Color: true})
	if !strings.Contains(colored, "\x1b[1;31merror[syntax]\x1b[0m") {
		t.Errorf("%q", colored)
	}
	plain := colored
	for _, code := range []string{"\x1b[1m", "\x1b[1;31m", "\x1b[1;33m", "\x1b[1;34m", "\x1b[0m"} {
		plain = strings.ReplaceAll(plain, code, "")
	}
	if plain != text(t, r, diag.TextOptions{}) {
		t.Errorf("colour changes the text: %q", plain)
	}
}

func TestReportSortsDropsDoublesAndCaps(t *testing.T) {
	r := &diag.Report{}
	at := func(line int) diag.Range {
		return diag.Range{File: "f", Start: diag.Pos{Line: line, Column: 1, Byte: line}, End: diag.Pos{Line: line, Column: 2, Byte: line + 1}}
	}
	for i := range 30 {
		r.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.Unused, Summary: "unused", Range: at(30 - i)})
		r.Add(diag.Diagnostic{Severity: diag.Warning, Code: diag.Unused, Summary: "unused", Range: at(30 - i)})
	}
	r.Add(diag.Diagnostic{Code: diag.Syntax, Summary: "an error behind all warnings", Range: at(99)})
	shown, more := r.Shown()
	if len(shown) != diag.MaxShown || more != 11 {
		t.Fatalf("%d shown, %d more", len(shown), more)
	}
	if shown[len(shown)-1].Severity != diag.Error {
		t.Error("the error was crowded out")
	}
	for i := range shown[1:] {
		if shown[i].Range.Start.Line > shown[i+1].Range.Start.Line {
			t.Error("not sorted")
		}
	}
	if got := r.Tally(); got != "1 error, 30 warnings" {
		t.Errorf("tally %q", got)
	}
	if out := text(t, r, diag.TextOptions{}); !strings.HasSuffix(out, "1 error, 30 warnings; 11 not shown\n") {
		t.Errorf("%q", out[len(out)-60:])
	}
}

func TestJSON(t *testing.T) {
	r := one("a = «b»\n")
	var b strings.Builder
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	want := `{"event":"diagnostic","severity":"error","code":"syntax","summary":"wrong","detail":"","range":{"file":"f.hcl","start":{"line":1,"column":5,"byte":4},"end":{"line":1,"column":6,"byte":5}},"suggestion":"","edits":[]}` + "\n"
	if b.String() != want {
		t.Errorf("got  %s\nwant %s", b.String(), want)
	}
}

func TestJSONReadsBack(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := diag.Diagnostic{
			Severity: rapid.SampledFrom([]diag.Severity{diag.Error, diag.Warning, diag.Notice}).Draw(t, "severity"),
			Code:     rapid.SampledFrom(diag.Codes()).Draw(t, "code"),
			Summary:  rapid.String().Draw(t, "summary"), Detail: rapid.String().Draw(t, "detail"),
			Edits: []diag.Edit{{Text: rapid.String().Draw(t, "edit")}},
		}
		data, err := json.Marshal(d)
		if err != nil {
			t.Fatal(err)
		}
		var back diag.Diagnostic
		if err := json.Unmarshal(data, &back); err != nil {
			t.Fatal(err)
		}
		if fmt.Sprint(back) != fmt.Sprint(d) {
			t.Fatalf("%v became %v", d, back)
		}
	})
}

func TestSecretsAreHidden(t *testing.T) {
	r := one("password = «\"hunter2\"» # hunter2\n")
	r.Secret("hunter2")
	r.Secret("abc") // short: only where it stands as a value
	d := r.Add(diag.Diagnostic{Code: diag.Syntax, Summary: "hunter2", Detail: "hunter2 abc", Range: r.At("f.hcl", 0, 8)})
	d.Suggest("hunter2").Edit(r.At("f.hcl", 0, 1), "hunter2").Relate(r.At("f.hcl", 0, 1), "hunter2")
	d.Values = []diag.Value{{Name: "v", Value: "hunter2"}}
	var lines strings.Builder
	if err := r.WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{lines.String(), text(t, r, diag.TextOptions{})} {
		if strings.Contains(out, "hunter2") {
			t.Errorf("shown: %s", out)
		}
		if !strings.Contains(out, "abc") {
			t.Errorf("too much is hidden: %s", out)
		}
	}
}

// TestLongTextsAreClipped cuts what quotes a long name, between characters and
// after secrets are hidden.
func TestLongTextsAreClipped(t *testing.T) {
	r := one("x")
	r.Secret("hunter2")
	long := strings.Repeat("é", 500_000) + "hunter2"
	r.Add(diag.Diagnostic{Summary: "the name " + long + " is long", Detail: strings.Repeat("a", 795) + "hunter2" + long}).Suggest("x")
	d := r.All()[0]
	for _, text := range []string{d.Summary, d.Detail} {
		if len(text) > 1200 || !utf8.ValidString(text) || !strings.Contains(text, "…") || strings.Contains(text, "hunt") {
			t.Errorf("%d bytes: %.100q…", len(text), text)
		}
	}
	if !strings.HasPrefix(d.Summary, "the name é") || !strings.HasSuffix(d.Summary, " is long") || d.Suggestion != "x" {
		t.Errorf("shown as %.50q…", d.Summary)
	}
}

// TestNarrowTerminals folds what is said and cuts the line, so that its carets
// stand below what they mark.
func TestNarrowTerminals(t *testing.T) {
	r := one("key = «lower(entry.customer)» # entries of one customer run one after the other, in order\n")
	r.Add(diag.Diagnostic{Summary: "a call", Range: r.At("f.hcl", 6, 27), Detail: strings.Repeat("compute it in the handler ", 8) + strings.Repeat("x", 120) + " end"})
	for _, width := range []int{1, 10, 40, 80, 200} {
		var b strings.Builder
		if err := r.WriteText(&b, diag.TextOptions{Width: width}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(b.String()) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > max(width, 36) && !strings.Contains(line, "xxx") {
				t.Errorf("at %d columns a line has %d: %s", width, n, line)
			}
		}
		joined := strings.Join(strings.Fields(b.String()), " ")
		if want := strings.TrimSpace(strings.Repeat("compute it in the handler ", 8)) + " " + strings.Repeat("x", 120) + " end"; !strings.Contains(joined, want) {
			t.Errorf("at %d columns words are lost: %s", width, joined)
		}
	}
}

// TestLongSecretsAreHidden, and quickly, though one repeats itself.
func TestLongSecretsAreHidden(t *testing.T) {
	long := strings.Repeat("redis://a:b", 90_000)
	r := one("url = «" + long + "»\n")
	r.Secret(long)
	r.Add(diag.Diagnostic{Summary: "it is " + long, Range: r.At("f.hcl", 6, 6+len(long))})
	if out := text(t, r, diag.TextOptions{}); strings.Contains(out, "a:bredis") {
		t.Errorf("shown: %.300s", out)
	}
}

// TestShortSecretsAreHiddenAsValues looks for passwords of a few letters.
func TestShortSecretsAreHiddenAsValues(t *testing.T) {
	for _, c := range []struct{ text, want string }{
		{`"xy"`, `"(sensitive)"`}, {`'xy'`, `'(sensitive)'`}, {"“xy”", "“(sensitive)”"}, {`password = \"xy\"`, `password = \"(sensitive)\"`},
		{"redis://user:xy@host", "redis://user:(sensitive)@host"}, {"galaxy, xyz, xy", "galaxy, xyz, xy"},
		{"the word q7 stands", "the word (sensitive) stands"}, {"q7", "(sensitive)"}, {"q7_ aq7 q78 éq7 q7é", "q7_ aq7 q78 éq7 q7é"},
		{"(q7) -q7- q7q7 \xffq7", "((sensitive)) -(sensitive)- q7q7 \xff(sensitive)"},
	} {
		r := one("xy")
		r.Secret("xy")
		r.Secret("")
		r.SecretWord("q7")
		r.Add(diag.Diagnostic{Summary: c.text})
		if got := r.All()[0].Summary; got != c.want {
			t.Errorf("%s is shown as %s, want %s", c.text, got, c.want)
		}
		if got, want := string(r.Masked([]byte(c.text))), strings.NewReplacer("(sensitive)", "**").Replace(c.want); got != want {
			t.Errorf("%s is masked as %s, want %s", c.text, got, want)
		}
		other := &diag.Report{}
		other.Include(r, func(diag.Diagnostic) bool { return true })
		if got := other.All()[0].Summary; got != c.want {
			t.Errorf("included, %s is shown as %s", c.text, got)
		}
	}
}

// TestRenderingNeverFails renders any bytes with any range.
func TestRenderingNeverFails(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		data := rapid.SliceOf(rapid.Byte()).Draw(t, "text")
		src := diag.NewSource("f", data)
		r := &diag.Report{}
		r.AddSource(src)
		from := rapid.IntRange(-2, len(data)+2).Draw(t, "from")
		to := rapid.IntRange(-2, len(data)+2).Draw(t, "to")
		r.Add(diag.Diagnostic{Code: diag.Syntax, Range: src.Range(from, to)})
		r.Hide(src.Range(to, from))
		var b strings.Builder
		if err := r.WriteText(&b, diag.TextOptions{Color: true}); err != nil {
			t.Fatal(err)
		}
		pos := src.Pos(from)
		if back := src.Offset(pos.Line, pos.Column); pos.Byte < back {
			t.Fatalf("position %+v leads to offset %d", pos, back)
		}
	})
}

func TestNearest(t *testing.T) {
	words := []string{"min_idle", "using", "only", "to", "key", "max_length", "stream"}
	for word, want := range map[string]string{
		"min_idel": "min_idle", "minIdle": "min_idle", "min-idle": "min_idle", "usng": "using", "onyl": "only", "max_lenght": "max_length",
		"streams": "stream", "xy": "", "colour": "", "kye": "key", "keys": "key", "ot": "", "maximum": "", "strem": "stream", "": "",
	} {
		if got := diag.Nearest(word, words); got != want {
			t.Errorf("Nearest(%q) = %q, want %q", word, got, want)
		}
	}
}

func TestEveryCodeIsDocumented(t *testing.T) {
	for _, c := range diag.Codes() {
		d, ok := diag.Describe(c)
		if !ok || d.Code != c || !strings.HasSuffix(d.Meaning, ".") || !strings.HasSuffix(d.Action, ".") {
			t.Errorf("%s: %+v", c, d)
		}
	}
	if _, ok := diag.Describe("no_such_code"); ok {
		t.Error("an unknown code is described")
	}
}
