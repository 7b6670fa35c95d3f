package lang_test

import (
	"bytes"
	"flag"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"pipeline/lang"
	"pipeline/lang/diag"
)

var update = flag.Bool("update", false, "write golden files anew")

// A case is a difference to testdata/base.hcl, which is valid and says
// nothing: lines with "-" are looked up (trimmed, in order, one after the
// other) and replaced by the lines with "+" that follow them. Lines with "="
// are looked up and kept: they say where the next ones stand. A lone "+" block
// goes to the end of the file. Lines that begin with "@" are options:
//
//	@var name=value      --var
//	@env NAME=value      an environment variable
//	@file name=text      another file
//	@expect N            how many diagnostics there are, default 1
//	@whole               the rest is a whole file, not a difference
//
// and what a colleague would say, written down apart from what the loader does
// (expect_test.go):
//
//	@code CODE           the code of the problem
//	@at TEXT             what the range covers, to the byte; @at#2 the second such text
//	@guess WORD          the suggestion, or an edit's text; "-": nobody would guess
type corpusCase struct {
	source string
	opts   lang.Options
	files  fstest.MapFS
	expect int
	want   expectation
}

func parseCase(t *testing.T, base, text string) corpusCase {
	t.Helper()
	env := map[string]string{}
	c := corpusCase{expect: 1, files: fstest.MapFS{"h.lua": {Data: []byte("function receipt(o) return o end\n")}}}
	c.opts.Vars = map[string]string{}
	c.opts.Hostname = "host1"
	c.opts.LookupEnv = func(n string) (string, bool) { v, ok := env[n]; return v, ok }
	whole := false
	var diff []string
	for line := range strings.Lines(text) {
		option, rest, _ := strings.Cut(strings.TrimRight(line, "\n"), " ")
		name, value, _ := strings.Cut(rest, "=")
		value = strings.ReplaceAll(value, `\n`, "\n")
		switch {
		case whole:
			diff = append(diff, line)
		case option == "@whole":
			whole = true
		case option == "@var":
			c.opts.Vars[name] = value
		case option == "@env":
			env[name] = value
		case option == "@file":
			c.files[name] = &fstest.MapFile{Data: []byte(value)}
		case option == "@varfile":
			c.opts.VarFiles = append(c.opts.VarFiles, rest)
		case option == "@expect":
			fmt.Sscan(rest, &c.expect)
		case c.want.option(option, rest):
		default:
			diff = append(diff, line)
		}
	}
	c.source = strings.Join(diff, "")
	if !whole {
		c.source = applyDiff(t, base, diff)
	}
	c.source = invisible.Replace(c.source)
	c.want.mark(&c.source)
	c.files["p.hcl"] = &fstest.MapFile{Data: []byte(c.source)}
	return c
}

// invisible writes characters that a person could not see in an archive.
var invisible = strings.NewReplacer("<CR>", "\r", "<TAB>", "\t", "<NBSP>", "\u00a0", "<BOM>", "\ufeff", "<ZWSP>", "\u200b")

// applyDiff replaces lines of base; those it adds begin with added.
func applyDiff(t *testing.T, base string, diff []string) string {
	t.Helper()
	lines := strings.SplitAfter(base, "\n")
	at := len(lines)
	for _, d := range diff {
		body := d[1:]
		body = strings.TrimPrefix(body, " ")
		switch d[0] {
		case '-', '=':
			from := at
			if at == len(lines) {
				from = 0
			}
			i := slices.IndexFunc(lines[from:], func(l string) bool { return strings.TrimSpace(l) == strings.TrimSpace(body) })
			if i < 0 {
				t.Fatalf("no line %q in base.hcl", strings.TrimSpace(body))
			}
			at = from + i
			if d[0] == '-' {
				lines = slices.Delete(lines, at, at+1)
			} else {
				at++
			}
		case '+':
			lines = slices.Insert(lines, at, added+body)
			at++
		case '\n':
		default:
			t.Fatalf("line %q is no part of a difference", d)
		}
	}
	return strings.Join(lines, "")
}

func TestInvalid(t *testing.T) {
	base, err := os.ReadFile("testdata/base.hcl")
	if err != nil {
		t.Fatal(err)
	}
	archives, err := filepath.Glob("testdata/invalid/*.txtar")
	if err != nil || len(archives) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	total := 0
	for _, path := range archives {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			total += runArchive(t, path, string(base))
		})
	}
	if total < 150 {
		t.Errorf("%d cases, at least 150 are wanted", total)
	}
}

// runArchive runs the cases of one archive: files NAME and NAME.want.
func runArchive(t *testing.T, path, base string) int {
	archive, err := txtar.ParseFile(path)
	if err != nil {
		t.Fatal(err)
	}
	want := map[string][]byte{}
	for _, f := range archive.Files {
		if name, ok := strings.CutSuffix(f.Name, ".want"); ok {
			want[name] = f.Data
		}
	}
	out := &txtar.Archive{Comment: archive.Comment}
	n := 0
	for _, f := range archive.Files {
		if strings.HasSuffix(f.Name, ".want") {
			continue
		}
		n++
		out.Files = append(out.Files, f)
		t.Run(f.Name, func(t *testing.T) {
			got := runCase(t, base, string(f.Data))
			out.Files = append(out.Files, txtar.File{Name: f.Name + ".want", Data: got})
			if !*update && !bytes.Equal(got, want[f.Name]) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want[f.Name])
			}
		})
	}
	if *update {
		if err := os.WriteFile(path, txtar.Format(out), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

func runCase(t *testing.T, base, text string) []byte {
	c := parseCase(t, base, text)
	p, r := lang.Load(c.files, "p.hcl", c.opts)
	if (p == nil) != r.HasErrors() {
		t.Errorf("pipeline %v, errors %v", p != nil, r.HasErrors())
	}
	if got := len(r.All()); got != c.expect {
		t.Errorf("%d diagnostics, want %d:\n%s", got, c.expect, render(t, r))
	}
	checkReport(t, c.files, r)
	c.want.check(t, r)
	checkSecrets(t, text, r)
	checkEdits(t, c, r)
	return []byte(render(t, r))
}

// checkSecrets checks that no output shows what the corpus calls a secret.
func checkSecrets(t *testing.T, text string, r *diag.Report) {
	t.Helper()
	var lines strings.Builder
	if err := r.WriteJSON(&lines); err != nil {
		t.Fatal(err)
	}
	for _, out := range []string{lines.String(), render(t, r)} {
		if strings.Contains(text, "hunter2") && strings.Contains(out, "hunter2") {
			t.Errorf("a secret is shown:\n%s", out)
		}
	}
}

// checkEdits applies the edits of each problem: the problem must be gone.
func checkEdits(t *testing.T, c corpusCase, before *diag.Report) {
	t.Helper()
	for _, d := range before.All() {
		if len(d.Edits) == 0 || d.Range.File != "p.hcl" {
			continue
		}
		src := c.source
		for _, e := range slices.Backward(d.Edits) {
			src = src[:e.Range.Start.Byte] + e.Text + src[e.Range.End.Byte:]
		}
		files := maps.Clone(c.files)
		files["p.hcl"] = &fstest.MapFile{Data: []byte(src)}
		_, after := lang.Load(files, "p.hcl", c.opts)
		same := func(a diag.Diagnostic) bool { return a.Code == d.Code && a.Range.Start.Line == d.Range.Start.Line }
		if slices.ContainsFunc(after.All(), same) && !slices.ContainsFunc(before.All(), func(o diag.Diagnostic) bool { return same(o) && o.Summary != d.Summary }) {
			t.Errorf("the edit of %s does not help:\n%s", d.Code, render(t, after))
		}
	}
}

// checkReport checks what holds for every report: codes are documented, ranges
// lie in their files, edits do not overlap.
func checkReport(t *testing.T, files fs.FS, r *diag.Report) {
	t.Helper()
	for _, d := range r.All() {
		if _, ok := diag.Describe(d.Code); !ok {
			t.Errorf("code %q is not documented", d.Code)
		}
		if d.Summary == "" || strings.HasSuffix(d.Summary, ".") || strings.Contains(d.Summary, "\n") {
			t.Errorf("summary %q", d.Summary)
		}
		checkOrder(t, d)
		for _, rng := range append([]diag.Range{d.Range}, relatedRanges(d)...) {
			if rng.Start.Line == 0 {
				continue
			}
			data, err := fs.ReadFile(files, rng.File)
			if err != nil || rng.Start.Byte > rng.End.Byte || rng.End.Byte > len(data) {
				t.Errorf("%s: range %+v does not lie in its file", d.Code, rng)
			}
		}
	}
}

// checkOrder checks that edits of one file stand in its order and apart.
func checkOrder(t *testing.T, d diag.Diagnostic) {
	t.Helper()
	for i, e := range d.Edits[min(1, len(d.Edits)):] {
		if before := d.Edits[i]; e.Range.File == before.Range.File && e.Range.Start.Byte < before.Range.End.Byte {
			t.Errorf("%s: the edits %+v and %+v overlap or are out of order", d.Code, before, e)
		}
	}
}

func relatedRanges(d diag.Diagnostic) []diag.Range {
	var out []diag.Range
	for _, r := range d.Related {
		out = append(out, r.Range)
	}
	for _, e := range d.Edits {
		out = append(out, e.Range)
	}
	return out
}

// TestBaseIsClean guards the corpus: what a case reports is its own.
func TestBaseIsClean(t *testing.T) {
	base, err := os.ReadFile("testdata/base.hcl")
	if err != nil {
		t.Fatal(err)
	}
	c := parseCase(t, string(base), "")
	if _, r := lang.Load(c.files, "p.hcl", c.opts); len(r.All()) != 0 {
		t.Errorf("base.hcl is not clean:\n%s", render(t, r))
	}
}

// TestCodesAreUsed checks that every documented code appears in the corpus or
// is known to need more than one file.
func TestCodesAreUsed(t *testing.T) {
	var all []byte
	paths, _ := filepath.Glob("testdata/invalid/*.txtar")
	for _, p := range paths {
		data, err := os.ReadFile(p)
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, data...)
	}
	elsewhere := map[diag.Code]bool{ // tested in load_test.go, guard_test.go and handlers_test.go
		diag.FileNotFound: true, diag.FileUnreadable: true, diag.FileTooLarge: true, diag.NoFiles: true, diag.NotUTF8: true,
		diag.TooNested: true, diag.TooComplex: true, diag.ScriptInvalid: true, diag.FunctionMissing: true, diag.MissingGrant: true,
		diag.ScriptUnknownName: true, diag.OutcomeNotReturned: true,
	}
	for _, code := range diag.Codes() {
		if !elsewhere[code] && !bytes.Contains(all, []byte("["+code+"]")) {
			t.Errorf("no case reports %s", code)
		}
	}
}
