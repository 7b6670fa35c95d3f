package lang_test

import (
	"strings"
	"testing"
	"testing/fstest"

	"pipeline/lang"
)

// Values are given for two pipelines at once: what only the other one declares
// is no mistake, what neither does is.
func TestVariablesThatAreDeclaredElsewhere(t *testing.T) {
	t.Parallel()
	files := fstest.MapFS{
		"p.hcl":    {Data: []byte("pipeline \"p\" {\n  language = 1\n}\nvariable \"here\" {\n  type = string\n}\nbroker \"memory\" {}\n")},
		"v.hcl":    {Data: []byte("there = 1\n")},
		"v.json":   {Data: []byte(`{"there": 1}`)},
		"typo.hcl": {Data: []byte("tere = 1\n")},
	}
	for name, c := range map[string]struct {
		vars  map[string]string
		files []string
		wants string
	}{
		"on the command line": {map[string]string{"here": "x", "there": "y"}, nil, ""},
		"in a file":           {map[string]string{"here": "x"}, []string{"v.hcl", "v.json"}, ""},
		"nowhere":             {map[string]string{"here": "x", "their": "y"}, nil, `--var sets "their", which is not declared`},
		"nowhere, in a file":  {map[string]string{"here": "x"}, []string{"typo.hcl"}, `sets "tere", which is not declared`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, report := lang.Load(files, "p.hcl", lang.Options{Vars: c.vars, VarFiles: c.files, Elsewhere: []string{"there"}})
			text := render(t, report)
			if told := strings.Contains(text, "which is not declared"); told != (c.wants != "") || !strings.Contains(text, c.wants) {
				t.Errorf("got %s", text)
			}
		})
	}
}
