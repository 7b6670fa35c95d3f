package lang_test

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
	"testing/fstest"
	"time"

	"pipeline/lang"
	"pipeline/lang/diag"
)

// What a file of at most 1 MiB may take, whatever is in it: time of all
// processors together, half of which goes into parsing, with room for a busy
// machine; and memory allocated on the way, of which a fraction is in use at a
// time.
const (
	maxLoadTime  = 3 * time.Second
	maxLoadBytes = 2 << 30
)

// laborious are files that are plain to parse and mean a great deal of work. A
// code of "" is a file that may load.
func laborious() map[string]struct {
	text string
	code diag.Code
} {
	rep := strings.Repeat
	file := func(locals string) string { return "pipeline \"a\" {\n}\nlocals {\n" + locals + "}\n" }
	local := func(s string) string { return file("  x = " + s + "\n") }
	// list has 100 × 10 × … elements, text some 500 KB.
	list := "  l0 = [" + rep("1,", 1000) + "1]\n"
	for i := range 5 {
		list += fmt.Sprintf("  l%d = concat(local.l%d, local.l%d)\n", i+1, i, i)
	}
	text := "  t0 = \"" + rep("ab,", 1000) + "\"\n"
	for i := range 6 {
		text += fmt.Sprintf("  t%d = \"${local.t%d}${local.t%d}\"\n", i+1, i, i)
	}
	with := func(s string) string { return file(list + text + "  x = " + s + "\n") }
	many := func(s string, n int) string { return with("[" + rep(s+", ", n) + "1]") }
	return map[string]struct {
		text string
		code diag.Code
	}{
		"nested loops over long lists":   {with("[for a in local.l5 : [for b in local.l5 : a + b]]"), diag.TooComplex},
		"loops that keep nothing":        {with("[for a in local.l5 : [for b in local.l5 : b if false]]"), diag.TooComplex},
		"loops with keys":                {with("{for a in local.l5 : a => [for b in local.l5 : b]...}"), diag.TooComplex},
		"loops in an argument":           {with("length([for a in local.l5 : length([for b in local.l5 : b])])"), diag.TooComplex},
		"loops that compare":             {with("[for a in local.l5 : local.l5 == local.l4]"), diag.TooComplex},
		"loops that encode":              {with("[for a in local.l5 : length(jsonencode(local.l5))]"), diag.TooComplex},
		"loops in try":                   {with("try([for a in local.l5 : [for b in local.l5 : a + b]], 1)"), diag.TooComplex},
		"loops in many locals":           {file(list + manyLocals(2000, "[for a in local.l3 : a + 1]")), diag.TooComplex},
		"comparisons":                    {with("true" + rep(" && local.l5 == local.l5", 450)), diag.TooComplex},
		"encodings":                      {many("length(jsonencode(local.l5))", 20_000), diag.TooComplex},
		"long templates":                 {with("\"" + rep("${local.t6}", 500) + "\""), diag.TooComplex},
		"concat of much":                 {with("length(concat(" + rep("local.l5, ", 40_000) + "[]))"), diag.TooComplex},
		"merge of much":                  {file("  m = {" + manyMembers(3000) + "}\n  x = merge(" + rep("local.m, ", 50_000) + "{})\n"), diag.TooComplex},
		"join with much":                 {with("join(local.t6, split(\",\", local.t3))"), diag.FunctionFailed},
		"a long list to unite":           {with("join(\"\", [for a in local.l5 : \"a\"])"), diag.TooComplex},
		"two long lists to unite":        {with("true ? local.l5 : local.l4"), diag.TooComplex},
		"long lists to choose from":      {with("coalesce(local.l5, local.l4)"), diag.TooComplex},
		"format with much":               {with("format(\"" + rep("%[1]s", 400) + "\", local.t6)"), diag.FunctionFailed},
		"replace with much":              {with("replace(local.t6, \",\", local.t3)"), diag.FunctionFailed},
		"replace by pattern with much":   {with("replace(local.t6, \"/[a-z]+,[^x]*/\", \"" + rep("$0", 400) + "\")"), diag.FunctionFailed},
		"long pattern":                   {with("regex(\"" + rep("(a|b|c)*", 500) + "x\", local.t6)"), diag.TooComplex},
		"long pattern in replace":        {with("replace(local.t6, \"/" + rep("(a|b|c)*", 500) + "x/\", \"\")"), diag.TooComplex},
		"repeated pattern":               {with("regex(\"((((a{1,100}){1,100}){1,100}){1,100})\", local.t6)"), diag.FunctionFailed},
		"splits":                         {many("length(split(\",\", local.t6))", 20_000), diag.TooComplex},
		"distinct":                       {with("distinct(local.l5)"), diag.TooComplex},
		"distinct numbers":               {local("distinct([" + manyNumbers(20_000) + "])"), diag.TooComplex},
		"sorts":                          {many("length(sort(split(\",\", local.t6)))", 2000), diag.TooComplex},
		"flatten":                        {many("length(flatten([local.l5, [local.l5]]))", 5000), diag.TooComplex},
		"range":                          {local("range(0, 1000000000)"), diag.FunctionFailed},
		"loops over ranges":              {local("[for a in range(1000) : [for b in range(1000) : range(1000)]]"), diag.TooComplex},
		"nested tries":                   {local(rep("try(", 150) + "1" + rep(", 2)", 150)), diag.TooComplex},
		"nested cans":                    {local(rep("can(", 150) + "1" + rep(")", 150)), diag.TooComplex},
		"deep loops":                     {local(rep("[for a in [1] : ", 60) + "a" + rep("]", 60)), diag.TooComplex},
		"long loop":                      {local("[for a in [" + rep("1, ", 300_000) + "1] : a]"), diag.TooComplex},
		"one long list":                  {local("[" + rep("1, ", 300_000) + "1]"), diag.TooComplex},
		"one long text":                  {local("\"" + rep("x", 1_000_000) + "\""), ""},
		"one long heredoc":               {local("<<X\n" + rep("x\n", 500_000) + "X"), ""},
		"escapes":                        {local("\"" + rep("\\n", 400_000) + "\""), ""},
		"one long name":                  {local(rep("x", 1_000_000)), diag.UnknownReference},
		"one long comment":               {"pipeline \"a\" {\n}\n# " + rep("x", 1_000_000) + "\n", ""},
		"many comments":                  {"pipeline \"a\" {\n}\n" + rep("#\n", 500_000), ""},
		"empty lines":                    {"pipeline \"a\" {\n}\n" + rep("\n", 1_000_000), ""},
		"100,000 blocks":                 {"pipeline \"a\" {\n}\n" + rep("a {\n}\n", 100_000), diag.UnknownBlock},
		"100,000 locals":                 {"pipeline \"a\" {\n}\nlocals {\n" + rep("a=1\n", 100_000) + "}\n", diag.DuplicateArgument},
		"locals of 100,000 names":        {"pipeline \"a\" {\n}\nlocals {\n" + manyArguments(80_000) + "}\n", ""},
		"100,000 arguments":              {"pipeline \"a\" {\n" + manyArguments(80_000) + "}\n", diag.UnknownArgument},
		"streams of one name":            {"pipeline \"a\" {\n}\n" + rep("stream \"s\" {\n}\n", 60_000), diag.DuplicateName},
		"streams of many names":          {"pipeline \"a\" {\n}\n" + manyBlocks(20_000, "stream \"s%d\" {\n  name = \"x\"\n}\n"), diag.DuplicateName},
		"groups of many names":           {"pipeline \"a\" {\n}\nstream \"s\" {\n}\n" + manyBlocks(15_000, "group \"g%d\" {\n  stream = stream.s\n}\n"), diag.MissingBlock},
		"references to nothing":          {"pipeline \"a\" {\n}\n" + manyBlocks(15_000, "group \"g%d\" {\n  stream = stream.s%[1]d\n}\n"), diag.MissingBlock},
		"10,000 problems":                {"pipeline \"a\" {\n}\n" + rep("stream \"s\" {\n  max_backlog = -1\n  bodi = 1\n}\n", 12_000), diag.UnknownArgument},
		"10,000 typos":                   {"pipeline \"a\" {\n}\nlocals {\n" + manyBlocks(30_000, "  a%d = local.b%[1]d\n") + "}\n", diag.UnknownLocal},
		"a chain of locals":              {"pipeline \"a\" {\n}\nlocals {\n" + chain(30_000) + "}\n", diag.UnknownLocal},
		"a circle of locals":             {"pipeline \"a\" {\n}\nlocals {\n" + chain(30_000) + "  a30000 = local.a0\n}\n", ""},
		"a chain of streams":             {"pipeline \"a\" {\n}\nhandler \"h\" {\n  source = \"h.lua\"\n}\n" + streamChain(3000), ""},
		"types":                          {"pipeline \"a\" {\n}\nstream \"s\" {\n  entry = " + rep("list(", 190) + "any" + rep(")", 190) + "\n}\n", ""},
		"a wide type":                    {"pipeline \"a\" {\n}\nstream \"s\" {\n  entry = object({" + manyBlocks(40_000, "a%d = number, ") + "})\n}\n", ""},
		"a wide type with many mistakes": {"pipeline \"a\" {\n}\nstream \"s\" {\n  entry = object({" + manyBlocks(40_000, "a%d = nmber, ") + "})\n}\n", diag.InvalidType},
		"a long condition":               {"pipeline \"a\" {\n}\nstream \"s\" {\n  key = entry.a" + rep(".a", 990) + "\n}\n", ""},
		"secrets":                        {"pipeline \"a\" {\n}\n" + manyBlocks(15_000, "variable \"v%d\" {\n  sensitive = true\n  default = \"secret%[1]d\"\n}\n"), ""},
		"passwords in addresses":         {"pipeline \"a\" {\n}\n" + manyBlocks(25_000, "# redis://u:password%d@host\n"), ""},
	}
}

func manyBlocks(n int, format string) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, format, i)
	}
	return b.String()
}

func manyLocals(n int, value string) string { return manyBlocks(n, "  y%d = "+value+"\n") }
func manyMembers(n int) string              { return manyBlocks(n, "m%d = 1, ") }
func manyNumbers(n int) string              { return manyBlocks(n, "%d, ") }
func manyArguments(n int) string            { return manyBlocks(n, "a%d = 1\n") }

// chain are locals that each name the next.
func chain(n int) string { return manyBlocks(n, "  a%d = local.a%[1]d1\n") }

func streamChain(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "stream \"s%d\" {\n}\ngroup \"g%d\" {\n  stream = stream.s%d\n  subscription \"u%d\" {\n    handler = handler.h\n    reply {\n      to = stream.s%d\n    }\n  }\n}\n", i, i, i, i, (i+1)%n)
	}
	return b.String()
}

// TestLaboriousFiles are refused, or done in time, and nothing else.
func TestLaboriousFiles(t *testing.T) {
	for name, h := range laborious() {
		t.Run(name, func(t *testing.T) {
			if len(h.text) > 1<<20 {
				t.Fatalf("%d bytes: it would be refused for its size", len(h.text))
			}
			if slower > 1 && len(h.text) > 32<<10 {
				t.Skip("parsing a large file under the race detector takes minutes, and finds nothing more")
			}
			files := fstest.MapFS{"p.hcl": {Data: []byte(h.text)}, "h.lua": {Data: []byte("x")}}
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			begin := processTime()
			p, r := lang.Load(files, "p.hcl", lang.Options{})
			render(t, r)
			took := processTime() - begin
			runtime.ReadMemStats(&after)
			t.Logf("%s, %d MB, %d bytes", took.Round(time.Millisecond), (after.TotalAlloc-before.TotalAlloc)>>20, len(h.text))
			if limit := maxLoadTime * slower; took > limit {
				t.Errorf("took %s, more than %s", took, limit)
			}
			if used := after.TotalAlloc - before.TotalAlloc; used > maxLoadBytes {
				t.Errorf("allocated %d MB", used>>20)
			}
			if (p == nil) != r.HasErrors() {
				t.Errorf("pipeline %v, errors %v", p != nil, r.HasErrors())
			}
			if h.code == "" {
				return
			}
			for _, d := range r.All() {
				if d.Code == h.code {
					return
				}
			}
			t.Errorf("no %s in:\n%.1000s", h.code, render(t, r))
		})
	}
}
