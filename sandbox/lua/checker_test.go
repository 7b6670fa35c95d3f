package lua

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

// findingsText are findings as "line:column kind name! problem; remedy", with
// the mark for certain ones.
func findingsText(t *testing.T, s sandbox.Spec) []string {
	t.Helper()
	found, err := new(Checker).Check(s)
	if err != nil {
		t.Fatal(err)
	}
	var out []string
	for _, f := range found {
		mark := ""
		if f.Certain {
			mark = "!"
		}
		out = append(out, fmt.Sprintf("%s:%d:%d %s %s%s", f.Source, f.Line, f.Column, f.Kind, f.Name, mark))
	}
	return out
}

func TestFindings(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       []string
	}{
		{"nothing", "function handle(e) return ack() end", nil},
		{"a grant", "function handle(e)\n  log.info('x')\n  return ack()\nend", []string{"h.lua:2:3 grant log!"}},
		{"a grant in a branch", "function handle(e)\n  if e.x then log.info('x') end\n  return ack()\nend", []string{"h.lua:2:15 grant log"}},
		{"a grant behind and", "function handle(e)\n  local _ = e.x and log.info('x')\n  return ack()\nend", []string{"h.lua:2:21 grant log"}},
		{"a grant told once", "function handle(e)\n  if e.x then log.info('x') end\n  log.warn('y')\n  return ack()\nend", []string{"h.lua:2:15 grant log!"}},
		{"a local that hides it", "local log = { info = function() end }\nfunction handle(e) log.info('x') return ack() end", nil},
		{"a parameter that hides it", "function handle(e, log) log.info('x') return ack() end", nil},
		{"a variable of a loop", "function handle(e) for _, log in ipairs(e) do log.info('x') end return ack() end", nil},
		{"a protected call", "function handle(e) pcall(function() log.info('x') nothing() end) return ack() end", nil},
		{"a protected function", "local function f() log.info('x') end\nfunction handle(e) pcall(f) return ack() end", nil},
		{"a function that is not reached", "local function f() log.info('x') end\nfunction other() f() end\nfunction handle(e) return ack() end", nil},
		{"a function that is reached", "local function f()\n log.info('x')\nend\nlocal function g() f() end\nfunction handle(e) g() return ack() end", []string{"h.lua:2:2 grant log"}},
		{"a method that is reached", "local M = {}\nfunction M:f()\n log.info(self)\nend\nfunction handle(e) M:f() return ack() end", []string{"h.lua:3:2 grant log"}},
		{"a member of a list", "local M = { f = function()\n log.info('x') end }\nfunction handle(e) M.f() return ack() end", []string{"h.lua:2:2 grant log"}},
		{"a computed member", "local M = { f = function() log.info('x') end }\nfunction handle(e) M[e.x]() return ack() end", nil},
		{"an alias", "local function f()\n acc()\nend\nhandle = f", []string{"h.lua:2:2 name acc"}},
		{"a function inside", "function handle(e)\n local function f()\n  acc()\n end\n f()\n return ack()\nend", []string{"h.lua:3:3 name acc"}},
		{"a function inside that is not used", "function handle(e)\n local function f() acc() end\n return ack()\nend", nil},
		{"a function given away", "function handle(e)\n  return reply((e.x:gsub('.', function(c)\n return uper(c) end)))\nend", []string{"h.lua:3:9 name uper"}},
		{"misspelt", "function handle(e)\n  return acc()\nend", []string{"h.lua:2:10 name acc!"}},
		{"misspelt member", "function handle(e)\n  return reply(json.encod(e))\nend", []string{"h.lua:2:16 name json.encod!"}},
		{"a constant of a library", "function handle(e) return reply({ math.pi, math.tau, json.null }) end", nil},
		{"of other Luas", "function handle(e)\n  local x = require('x')\n  print(os.time(), io.open('x'))\n  return ack()\nend", []string{"h.lua:2:13 name require!", "h.lua:3:3 name print!", "h.lua:3:9 name os.time!", "h.lua:3:20 name io!"}},
		{"the nil of another language", "function handle(e) if e.x == null then return ack() end return drop() end", []string{"h.lua:1:30 name null"}},
		{"a local of such a name", "local null = {}\nfunction handle(e) if e.x == null then return ack() end return drop() end", nil},
		{"a global that is asked for", "function handle(e) if cjson then cjson.encode(e) end return ack() end", nil},
		{"a global that is set", "function setup() counter = {} end\nfunction handle(e) return reply(counter.x) end", nil},
		{"ctx without a parameter", "function handle(e)\n  return reply(ctx.id)\nend", []string{"h.lua:2:16 name ctx!"}},
		{"of a varying number", "function handle(...) return reply(arg.n) end", nil},
		{"self", "local M = {}\nfunction M:f() self.x = 1 end\nfunction handle(e) M:f() return ack() end", nil},
		{"a repeat", "function handle(e) repeat local done = e.x until done.y return ack() end", nil},
		{"goto and labels", "function handle(e) do goto out end ::out:: return ack() end", nil},
		{"not returned", "function handle(e)\n  if e.x then\n    ack()\n  else\n    dead('x')\n  end\nend", []string{"h.lua:3:5 result ack", "h.lua:5:5 result dead"}},
		{"not returned in the middle", "function handle(e)\n  drop('x')\n  return ack()\nend", []string{"h.lua:2:3 result drop!"}},
		{"kept", "function handle(e) local r = ack() return r end", nil},
		{"its own", "local function ack2() return ack() end\nfunction handle(e) ack2() return ack() end", nil},
		{"a local of the name", "function handle(e) local drop = print2 drop() return ack() end", nil},
		{"a character before", "function handle(e)\n  local x = 'ü' .. acc()\n  return ack()\nend", []string{"h.lua:2:20 name acc!"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			if got := findingsText(t, spec(c.code, "handle")); !slices.Equal(got, c.want) {
				t.Errorf("got  %q\nwant %q", got, c.want)
			}
		})
	}
}

// TestFindingsAreReal runs what is certain: it fails.
func TestFindingsAreReal(t *testing.T) {
	for _, code := range []string{
		"function handle(e) log.info('x') return ack() end",
		"function handle(e) return acc() end",
		"function handle(e) return reply(json.encod(e)) end",
		"function handle(e) local x = require('x') return ack() end",
		"function handle(e) return reply(os.time()) end",
		"function handle(e) return reply(ctx.id) end",
		"function handle(e) ack() end",
	} {
		found, err := new(Checker).Check(spec(code, "handle"))
		if err != nil || len(found) != 1 || !found[0].Certain {
			t.Errorf("%s: %+v, %v", code, found, err)
		}
		if out := handle(t, code, `{}`); out.Kind != outcome.Failed {
			t.Errorf("%s: %s", code, show(t, out))
		}
	}
}

// TestAbsentNamesAreAbsent: what is offered in the place of a name must exist,
// and the name must not.
func TestAbsentNamesAreAbsent(t *testing.T) {
	for name, help := range absent {
		if (help.meant == "") == (help.remedy == "") && name != "os.date" {
			t.Errorf("%s: neither or both of %+v", name, help)
		}
		call := func(name string) []sandbox.Finding {
			found, err := new(Checker).Check(spec("function handle(e)\n  local x = "+name+"()\n  return ack()\nend", "handle"))
			if err != nil {
				t.Fatal(err)
			}
			return found
		}
		if len(call(name)) != 1 {
			t.Errorf("%s exists", name)
		}
		if help.meant != "" && help.meant != "json" && len(call(help.meant)) != 0 {
			t.Errorf("%s does not exist", help.meant)
		}
	}
}

func TestFindingsOfModules(t *testing.T) {
	s := spec("function handle(e) util.f() return ack() end", "handle")
	s.Modules = []sandbox.Source{{Name: "lib/util.lua", Code: []byte("local M = {}\nfunction M.f()\n  log.info('x')\nend\nfunction M.g() acc() end\nreturn M")}}
	if got := findingsText(t, s); !slices.Equal(got, []string{"lib/util.lua:3:3 grant log"}) {
		t.Error(got)
	}
	s.Grants = []sandbox.Grant{{Kind: "log"}}
	if got := findingsText(t, s); len(got) > 0 {
		t.Error(got)
	}
}

// TestCheckerSharesWork: functions of one script are checked with the script
// loaded once, and what differs is told apart.
func TestCheckerSharesWork(t *testing.T) {
	code := "function a() log.info('x') return ack() end\nfunction b() return ack() end"
	c := &Checker{}
	for _, want := range []struct {
		function string
		granted  bool
		findings int
	}{{"a", false, 1}, {"b", false, 0}, {"a", true, 0}, {"b", true, 0}} {
		s := spec(code, want.function)
		if want.granted {
			s.Grants = []sandbox.Grant{{Kind: "log"}}
		}
		found, err := c.Check(s)
		if err != nil || len(found) != want.findings {
			t.Errorf("%+v: %v, %v", want, found, err)
		}
	}
	if n := len(c.seen["h.lua"]); n != 2 {
		t.Errorf("loaded %d times", n)
	}
	if _, err := c.Check(spec(code+" ", "c")); err == nil || len(c.seen["h.lua"]) != 3 {
		t.Errorf("other code was taken for the same: %v", err)
	}
	for range 2 {
		if _, err := c.Check(spec("x = = 1", "a")); err == nil {
			t.Error("no error")
		}
	}
}

// TestCheckSaysWhatCompileSays for every script of the example and of tests of
// loading.
func TestCheckSaysWhatCompileSays(t *testing.T) {
	for _, code := range []string{"", "function handle() end", "local function handle() end", "x = nil + 1", "while true do end", "log.info('x')", "handle = 5", "function handle(", "return { handle = function() end }"} {
		_, want := Compile(spec(code, "handle"))
		_, got := new(Checker).Check(spec(code, "handle"))
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Errorf("%q: got %v, want %v", code, got, want)
		}
	}
}

func TestFunctionsThatCannotBeCalled(t *testing.T) {
	for _, c := range []struct {
		name, code, want string
		line             int
	}{
		{"a member", "local M = {}\nfunction M.handle() end\nreturn M", "the function \"handle\" stands in a table, \"M\"; a handler is a global function", 2},
		{"an assigned member", "local M = {}\nM.handle = function() end", "stands in a table, \"M\"", 2},
		{"a method", "M = {}\nfunction M:handle() end", "stands in a table", 2},
		{"a returned table", "return {\n  handle = function() end,\n}", "stands in a table", 2},
		{"something returned", "local x = 1\nreturn x", "what a script returns is not looked at", 2},
		{"a local", "local x\nlocal handle = function() end", "write it without `local`", 2},
		{"a local that another line makes", "local handle\nfunction handle() end", "there is no function", 0},
	} {
		_, err := Compile(spec(c.code, "handle"))
		e, ok := errors.AsType[*sandbox.LoadError](err)
		if !ok || e.Line != c.line || !strings.Contains(e.Error(), c.want) {
			t.Errorf("%s: got %v", c.name, err)
		}
	}
}

func TestMissingFunctionNamesLines(t *testing.T) {
	_, err := Compile(spec("local x\nfunction post()\nend\nother = function() end", "pots"))
	if e, ok := errors.AsType[*sandbox.LoadError](err); !ok || e.Lines["post"] != 2 || e.Lines["other"] != 4 {
		t.Errorf("%+v", err)
	}
}

// TestOutlineOfDeepScripts: depth ends the reading, not the process.
func TestOutlineOfDeepScripts(t *testing.T) {
	for name, code := range map[string]string{
		"blocks":     strings.Repeat("do ", 20000) + strings.Repeat("end ", 20000),
		"functions":  strings.Repeat("x = function() ", 5000) + strings.Repeat("end ", 5000),
		"conditions": "function handle(e) if e" + strings.Repeat(" or e.x", 1500) + " then end end",
		"joins":      "function handle(e) return reply(e.x" + strings.Repeat(" .. 'x'", 15000) + ") end",
		"else":       "function handle(e) if e.x == 0 then" + strings.Repeat(" elseif e.x == 1 then", 2000) + " end end",
	} {
		t.Run(name, func(t *testing.T) {
			_, _ = new(Checker).Check(spec(code, "handle")) // it may refuse; it must return
		})
	}
}

// TestRemediesStandAlone: a remedy becomes a sentence, so that it must not begin
// with a name, and no name that is close by chance stands beside it.
func TestRemediesStandAlone(t *testing.T) {
	for name, help := range absent {
		first, _, _ := strings.Cut(help.remedy, " ")
		if strings.ContainsAny(first, ".:#_") {
			t.Errorf("%s: the remedy begins with %q", name, first)
		}
	}
	found, err := new(Checker).Check(spec("function handle(e) return reply(os.time()) end", "handle"))
	if err != nil || len(found) != 1 || len(found[0].Known) > 0 || found[0].Remedy == "" {
		t.Errorf("%+v, %v", found, err)
	}
}
