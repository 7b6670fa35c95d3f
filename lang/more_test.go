package lang_test

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"golang.org/x/tools/txtar"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
)

// seeds are the whole files of the corpus.
func seeds(tb testing.TB) []string {
	tb.Helper()
	var out []string
	for _, path := range []string{"testdata/base.hcl", "../examples/payments.hcl", "../examples/orders/orders.hcl"} {
		data, err := os.ReadFile(path)
		if err != nil {
			tb.Fatal(err)
		}
		out = append(out, string(data))
	}
	return out
}

func TestPaths(t *testing.T) {
	files := fstest.MapFS{
		"empty/readme.md":       {Data: []byte("x")},
		"tests/a_test.hcl":      {Data: []byte("test \"x\" {}")},
		"split/a.hcl":           {Data: []byte("pipeline \"a\" {\n}\n")},
		"split/b.hcl":           {Data: []byte("stream \"s\" {\n}\nlocals {\n x = var.v\n}\n")},
		"split/c.hcl":           {Data: []byte("variable \"v\" {\n  default = 1\n}\n")},
		"split/a_test.hcl":      {Data: []byte("not a pipeline at all")},
		"split/deeper/d.hcl":    {Data: []byte("pipeline \"other\" {\n}\n")},
		"twice/a.hcl":           {Data: []byte("pipeline \"a\" {\n}\nstream \"s\" {\n}\n")},
		"twice/b.hcl":           {Data: []byte("stream \"s\" {\n}\n")},
		"payments/payments.hcl": {Data: []byte("pipeline \"a\" {\n}\n")},
	}
	for _, c := range []struct {
		path string
		code diag.Code
		word string
	}{
		{"empty", diag.NoFiles, "holds no pipeline"},
		{"tests", diag.NoFiles, "_test.hcl"},
		{"nowhere.hcl", diag.FileNotFound, "nowhere.hcl"},
		{"payments/payment.hcl", diag.FileNotFound, `Did you mean "payments/payments.hcl"?`},
		{"split", diag.Unused, "split/b.hcl:1:1"},
		{"twice", diag.DuplicateName, "twice/a.hcl:3:1"},
		{"../x", diag.FileNotFound, ""},
	} {
		t.Run(c.path, func(t *testing.T) {
			_, r := lang.Load(files, c.path, lang.Options{})
			found := false
			for _, d := range r.All() {
				found = found || d.Code == c.code
			}
			if !found || !strings.Contains(render(t, r), c.word) {
				t.Errorf("want %s and %q:\n%s", c.code, c.word, render(t, r))
			}
		})
	}
}

func TestPrecedence(t *testing.T) {
	files := fstest.MapFS{
		"p.hcl":  {Data: []byte("pipeline \"a\" {\n  version = var.v\n}\nvariable \"v\" {\n  type = string\n  default = \"default\"\n}\n")},
		"a.vars": {Data: []byte("v = \"file a\"\n")},
		"b.json": {Data: []byte(`{"v": "file b"}`)},
	}
	env := func(name string) (string, bool) { return "environment", name == "PIPELINE_VAR_v" }
	for _, c := range []struct {
		name, want string
		opts       lang.Options
	}{
		{"default", "default", lang.Options{}},
		{"environment", "environment", lang.Options{LookupEnv: env}},
		{"file", "file a", lang.Options{LookupEnv: env, VarFiles: []string{"a.vars"}}},
		{"later file", "file b", lang.Options{LookupEnv: env, VarFiles: []string{"a.vars", "b.json"}}},
		{"flag", "flag", lang.Options{LookupEnv: env, VarFiles: []string{"a.vars"}, Vars: map[string]string{"v": "flag"}}},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, r := lang.Load(files, "p.hcl", c.opts)
			if p == nil {
				t.Fatal(render(t, r))
			}
			if p.Version != c.want {
				t.Errorf("version %q, want %q", p.Version, c.want)
			}
		})
	}
}

func TestTypedVariables(t *testing.T) {
	src := `pipeline "a" {
  version = jsonencode([var.n, var.b, var.l, var.m, var.o, var.a])
}
variable "n" { type = number }
variable "b" { type = bool }
variable "l" { type = list(number) }
variable "m" { type = map(string) }
variable "o" { type = object({ x = number, y = optional(string, "why") }) }
variable "a" { type = any }
`
	p, r := lang.Load(fstest.MapFS{"p.hcl": {Data: []byte(src)}}, "p.hcl", lang.Options{Vars: map[string]string{
		"n": "18446744073709551615", "b": "true", "l": `[1, "2"]`, "m": `{ k = "v" }`, "o": `{ x = 1 }`, "a": "007",
	}})
	if p == nil {
		t.Fatal(render(t, r))
	}
	want := `[18446744073709551615,true,[1,2],{"k":"v"},{"x":1,"y":"why"},"007"]`
	if p.Version != want {
		t.Errorf("got  %s\nwant %s", p.Version, want)
	}
}

func TestFunctions(t *testing.T) {
	data, err := os.ReadFile("testdata/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		i := strings.LastIndex(line, " => ")
		expr, want := line[:i], strings.TrimSpace(line[i+4:])
		t.Run(expr, func(t *testing.T) {
			src := "pipeline \"a\" {\n  version = jsonencode(" + expr + ")\n}\n"
			p, r := lang.Load(fstest.MapFS{"p.hcl": {Data: []byte(src)}}, "p.hcl", lang.Options{})
			if p == nil {
				t.Fatal(render(t, r))
			}
			if p.Version != want {
				t.Errorf("got %s, want %s", p.Version, want)
			}
		})
	}
}

// TestValid compares the pipeline that a file gives with the one beside it.
func TestValid(t *testing.T) {
	paths, err := filepath.Glob("testdata/valid/*.txtar")
	if err != nil || len(paths) == 0 {
		t.Fatalf("no cases: %v", err)
	}
	for _, path := range paths {
		t.Run(strings.TrimSuffix(filepath.Base(path), ".txtar"), func(t *testing.T) {
			archive, err := txtar.ParseFile(path)
			if err != nil {
				t.Fatal(err)
			}
			files, want := fstest.MapFS{}, ""
			for _, f := range archive.Files {
				if f.Name == "want" {
					want = string(f.Data)
					continue
				}
				files[f.Name] = &fstest.MapFile{Data: f.Data}
			}
			got := loadText(t, files)
			if *update {
				archive.Files = append(archive.Files[:len(files)], txtar.File{Name: "want", Data: []byte(got)})
				if err := os.WriteFile(path, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if got != want {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

// loadText is the pipeline as JSON, and the report.
func loadText(t *testing.T, files fstest.MapFS) string {
	t.Helper()
	p, r := lang.Load(files, "p.hcl", lang.Options{Hostname: "host1"})
	checkReport(t, files, r)
	if p == nil {
		t.Fatal(render(t, r))
	}
	var b bytes.Buffer
	enc := json.NewEncoder(&b)
	enc.SetEscapeHTML(false)
	enc.SetIndent("", " ")
	for _, s := range p.Subscriptions() {
		s.Group = &spec.Group{Label: s.Group.Label} // not in a circle
		s.Handler = &spec.Handler{Label: s.Handler.Label}
	}
	if err := enc.Encode(p); err != nil {
		t.Fatal(err)
	}
	return b.String() + render(t, r)
}

// TestExamplesLoad loads every example with what it comes with.
func TestExamplesLoad(t *testing.T) {
	for _, path := range []string{"../examples/payments.hcl", "../examples/orders", "../examples/orders/orders.hcl"} {
		if p, r := lang.Load(lang.OS(), path, lang.Options{}); p == nil {
			t.Errorf("%s:\n%s", path, render(t, r))
		}
	}
}

func BenchmarkLoadPayments(b *testing.B) {
	fsys := os.DirFS("../examples")
	for b.Loop() {
		if p, _ := lang.Load(fsys, "payments.hcl", lang.Options{}); p == nil {
			b.Fatal("does not load")
		}
	}
}

// large is a pipeline with many subscriptions, each with a handler and a stream
// and in a group of its own.
func large(n int) string {
	var b strings.Builder
	b.WriteString("pipeline \"large\" {\n}\nvariable \"min_idle\" {\n  type = string\n  default = \"40s\"\n}\nstream \"out\" {\n}\nstream \"dead\" {\n}\n")
	for i := range n {
		fmt.Fprintf(&b, "handler \"h%d\" {\n  source = \"h.lua\"\n}\n", i)
		fmt.Fprintf(&b, `stream "s%d" {
  name  = "stream.%d"
  entry = object({ id = number, account = string, amount = number })
}
group "g%d" {
  stream = stream.s%d
  dead_letter {
    to = stream.dead
  }
  subscription "sub%d" {
    handler = handler.h%d
    claim {
      min_idle = var.min_idle
    }
    workers {
      count = 4
      key   = entry.account
    }
    route "a" {
      to   = stream.out
      when = entry.amount > 100 && entry.account != "x"
    }
  }
}
`, i, i, i, i, i, i)
	}
	return b.String()
}

func BenchmarkLoad500(b *testing.B) {
	files := fstest.MapFS{"p.hcl": {Data: []byte(large(500))}, "h.lua": {Data: []byte("x")}}
	for b.Loop() {
		if p, _ := lang.Load(files, "p.hcl", lang.Options{}); p == nil || len(p.Subscriptions()) != 500 {
			b.Fatal("does not load")
		}
	}
}
