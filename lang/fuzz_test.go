package lang_test

import (
	"os"
	"strings"
	"testing"
	"testing/fstest"

	"pipeline/lang"
)

// FuzzExpression puts a text where expressions stand: constant ones, those over
// entries, references, types and conditions.
func FuzzExpression(f *testing.F) {
	base, err := os.ReadFile("testdata/base.hcl")
	if err != nil {
		f.Fatal(err)
	}
	places := []string{
		`key   = entry.account`, `when = reply.total > 1000`, `default = "redis://localhost:6379"`, `stream = stream.orders`, `min_idle = var.min_idle`,
		`note    = optional(string)`, `tags   = ["a", "b"]`, `max_length = 100000`, `count = 4`,
	}
	for _, text := range []string{
		"entry.acount", `"${entry.a}"`, "1 < entry.amount < 2", `entry.account == "a" || "b"`, "a and b", "$x", "${A:-b}", "if a then b else c", "list<string>",
		"string[]", "object(a = b)", "x.y(1)", "stream::orders", "0x10", "1_000", ".5", "1.0.0", "['a' 'b']", `"""x"""`, "a ?? b", "headers(\"x\")", "env.X", "process.env.X",
		"local.prefix + \".x\"", "[stream.a, stream.b]", "\uff15\uff10", "a \u2265 b", "entry?.x", "!== 1", "\"30 с\"", "\"PT1H\"", "\"${! json(\\\"a\\\") }\"", "for", "{ a: 1, }", "-- x", "/* x",
	} {
		for i := range places {
			f.Add(text, i)
		}
	}
	f.Fuzz(func(t *testing.T, text string, place int) {
		if place < 0 || len(text) > 1<<10 {
			return
		}
		old := places[place%len(places)]
		name, _, _ := strings.Cut(old, "=")
		files := fstest.MapFS{"p.hcl": {Data: []byte(strings.Replace(string(base), old, name+"= "+text, 1))}, "h.lua": {Data: []byte("x")}}
		p, r := lang.Load(files, "p.hcl", lang.Options{Hostname: "h"})
		if (p == nil) != r.HasErrors() {
			t.Errorf("pipeline %v, errors %v", p != nil, r.HasErrors())
		}
		checkReport(t, files, r)
		render(t, r)
	})
}
