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
		{"a local function", lang.Problem{Module: -1, Message: "the function is local", Remedy: "Write it without `local`.", Function: "receipt", Line: 2, Available: []string{"reciept"}},
			diag.FunctionMissing, []string{"dir/p.hcl:68:14", "it stands here", "dir/h.lua:2:2", "Write it without"}},
		{"where the near one is", lang.Problem{Module: -1, Message: "there is no function receipt", Function: "receipt", Available: []string{"reciept"}, Lines: map[string]int{"reciept": 2}},
			diag.FunctionMissing, []string{"dir/h.lua:2:2", "reciept is defined here"}},
		{"an unknown name", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "there is no function `acc` here", Unknown: "acc", Known: []string{"ack", "retry"}},
			diag.ScriptUnknownName, []string{"dir/h.lua:2:16", `Did you mean "ack"?`}},
		{"a name of elsewhere", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "there is no function `nack` here", Unknown: "nack", Meant: "retry", Known: []string{"ack"}},
			diag.ScriptUnknownName, []string{`Did you mean "retry"?`}},
		{"what a module would define", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "there is nothing called `m` here", Unknown: "m"},
			diag.ScriptUnknownName, []string{"modules = [\"lib/m.lua\"]"}},
		{"what no file defines", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "there is nothing called `rates` here", Unknown: "rates.total"},
			diag.ScriptUnknownName, []string{"name the Lua file that does in modules"}},
		{"a capability of later", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "there is nothing called `http` here", Unknown: "http", Known: []string{"hex"}},
			diag.GrantUnavailable, []string{"dir/h.lua:2:16", "http is not in this version"}},
		{"not returned", lang.Problem{Module: -1, Line: 2, Column: 16, Message: "ack() makes an outcome, and it is not returned", Unreturned: "ack"},
			diag.OutcomeNotReturned, []string{"dir/h.lua:2:16"}},
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

// TestProblemsOfAScriptAreToldOnce, not once for each handler that uses it, and
// what each handler has to mend is told of each.
func TestProblemsOfAScriptAreToldOnce(t *testing.T) {
	src := "pipeline \"a\" {\n}\nhandler \"a\" {\n  source = \"h.lua\"\n}\nhandler \"b\" {\n  source = \"h.lua\"\n}\nhandler \"c\" { source = \"h.lua\" }\n"
	files := fstest.MapFS{"p.hcl": {Data: []byte(src)}, "h.lua": {Data: []byte("x\ny\n")}}
	_, r := lang.Load(files, "p.hcl", lang.Options{CheckHandler: func(h *spec.Handler, _ []byte, _ [][]byte) []lang.Problem {
		return []lang.Problem{
			{Module: -1, Line: 1, Column: 1, Message: "this is not Lua"},
			{Module: -1, Line: 2, Column: 1, Message: "log.info needs a grant", Remedy: "Add it to " + h.Label + ".", Grant: "log"},
		}
	}})
	all := r.All()[:4] // what follows is of the pipeline file
	if all[0].Code != diag.ScriptInvalid || r.Count(diag.Error) != 4 {
		t.Fatal(render(t, r))
	}
	for i, d := range all[1:] {
		if i == 2 {
			if len(d.Edits) > 0 {
				t.Errorf("an edit of a block on one line: %+v", d.Edits)
			}
			continue
		}
		e := d.Edits[0]
		mended := src[:e.Range.Start.Byte] + e.Text + src[e.Range.End.Byte:]
		if want := "  source = \"h.lua\"\n  grant \"log\" {}\n}\n"; e.Range.File != "p.hcl" || strings.Count(mended, want) != 1 {
			t.Errorf("mended:\n%s", mended)
		}
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
