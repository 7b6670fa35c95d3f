package lang_test

import (
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pipeline/lang"
	"pipeline/lang/diag"
)

// hostile are texts that hcl's parser or evaluator, given the chance, ends the
// process with or never finishes.
func hostile() map[string]struct {
	text string
	code diag.Code
} {
	local := func(s string) string { return "locals {\n  a = " + s + "\n}\n" }
	rep := strings.Repeat
	return map[string]struct {
		text string
		code diag.Code
	}{
		"parentheses":           {local(rep("(", 100_000)), diag.TooNested},
		"closed parentheses":    {local(rep("(", 201) + "1" + rep(")", 201)), diag.TooNested},
		"brackets":              {local(rep("[", 300_000)), diag.TooNested},
		"objects":               {local(rep("{a=", 200_000)), diag.TooNested},
		"templates":             {local(rep(`"${`, 200_000)), diag.TooNested},
		"directives":            {local(`"` + rep("%{ if true }", 80_000) + `"`), diag.TooComplex},
		"blocks":                {rep("a {\n", 100_000), diag.TooNested},
		"not":                   {local(rep("!", 500_000) + "true"), diag.TooNested},
		"nine times not":        {local(rep("!", 9) + "true"), diag.TooNested},
		"minus":                 {local(rep("-", 500_000) + "1"), diag.TooNested},
		"minus with spaces":     {local(rep("- ", 400_000) + "1"), diag.TooNested},
		"splats":                {local("b" + rep("[*]", 300_000)), diag.TooComplex},
		"attribute splats":      {local("b" + rep(".*", 400_000)), diag.TooComplex},
		"indexes":               {local("b" + rep("[b]", 300_000)), diag.TooComplex},
		"attributes":            {local("b" + rep(".b", 400_000)), diag.TooComplex},
		"sums":                  {local("1" + rep("+1", 400_000)), diag.TooComplex},
		"1001 sums":             {local("1" + rep("+1", 1001)), diag.TooComplex},
		"sums over lines":       {local("(1" + rep("\n+1", 300_000) + ")"), diag.TooComplex},
		"conditions":            {local(rep("true ? 1 : ", 90_000) + "1"), diag.TooComplex},
		"comparisons":           {local("1" + rep("==1", 300_000)), diag.TooComplex},
		"calls":                 {local(rep("f(", 400_000)), diag.TooNested},
		"heredocs":              {local(rep("<<A\n${", 150_000)), diag.TooNested},
		"interpolations":        {local(`"` + rep("${1}", 200_000) + `"`), diag.TooComplex},
		"lines of a heredoc":    {local("<<A\n" + rep("x\n", 400_000) + "A\n"), diag.TooComplex},
		"dollars":               {local(`"` + rep("$ ", 400_000) + `"`), diag.TooComplex},
		"percents":              {local(`"` + rep("%%", 400_000) + `"`), diag.TooComplex},
		"dollars and ${":        {local(`"` + rep(rep("$ ", 400)+"${1}", 900) + `"`), diag.TooComplex},
		"over 1 MiB":            {"# " + rep("x", 1<<20), diag.FileTooLarge},
		"not UTF-8":             {"pipeline \"a\" {}\n# \xff\xfe\n", diag.NotUTF8},
		"a thousand not closed": {rep("locals {\n a = [\n", 1000), diag.TooNested},
		"a huge number":         {local("1e999999999"), diag.TooComplex},
		"a long number":         {local(rep("9", 500_000)), diag.TooComplex},
		"a huge text":           {"pipeline \"a\" {\n}\n" + local(`tonumber("1e999999999")`), diag.FunctionFailed},
		"a huge JSON number":    {"pipeline \"a\" {\n}\n" + local(`jsondecode("[1e999999999]")`), diag.FunctionFailed},
		"a huge product":        {"pipeline \"a\" {\n}\n" + local("1e400"+rep("*1e400", 900)), diag.ExpressionFailed},
		"a huge padding":        {"pipeline \"a\" {\n}\n" + local(`format("%999999999d", 1)`), diag.FunctionFailed},
		"a huge replacement":    {"pipeline \"a\" {\n}\n" + local(`replace("`+rep("a", 2000)+`", "a", "`+rep("b", 2000)+`")`), diag.FunctionFailed},
		"doubling":              {doubling(), diag.TooComplex},
		"doubling text":         {doublingText(), diag.TooComplex},
	}
}

// doubling is a value that doubles with every line.
func doubling() string {
	var b strings.Builder
	b.WriteString("pipeline \"a\" {\n}\nlocals {\n  a00 = [1, 2]\n")
	for i := range 60 {
		b.WriteString("  a" + num(i+1) + " = [local.a" + num(i) + ", local.a" + num(i) + "]\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func doublingText() string {
	var b strings.Builder
	b.WriteString("pipeline \"a\" {\n}\nlocals {\n  a00 = \"xxxxxxxxxx\"\n")
	for i := range 60 {
		b.WriteString("  a" + num(i+1) + " = \"${local.a" + num(i) + "}${local.a" + num(i) + "}\"\n")
	}
	b.WriteString("}\n")
	return b.String()
}

func num(i int) string { return string(rune('0'+i/10)) + string(rune('0'+i%10)) }

func TestHostileFiles(t *testing.T) {
	for name, h := range hostile() {
		t.Run(name, func(t *testing.T) {
			begin := processTime()
			p, r := lang.Load(fstest.MapFS{"p.hcl": {Data: []byte(h.text)}}, "p.hcl", lang.Options{})
			if took := processTime() - begin; took > maxLoadTime*slower {
				t.Errorf("took %s", took)
			}
			if p != nil || !r.HasErrors() {
				t.Fatal("no error")
			}
			if got := r.All()[0].Code; got != h.code {
				t.Errorf("code %s, want %s:\n%.500s", got, h.code, render(t, r))
			}
		})
	}
}

// TestManyProblems loads files with a problem in every line: they are no worse
// than large.
func TestManyProblems(t *testing.T) {
	for name, line := range map[string]string{"arguments": "a = 1\n", "passwords": "password=\"abcd\"\n", "blocks": "a {\n}\n", "durations": "a = 30s\n"} {
		t.Run(name, func(t *testing.T) {
			src := "pipeline \"a\" {\n}\n" + strings.Repeat(line, 1<<17/len(line))
			begin := processTime()
			_, r := lang.Load(fstest.MapFS{"p.hcl": {Data: []byte(src)}}, "p.hcl", lang.Options{})
			shown, more := r.Shown()
			if len(shown) != diag.MaxShown || more < 1000 {
				t.Errorf("%d shown, %d more", len(shown), more)
			}
			if took := processTime() - begin; took > 3*maxLoadTime*slower {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestWithinLimits checks that the limits themselves are allowed.
func TestWithinLimits(t *testing.T) {
	for name, text := range map[string]string{
		"parentheses": strings.Repeat("(", 198) + "1" + strings.Repeat(")", 198),
		"operators":   "1" + strings.Repeat("+1", 1000),
		"prefixes":    strings.Repeat("!", 8) + "true",
		"a heredoc":   "<<A\n" + strings.Repeat("x\n", 2000) + "A",
		"dollars":     `"` + strings.Repeat("$ ", 1000) + `"`,
		"many texts":  "[" + strings.Repeat(`"$ a",`, 5) + strings.Repeat(`"a",`, 5000) + "]",
		"many lines":  "[\n" + strings.Repeat("1,\n", 5000) + "]",
	} {
		t.Run(name, func(t *testing.T) {
			src := "pipeline \"a\" {\n}\nlocals {\n  a = " + text + "\n  b = 1\n}\n"
			_, r := lang.Load(fstest.MapFS{"p.hcl": {Data: []byte(src)}}, "p.hcl", lang.Options{})
			if r.HasErrors() {
				t.Errorf("%.600s", render(t, r))
			}
		})
	}
}

func FuzzLoad(f *testing.F) {
	for _, h := range hostile() {
		if len(h.text) < 1<<12 {
			f.Add(h.text)
		}
	}
	for _, text := range seeds(f) {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		begin := processTime()
		late := time.AfterFunc(20*time.Second, func() { panic("still loading: " + text) })
		defer late.Stop()
		files := fstest.MapFS{"p.hcl": {Data: []byte(text)}, "h.lua": {Data: []byte("x")}}
		p, r := lang.Load(files, "p.hcl", lang.Options{Hostname: "h"})
		if (p == nil) != r.HasErrors() {
			t.Errorf("pipeline %v, errors %v", p != nil, r.HasErrors())
		}
		checkReport(t, files, r)
		render(t, r)
		if took := processTime() - begin; took > 5*time.Second {
			t.Errorf("took %s", took)
		}
	})
}
