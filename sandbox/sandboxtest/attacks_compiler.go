package sandboxtest

import (
	"fmt"
	"strings"

	"pipeline/sandbox"
)

// luaCompiler are scripts and modules that the parser or the compiler should
// stumble over.
func luaCompiler() []Attack {
	all := compilerSources()
	all = append(all, compilerBodies()...)
	for _, m := range []struct {
		name, module, script string
		ends                 []string
	}{
		{"that never ends", "while true do end", "function handle() return ack() end", refused},
		{"that fails", "error('no')", "function handle() return ack() end", refused},
		{"that fills the memory", "local t = {} while true do t[#t + 1] = {} end", "function handle() return ack() end", refused},
		{"that hides a built-in name", "string = {}", "function handle() return ack() end", refused},
		{"that hides the outcome functions", "function ack() return drop() end", "function handle() return ack() end", refused},
		{"that is changed", "shared = { n = 1 }", "function handle() shared.n = 2 return ack() end", failed},
		{"that is changed by a library", "shared = { 1 }", "function handle() table.insert(shared, 2) return ack() end", failed},
		{"that is changed through its metatable", "shared = {}", "function handle() setmetatable(shared, { __index = { x = 1 } }) return ack() end", failed},
		{"that is hidden by the script", "function helper() end", "function helper() end function handle() return ack() end", refused},
		{"that returns a library", "return string", "function handle() m.upper = nil return ack() end", failed},
		{"that is bytecode", "\x1bLua\x51\x00\x01\x04\x08", "function handle() return ack() end", refused},
		{"that tells of itself", "return { run = function(f) return f() end }", "function handle() m.run(function() while true do end end) end", stopped},
	} {
		all = append(all, Attack{
			Name: "module " + m.name, Code: []byte(m.script), Ends: m.ends, Loads: m.ends[0] == "load",
			Modules: []sandbox.Source{{Name: "m.lua", Code: []byte(m.module)}},
		})
	}
	return all
}

func source(name, code string, ends []string) Attack {
	return Attack{Name: "source: " + name, Code: []byte(code), Ends: ends, Loads: true}
}

// either is a source that is refused or runs.
var either = []string{"load", "ack"}

func compilerSources() []Attack {
	handle := func(body string) string { return "function handle()\n" + body + "\nreturn ack()\nend" }
	many := func(n int, format string) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, format, i)
		}
		return b.String()
	}
	return []Attack{
		source("66,000 constants", handle("local x\n"+many(66_000, "x=%d ")), refused),
		source("19,000 constants", handle("local x\n"+many(19_000, "x=%d ")), []string{"ack"}),
		source("many texts", handle("local x\n"+many(60_000, "x='%d' ")), refused),
		source("many names", handle(many(60_000, "f%d() ")), refused),
		source("201 locals", handle(many(201, "local v%d = 1 ")), refused),
		source("201 parameters", "function handle("+strings.TrimSuffix(many(250, "p%d, "), ", ")+") return ack() end", refused),
		source("201 locals at the top", many(250, "local v%d = 1\n")+"function handle() return ack() end", refused),
		source("256 upvalues", many(190, "local v%d = 1\n")+"function handle() local function g() return "+strings.TrimSuffix(many(190, "v%d + "), " + ")+" end g() return ack() end", either),
		source("a loop of 190,000 words", handle("local x while not x do x = 1 "+strings.Repeat("x = x ", 60_000)+" end"), either),
		source("a loop too long to jump back", handle("local x, y while not x do x = 1 "+strings.Repeat("y = {} ", 45_000)+" end"), either),
		source("a condition too long to jump over", handle("local x if x then "+strings.Repeat("x = {} ", 45_000)+" end"), either),
		source("10,000 functions", handle(strings.Repeat("local function f() end do end ", 150)+strings.Repeat("do local function f() end end ", 10_000)), either),
		source("10,000 loops", handle(strings.Repeat("for i = 1, 1 do end ", 10_000)), either),
		source("a long text", handle("local s = '"+strings.Repeat("x", 900_000)+"'"), either),
		source("a long comment", "--[==["+strings.Repeat("]", 900_000)+"]==]\n"+handle(""), either),
		source("a long name", handle("local "+strings.Repeat("x", 900_000)+" = 1"), either),
		source("a long number", handle("local x = 0."+strings.Repeat("1", 900_000)), either),
		source("a long hexadecimal number", handle("local x = 0x"+strings.Repeat("f", 900_000)), refused),
		source("escapes", handle(`local s = "\300"`), either),
		source("broken escapes", handle(`local s = "\x\y\u{110000}"`), either),
		source("a byte order mark", "\xef\xbb\xbf"+handle(""), either),
		source("carriage returns", strings.ReplaceAll(handle("local x = 1\nlocal y = 2"), "\n", "\r\n"), either),
		source("only carriage returns", strings.ReplaceAll(handle("local x = 1\nlocal y = 2"), "\n", "\r"), either),
		source("a zero byte in a text", handle("local s = 'a\x00b' assert(#s == 3)"), either),
		source("a zero byte in a name", handle("local a\x00b = 1"), refused),
		source("names of other alphabets", handle("local größe = 1"), either),
		source("invisible characters", handle("local x\u200b = 1"), either),
		source("broken UTF-8", handle("local x = 1 \xff\xfe"), refused),
		source("a first line for the shell", "#!/usr/bin/lua\n"+handle(""), either),
		source("a long bracket that never ends", handle("local s = [====["+strings.Repeat("=]", 100_000)), refused),
		source("labels with one name", handle("::a:: ::a::"), refused),
		source("a goto into a block", handle("goto a do ::a:: end"), refused),
		source("a goto into a local", handle("goto a local x ::a:: x = 1"), refused),
		source("a goto out of a function", handle("local function f() goto a end ::a::"), refused),
		source("a break outside of a loop", handle("break"), refused),
		source("varargs in a function without them", "function handle() return ... end", refused),
		source("a list of 90,000 items", handle("local t = {"+strings.Repeat("1,", 90_000)+"} assert(#t == 90000)"), either),
		source("a list of lists", handle("local t = {"+strings.Repeat("{1},", 40_000)+"} assert(#t == 40000)"), either),
		source("many assignments at once", handle("local a "+strings.Repeat("a, ", 300)+"a = 1"), refused),
		source("many values at once", handle("local a = "+strings.Repeat("1, ", 300)+"1"), either),
		source("many returns", "function handle() return "+strings.Repeat("1, ", 300)+"1 end", refused),
		source("concatenation nested in concatenation", handle("local a = 'x' local s = "+strings.Repeat("(a .. ", 190)+"a"+strings.Repeat(")", 190)), either),
		source("comparison of comparisons", handle("local a = 1 local s = "+strings.Repeat("(a == ", 190)+"a"+strings.Repeat(")", 190)), either),
		source("constants that overflow", handle("local x = 1e308 * 10 - 1e308 * 10 local y = 1 % 0 local z = -(-(-(1e308 * 10)))"), []string{"ack"}),
		source("return in the middle", handle("do return ack() end local x = nil + 1"), []string{"ack"}),
		source("a string as a statement", handle("'x'"), refused),
		source("a call of a text", handle("('x')()"), failed),
		source("the guards' names by escape", handle("local t = { ['\\0concat'] = 1 } assert(t['\\0concat'] == 1)"), []string{"ack"}),
	}
}

// compilerBodies are constructs that the engine's own compiler breaks on.
func compilerBodies() []Attack {
	return []Attack{
		lua("a field of a text", `("x").field = 1`, failed),
		lua("a field of a number", `local t = {} (5).field = 1`, failed),
		lua("a constant condition in a loop", `for k in pairs({ 1, 2, 3 }) do if false then local x end end`, done),
		lua("a loop that begins with a loop that ends", `for i = 1, 10 do for k in pairs({ 1 }) do break end end`, done),
		lua("many breaks", `while true do while true do repeat break until true break end break end`, done),
		lua("a parameter that is called with itself", `local function f(g) g = (g(g)) return g end f(function(x) return x end)`, done),
		lua("100 items and a call", `local function f() return 1, 2, 3 end local t = { `+strings.Repeat("0, ", 100)+`f() } assert(#t == 103)`, done),
		lua("a method of nothing", `local x = nil x:y()`, failed),
		lua("a method of a number", `local x = 5 x:y()`, failed),
		lua("upvalues of a function that has failed", `
			local n = 0
			local function inc() n = n + 1 error("x") end
			for i = 1, 100 do pcall(inc) end
			assert(n == 100)`, done),
		lua("closures over a loop that is left", `
			local fs = {}
			for i = 1, 100 do local x = i fs[i] = function() x = x + 1 return x end if i == 50 then break end end
			local a, b, c, d, e2 = 0, 0, 0, 0, 0
			assert(fs[1]() == 2 and fs[50]() == 51 and fs[1]() == 3)`, done),
		lua("goto that makes a loop", `local i = 0 ::top:: i = i + 1 goto top`, stopped),
		lua("goto in and out", `for i = 1, 1e9 do goto continue ::continue:: end`, stopped),
	}
}
