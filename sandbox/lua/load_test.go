package lua

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

func TestLoadErrors(t *testing.T) {
	for _, c := range []struct {
		name, code string
		line       int
		want       string
	}{
		{"not Lua", "local x = 1\nlocal = 2", 2, "this is not Lua near `=`"},
		{"ends in an expression", "local x =\n", 1, "the script ends too early; an `end`"},
		{"a function without its end", "function handle()\n  return ack()\n", 1, "this `function` is never closed; write the `end`"},
		{"an if without its end", "function handle(e)\n  if e.x then\n    log()\n  return ack()\nend\n", 2, "this `if` is never closed; write the `end`"},
		{"an if without its end before a statement", "function handle(e)\n  if e.x then\n    return ack()\n  if e.y then\n    return drop()\n  end\nend\n", 2, "this `if` is never closed"},
		{"a loop without its end, and others with theirs", "function a()\n  for i = 1, 2 do\n    b()\nend\nfunction handle()\n  if x then\n    y()\n  end\nend\n", 2, "this `do` is never closed"},
		{"a table without its brace", "function handle(e)\n  return { a = 1\nend\n", 2, "this `{` is never closed; write the `}`"},
		{"a call without its parenthesis", "function handle(e)\n  if tonumber(e.x then\n    return ack()\n  end\nend\n", 2, "this `(` is never closed; write the `)`"},
		{"a table without its comma", "function handle(e)\n  return {\n    a = 1\n    b = 2\n  }\nend\n", 4, "separated by commas"},
		{"an assignment of other languages", "function handle(e)\n  local t = 1\n  t += e.x\n  return ack()\nend\n", 3, "write `t = t + ...`"},
		{"brackets in texts", "function handle(e)\n  local s = '({[' .. \"if do\"\n  return {\nend\n", 3, "this `{` is never closed"},
		{"a file of another Lua", "local m = require('m')", 1, "'require', which is no function here; name the file in modules"},
		{"not equal of other languages", "function handle(e)\n  return e.x != 1\nend", 2, "invalid token near `!`; Lua writes `~=`"},
		{"not equal of other languages behind carriage returns", "function handle(e)\r  return e.x != 1\rend", 2, "Lua writes `~=`"},
		{"a brace behind carriage returns", "function handle(e)\r\r\n  if e.x {\n    return ack()\n  }\nend", 3, "Lua writes `if condition then ... end`"},
		{"a brace behind a line of one letter", "\rA{0\na", 3, ""},
		{"not of other languages", "function handle(e)\n  if !e.x then return ack() end\nend", 2, "Lua writes `not`"},
		{"and of other languages", "function handle(e)\n  if e.x && e.y then return ack() end\nend", 2, "Lua writes `and`"},
		{"a comment of other languages", "function handle(e)\n  return ack() // done\nend", 2, "Lua writes a comment as `-- text`"},
		{"a body in braces", "function handle(e)\n  if (e.x) {\n    return ack()\n  }\nend", 2, "Lua writes `if condition then ... end`"},
		{"else if", "function handle(e)\n  if e.x then\n    return ack()\n  else if e.y then\n    return drop()\n  end\nend\n", 4, "write `elseif`"},
		{"a text that is not closed", "function handle(e)\n  local s = \"it's\n  return ack()\nend\n", 2, "a string is not closed on its line; add the quote"},
		{"a number too large", "function handle(e)\n  return e.id == 9007199254740993\nend", 2, "the number 9007199254740993 is beyond 2^53 and would lose digits; write int(\"9007199254740993\")"},
		{"a hexadecimal number too large", "local x = 0xFFFFFFFFFFFFFFFF", 1, "write int(\"0xFFFFFFFFFFFFFFFF\")"},
		{"a negative number too large", "local x = -9007199254740993", 1, "beyond 2^53"},
		{"a number beyond all", "local x = 1e999", 1, "1e999 is no number"},
		{"break outside of a loop", "break", 1, "no loop to break"},
		{"no label", "local x\ngoto out\nlocal y", 2, "no visible label 'out'"},
		{"varargs outside", "function handle() return ... end", 1, "cannot use '...'"},
		{"error at load", "\n\nerror('not today')", 3, "not today"},
		{"nil at load", "local x = nil\nlocal y = x.y", 2, "attempt to index a nil value with key 'y'"},
		{"endless load", "while true do end", 1, "the top level of the script was stopped after 20000000 instructions"},
		{"built-in name", "function reply() end", 1, "'reply' is built in and cannot be changed"},
		{"library name", "\nmath = {}", 2, "'math' is built in"},
		{"ungranted at load", "log.info('x')", 1, "log.info needs a grant"},
		{"local function", "\nlocal function handle() end", 2, "the function \"handle\" is local to the script; write it without `local`"},
		{"local variable", "local handle = function() end", 1, "write it without `local`"},
		{"no functions", "local x = 1", 0, "there is no function \"handle\"; the script defines no functions"},
		{"other functions", "function b() end function a() end", 0, "there is no function \"handle\""},
		{"not a function", "handle = 5", 0, "there is no function \"handle\""},
		{"a built-in function", "local x = 1", 0, "there is no function"},
	} {
		t.Run(c.name, func(t *testing.T) {
			script := spec(c.code, "handle")
			script.Limits.Timeout = time.Minute
			_, err := Compile(script)
			e, ok := errors.AsType[*sandbox.LoadError](err)
			if !ok {
				t.Fatalf("not a LoadError: %v", err)
			}
			if e.Source != "h.lua" || e.Line != c.line || !strings.Contains(e.Error(), c.want) {
				t.Errorf("got %q in %s:%d, want line %d: %s", e.Error(), e.Source, e.Line, c.line, c.want)
			}
		})
	}
}

func TestMissingFunctionNamesTheOthers(t *testing.T) {
	_, err := Compile(spec("function b() end\nfunction a() end\nx = 1\nlocal function c() end", "post"))
	e, ok := errors.AsType[*sandbox.LoadError](err)
	if !ok || e.Missing != "post" || !slices.Equal(e.Functions, []string{"a", "b"}) {
		t.Errorf("%+v", err)
	}
	// What is built in is no function of the script.
	if _, err := Compile(spec("function a() end", "tostring")); err == nil {
		t.Error("a built-in function was taken for a handler")
	}
}

func TestGrantErrors(t *testing.T) {
	s := spec("function handle() end", "handle")
	s.Grants = []sandbox.Grant{{Kind: "telepathy"}}
	if _, err := Compile(s); err == nil || !strings.Contains(err.Error(), `there is no such capability; this version has log`) {
		t.Error(err)
	}
	s.Grants, s.RawInput = nil, true
	if _, err := Compile(s); err == nil || !strings.Contains(err.Error(), "WASM") {
		t.Error(err)
	}
}

func TestModules(t *testing.T) {
	s := spec(`
function handle(e)
  local ok, err = pcall(function() money.rate = 2 end)
  local ok2, err2 = pcall(function() round = nil end)
  return { money.cents(e.x), round(1.5), ok, err, ok2, err2 }
end`, "handle")
	s.Modules = []sandbox.Source{
		{Name: "lib/money.lua", Code: []byte("local M = { rate = 100 }\nfunction M.cents(x) return x * M.rate end\nreturn M")},
		{Name: "lib/round.lua", Code: []byte("function round(x) return math.floor(x + 0.5) end")},
	}
	in := compile(t, s)
	out, _ := in.Call(context.Background(), delivery(t, `{"x":3}`))
	want := `[300,2,false,"h.lua:3: money.rate cannot be set: 'money' cannot be changed after the script is loaded",false,"h.lua:4: the global 'round' cannot be changed after the script is loaded: keep what changes in a local"]`
	if got := show(t, out); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}

	for _, c := range []struct {
		name, script, module, want string
	}{
		{"a module that is no Lua", "", "function = 1", "lib/round.lua:1: this is not Lua"},
		{"a module that fails", "", "\nnothing()", "lib/round.lua:2: attempt to call 'nothing', which is no function here"},
		{"a name of a module", "round = 1", "function round() end", "h.lua:1: 'round' is defined by the module lib/round.lua"},
		{"a function of a module", "", "function handle() end", ""},
	} {
		bad := s
		bad.Source.Code = []byte(c.script)
		bad.Modules = []sandbox.Source{s.Modules[0], {Name: "lib/round.lua", Code: []byte(c.module)}}
		if _, err := Compile(bad); c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s: got %v, want %s", c.name, err, c.want)
		}
	}
}

// TestLongScripts are long without being deep.
func TestLongScripts(t *testing.T) {
	for name, body := range map[string]string{
		"many calls":       strings.Repeat("string.len(\"x\")\n", 5000),
		"many comparisons": strings.Repeat("if e.x == 1 then e.y = 2 end\n", 5000),
		"a long list":      "local t = {" + strings.Repeat("1, ", 80000) + "2, string.byte('AB', 1, 2)} assert(#t == 80003 and t[25550] == 1 and t[25551] == 1 and t[80001] == 2 and t[80003] == 66)",
		"a long join":      "local s = \"\"" + strings.Repeat(" .. \"x\"", 15000),
		"many functions":   strings.Repeat("do local function f(a) return a + 1 end end\n", 5000),
		"a long condition": "if e.x == 1" + strings.Repeat(" or e.x == 2", 150) + " then end",
	} {
		t.Run(name, func(t *testing.T) {
			out := handle(t, "function handle(e)\n"+body+"\nreturn ack()\nend", `{"x":1}`)
			if out.Kind != outcome.Ack {
				t.Error(show(t, out))
			}
		})
	}
}

func TestHash(t *testing.T) {
	base := spec("function handle() end", "handle")
	hashes := map[string]string{}
	for name, change := range map[string]func(*sandbox.Spec){
		"same":     func(*sandbox.Spec) {},
		"code":     func(s *sandbox.Spec) { s.Source.Code = []byte("function handle()  end") },
		"function": func(s *sandbox.Spec) { s.Source.Code = []byte("function handle() end"); s.Function = "other" },
		"module":   func(s *sandbox.Spec) { s.Modules = []sandbox.Source{{Name: "m.lua", Code: []byte("")}} },
	} {
		s := base
		change(&s)
		hashes[name] = hash(&s)
	}
	if hashes["same"] != hash(&base) {
		t.Error("the same code has two hashes")
	}
	seen := map[string]bool{}
	for _, h := range hashes {
		seen[h] = true
	}
	if len(seen) != len(hashes) {
		t.Errorf("hashes collide: %v", hashes)
	}
}

func TestLog(t *testing.T) {
	host := &logged{}
	s := spec(`
function handle(e)
  log.debug("a")
  log.error("b", { list = { 1, 2 }, text = "x", none = json.null, big = e.id, ["n"] = 1.5 })
  log.warn(5)
  local ok, err = pcall(log.info)
  local ok2, err2 = pcall(log.info, "x", "fields")
  for i = 1, 300 do log.info(("y"):rep(10000)) end
  return { err, err2 }
end`, "handle")
	s.Grants, s.Host = []sandbox.Grant{{Kind: "log"}}, host
	in := compile(t, s)
	for range 2 {
		host.lines = nil
		out, _ := in.Call(context.Background(), delivery(t, `{"id":18446744073709551615}`))
		if got := show(t, out); !strings.Contains(got, "write log.info(message, fields)") || !strings.Contains(got, "got a string") {
			t.Fatal(got)
		}
		lines := host.lines
		if lines[0].Level != sandbox.Debug || lines[1].Level != sandbox.Error || lines[2].Message != "5" {
			t.Errorf("%+v", lines[:3])
		}
		want := []outcome.Header{{Name: "big", Value: "18446744073709551615"}, {Name: "list", Value: "[1,2]"}, {Name: "n", Value: "1.5"}, {Name: "none", Value: "null"}, {Name: "text", Value: "x"}}
		if !slices.Equal(lines[1].Attrs, want) {
			t.Errorf("%+v", lines[1].Attrs)
		}
		last := lines[len(lines)-1]
		size := 0
		for _, l := range lines {
			size += len(l.Message)
		}
		if len(lines) > 101 || size > 70<<10 || !strings.Contains(last.Message, "further log lines of this call are dropped") {
			t.Errorf("%d lines, %d bytes, last %q", len(lines), size, last.Message)
		}
	}
}
