package lang_test

import (
	"os"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/lang/diag"
)

// loadHandler loads the base pipeline with a script and a checker.
func loadHandler(t *testing.T, script string, check lang.CheckHandler) *diag.Report {
	t.Helper()
	base, err := os.ReadFile("testdata/base.hcl")
	if err != nil {
		t.Fatal(err)
	}
	src := strings.Replace(string(base), `function = "receipt"`, "function = \"receipt\"\n  modules  = [\"lib/m.lua\"]", 1)
	files := fstest.MapFS{"dir/p.hcl": {Data: []byte(src)}, "dir/h.lua": {Data: []byte(script)}, "dir/lib/m.lua": {Data: []byte("return {}\nx = = 1\n")}}
	_, r := lang.Load(files, "dir/p.hcl", lang.Options{CheckHandler: check})
	checkReport(t, files, r)
	return r
}

func TestCheckHandlerIsGivenTheSources(t *testing.T) {
	called := 0
	r := loadHandler(t, "the script", func(h *spec.Handler, source []byte, modules [][]byte) []lang.Problem {
		called++
		if h.Path != "dir/h.lua" || string(source) != "the script" || len(modules) != 1 || !strings.HasPrefix(string(modules[0]), "return {}") {
			t.Errorf("handler %+v, source %q, modules %q", h, source, modules)
		}
		return nil
	})
	if called != 1 || len(r.All()) != 0 {
		t.Errorf("called %d times:\n%s", called, render(t, r))
	}
}

func TestHandlerProblems(t *testing.T) {
	const script = "local a = 1\n\tlocal ünder = log.info(\"x\")\n"
	for _, c := range []struct {
		name    string
		problem lang.Problem
		code    diag.Code
		want    []string
	}{
		{"in the script", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "log is not known", Remedy: "Add it."},
			diag.ScriptInvalid, []string{"dir/h.lua:2:16", "^^^", "handler \"receipt\" uses the script here", "dir/p.hcl:67:14", "Add it."}},
		{"in a module", lang.Problem{Module: 0, Line: 2, Column: 5, Message: "unexpected ="}, diag.ScriptInvalid, []string{"dir/lib/m.lua:2:5", "dir/p.hcl:69:14"}},
		{"nowhere", lang.Problem{Module: -1, Message: "the binary is damaged"}, diag.ScriptInvalid, []string{"dir/p.hcl:67:14"}},
		{"beyond the end", lang.Problem{Module: -1, Line: 99, Column: 99, Message: "unexpected end"}, diag.ScriptInvalid, []string{"dir/h.lua:3:1"}},
		{"no such function", lang.Problem{Module: -1, Message: "there is no function receipt", Function: "receipt", Available: []string{"reciept", "other"}},
			diag.FunctionMissing, []string{"dir/p.hcl:68:14", `Did you mean "reciept"?`, "h.lua has other and reciept"}},
		{"missing grant", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "log is called without a grant", Remedy: "Add grant \"log\" {} to the handler.", Grant: "log"},
			diag.MissingGrant, []string{"dir/h.lua:2:16", "grant \"log\" {}"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := loadHandler(t, script, func(*spec.Handler, []byte, [][]byte) []lang.Problem { return []lang.Problem{c.problem} })
			all := r.All()
			if len(all) != 1 || all[0].Code != c.code || all[0].Severity != diag.Error {
				t.Fatalf("want one %s:\n%s", c.code, render(t, r))
			}
			out := render(t, r)
			for _, w := range c.want {
				if !strings.Contains(out, w) {
					t.Errorf("%q is missing in:\n%s", w, out)
				}
			}
		})
	}
}

func TestHandlerWarningsLetThePipelineLoad(t *testing.T) {
	r := loadHandler(t, "x", func(*spec.Handler, []byte, [][]byte) []lang.Problem {
		return []lang.Problem{{Module: -1, Line: 1, Column: 1, Message: "never returns", Warning: true}}
	})
	if r.HasErrors() || r.Count(diag.Warning) != 1 {
		t.Error(render(t, r))
	}
}

// TestBrokenHandlersAreNotCompiled: what the file says of them is not certain.
func TestBrokenHandlersAreNotCompiled(t *testing.T) {
	files := fstest.MapFS{"p.hcl": {Data: []byte("pipeline \"a\" {\n}\nhandler \"h\" {\n  source = \"h.lua\"\n  function = 5 + \"x\"\n}\n")}, "h.lua": {Data: []byte("x")}}
	_, r := lang.Load(files, "p.hcl", lang.Options{CheckHandler: func(*spec.Handler, []byte, [][]byte) []lang.Problem {
		t.Error("compiled")
		return nil
	}})
	if codes := codes(r); !slices.Equal(codes, []diag.Code{diag.ExpressionFailed}) {
		t.Errorf("codes %v", codes)
	}
}

func codes(r *diag.Report) []diag.Code {
	var out []diag.Code
	for _, d := range r.All() {
		out = append(out, d.Code)
	}
	return out
}
