package sandboxtest

import (
	"fmt"
	"strings"
)

// luaEscapes try to reach what is outside of the handler. Each checks that the
// way is closed and attacks with error if it is not, so "ack" is the good end
// of those that look.
var luaEscapes = []Attack{
	lua("absent libraries", `
		for _, name in ipairs{"io", "os", "debug", "coroutine", "package", "require", "module", "load", "loadstring",
			"loadfile", "dofile", "setfenv", "getfenv", "newproxy", "collectgarbage", "print", "_G", "channel", "jit", "bit"} do
			assert(rawget({}, name) == nil)
		end
		assert(io == nil and os == nil and debug == nil and coroutine == nil and package == nil and require == nil)
		assert(load == nil and loadstring == nil and loadfile == nil and dofile == nil and module == nil)
		assert(setfenv == nil and getfenv == nil and newproxy == nil and collectgarbage == nil and print == nil and _G == nil)`, done),
	lua("open a file", `io.open("/etc/passwd")`, failed),
	lua("run a command", `os.execute("id")`, failed),
	lua("load code", `loadstring("return 1")()`, failed),
	lua("read a file through dofile", `dofile("/etc/passwd")`, failed),
	lua("require", `require("os")`, failed),
	lua("bytecode", `string.dump(attack)`, failed),
	lua("addresses by tostring", `
		for _, x in ipairs{tostring({}), tostring(attack), tostring(json.null), tostring(ack()), tostring(pairs), tostring(ctx),
			string.format("%s", {}), tostring(string)} do
			assert(not x:find("0x") and not x:find("%d"), x)
		end`, done),
	lua("addresses by %p", `string.format("%p", {})`, failed),
	lua("addresses by %v", `string.format("%v", {})`, failed),
	lua("addresses by error", `error({})`, failed),
	lua("addresses by error of a function", `error(attack)`, failed),
	lua("addresses by a table as a key", `do return {[{}] = 1} end`, []string{"result"}),
	lua("metatable of strings", `assert(getmetatable("") == nil) setmetatable("", {})`, failed),
	lua("metatable of json.null", `assert(getmetatable(json.null) == nil) json.null.x = 1`, failed),
	lua("metatable of an outcome", `assert(getmetatable(ack()) == nil) local x = ack().kind`, failed),
	lua("metatable of ctx", `assert(getmetatable(ctx) == nil) setmetatable(ctx, {})`, failed),
	lua("metatable of an exact integer", `local x = int("9007199254740993") assert(getmetatable(x) == nil) x.y = 1`, failed),
	lua("metatable of a library", `assert(getmetatable(string) == nil) setmetatable(string, {})`, failed),
	lua("the guard's name", `local x = {} for k in pairs(x) do end assert(rawget({}, "\0concat") == nil)`, done),
	lua("what pairs gives of a library", `local f, t = pairs(string) t.rep = nil`, failed),
	lua("ungranted log", `log.info("x")`, failed),
	lua("ungranted http", `http.get("http://127.0.0.1/")`, failed),
	lua("the clock", `assert(os == nil) assert(time.now == nil and ctx.now_ms > 0)`, done),
}

// unchanged is the end of a tampering script: it fails when what it did has
// changed anything for itself.
const unchanged = `
	assert(("abc"):upper() == "ABC" and string.upper("a") == "A" and #"abc" == 3 and "a" .. "b" == "ab")
	assert(table.concat({1, 2}) == "12" and math.floor(1.5) == 1 and tostring(1) == "1" and type("") == "string")
	assert(marker == nil and string.marker == nil and math.marker == nil and ("x").marker == nil)`

// tamper tries each statement inside pcall and then looks whether any of them
// worked.
func tamper(name, statements string) Attack {
	var b strings.Builder
	for s := range strings.SplitSeq(strings.TrimSpace(statements), "\n") {
		fmt.Fprintf(&b, "pcall(function() %s end)\n", s)
	}
	return lua(name, b.String()+unchanged, done)
}

// luaTampering try to change what other calls see.
var luaTampering = []Attack{
	tamper("libraries", `
		string.upper = function() return "no" end
		string.marker = true
		rawset(string, "marker", true)
		rawset(string, "upper", nil)
		table.concat = nil
		math.floor = nil
		table.insert(string, "marker")
		table.sort(string)
		table.remove(string)
		json.array(string)
		for k in pairs(string) do string[k] = nil end
		setmetatable(string, {__index = function() return function() return "no" end end})`),
	tamper("globals", `
		marker = true
		tostring = nil
		type = function() return "no" end
		handle, attack = nil, nil
		ack = function() return retry() end
		reply, dead = nil, nil
		_G.marker = true
		_ENV.marker = true`),
	tamper("string metatable", `
		getmetatable("").__index = {}
		setmetatable("", {__index = {upper = function() return "no" end}})
		("").marker = true
		("").upper = nil
		string.__index = nil`),
	tamper("guards", `
		local t = {__concat = function() return "no" end, __len = function() return 9 end, __eq = function() return true end} setmetatable(string, t)
		int.add = nil
		json.null = nil
		utf8.charpattern = ""
		math.pi = 3`),
	tamper("ctx", `
		ctx.id = "no"
		ctx.marker = true
		rawset(ctx, "id", "no")
		setmetatable(ctx, {})
		table.insert(ctx, 1)
		ctx.headers.marker = true assert(ctx.headers.marker == true)
		for k in pairs(ctx) do ctx[k] = nil end`),
	luaFile("a global table of the script", `
config = {rate = 3, inner = {list = {1, 2}}}
function attack(e)
  assert(not pcall(function() config.rate = 4 end))
  assert(not pcall(function() config.new = 4 end))
  assert(not pcall(function() config.inner.list[1] = 4 end))
  assert(not pcall(rawset, config, "rate", 4))
  assert(not pcall(table.insert, config.inner.list, 4))
  assert(config.rate == 3 and #config.inner.list == 2 and config.inner.list[1] == 1)
  return ack()
end`, done),
	{Name: "globals with luck at load", Ends: refused, Code: []byte("string = {}\nfunction handle() return ack() end")},
	{Name: "built-in functions at load", Ends: refused, Code: []byte("function tostring() return 'no' end\nfunction handle() return ack() end")},
	{Name: "library function at load", Ends: refused, Code: []byte("function string.upper() return 'no' end\nfunction handle() return ack() end")},
}

// luaResults try to hurt with what they return.
var luaResults = []Attack{
	lua("nothing", `do return end`, []string{"result"}),
	lua("a function", `do return ack end`, []string{"result"}),
	lua("a value that holds itself", `local t = {} t.t = t do return t end`, []string{"result"}),
	lua("a value too deep", `local t = {} for i = 1, 1000 do t = {t} end do return t end`, []string{"result", "memory"}),
	lua("a value far too deep", `local t = {} for i = 1, 1e5 do t = {t} end do return t end`, []string{"result", "memory", "timeout"}),
	lua("a value many times over", `local t = {1} for i = 1, 60 do t = {t, t} end do return t end`, []string{"memory", "timeout", "instructions", "result"}),
	lua("infinity", `do return {x = math.huge} end`, []string{"result"}),
	lua("not a number", `do return {x = 0/0} end`, []string{"result"}),
	lua("a list with holes", `do return {[1] = 1, [3] = 3} end`, []string{"result"}),
	lua("list and object", `do return {1, a = 1} end`, []string{"result"}),
	lua("replies and values", `do return reply(1), 2 end`, []string{"result"}),
	lua("ten thousand replies", `local t = {} for i = 1, 10000 do t[i] = reply(i) end do return unpack(t) end`, append([]string{"reply", "result"}, bounded...)),
	lua("a huge reason", `do return dead(("x"):rep(1e6)) end`, []string{"dead"}),
	lua("a negative wait", `do return retry{after = "-5s"} end`, failed),
	lua("a wait beyond time", `do return retry{after = "999999999999999d"} end`, failed),
	lua("a bare number to wait", `do return retry{after = 5} end`, failed),
	lua("a misspelt option", `do return retry{aftre = "5s"} end`, failed),
	lua("a thousand headers", `local h = {} for i = 1, 1000 do h["h" .. i] = "x" end do return reply(1, {headers = h}) end`, failed),
	lua("a huge error", `error(("x"):rep(1e7))`, failed),
	lua("an error that is a table with a metatable", `error(setmetatable({}, {__tostring = function() while true do end end}))`, failed),
	lua("an error with broken text", `error("\255\254\0\27[31m")`, failed),
	lua("an __index on the result", `do return setmetatable({}, {__index = function() while true do end end}) end`, []string{"reply"}),
}

// luaSources are scripts that hurt when they are read.
func luaSources() []Attack {
	handle := func(body string) string { return "function handle()\n" + body + "\nreturn ack()\nend" }
	return []Attack{
		source("too long", strings.Repeat("-- x\n", 1<<18), refused),
		source("parentheses", handle("local x = "+strings.Repeat("(", 100000)+"1"+strings.Repeat(")", 100000)), refused),
		source("nested tables", handle("local x = "+strings.Repeat("{", 100000)+strings.Repeat("}", 100000)), refused),
		source("nested blocks", handle(strings.Repeat("do ", 100000)+strings.Repeat(" end", 100000)), refused),
		source("nested functions", handle(strings.Repeat("local function f() ", 50000)+strings.Repeat(" end", 50000)), refused),
		source("nested calls", handle("local x = "+strings.Repeat("f(", 100000)+strings.Repeat(")", 100000)), refused),
		source("unary operators", handle("local x = "+strings.Repeat("not ", 200000)+"1"), refused),
		source("minus", handle("local x = "+strings.Repeat("- ", 300000)+"1"), refused),
		source("sum", handle("local x = "+strings.Repeat("1+", 400000)+"1"), refused),
		source("power", handle("local x = "+strings.Repeat("1^", 400000)+"1"), refused),
		source("and", handle("local x = "+strings.Repeat("a and ", 150000)+"1"), refused),
		source("index chain", handle("local x = a"+strings.Repeat(".b", 400000)), refused),
		source("call chain", handle("f"+strings.Repeat("()", 400000)), refused),
		source("elseif chain", handle("if a then "+strings.Repeat("elseif a then ", 60000)+"end"), refused),
		source("many locals", handle(strings.Repeat("local a = 1 ", 70000)), refused),
		source("many arguments", handle("f("+strings.Repeat("1,", 400000)+"1)"), refused),
		source("many constants", handle("local x\n"+manyConstants(130000)), []string{"load", "ack"}),
		source("long table", handle("local x = {"+strings.Repeat("1,", 400000)+"}"), []string{"load", "ack", "error"}),
		source("unterminated string", handle("local x = \""+strings.Repeat("a", 500000)), refused),
		source("unterminated comment", handle("--[["+strings.Repeat("a", 500000)), refused),
		source("binary", "\x1bLua\x51\x00\x01\x04\x08", refused),
		source("zero bytes", strings.Repeat("\x00", 100000), refused),
		source("endless load", "while true do end\nfunction handle() end", refused),
		source("memory at load", "local t = {} while true do t[#t+1] = {} end\nfunction handle() end", refused),
		source("recursion at load", "local function f() return 1 + f() end f()\nfunction handle() end", refused),
		source("an inexact number", handle("local x = 18446744073709551615"), refused),
		source("many upvalues", manyUpvalues(), []string{"load", "ack"}),
		source("labels", handle(manyLabels(20000)), []string{"load", "ack"}),
		source("no function", "local x = 1", refused),
		source("a hidden name", "local \x00concat = 1", refused),
	}
}

func manyConstants(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "x=%d ", i)
	}
	return b.String()
}

func manyUpvalues() string {
	var b strings.Builder
	b.WriteString("function handle()\n")
	for level := range 3 {
		for i := range 150 {
			fmt.Fprintf(&b, "local v%d_%d = 1 ", level, i)
		}
		b.WriteString("\nlocal function f()\n")
	}
	for level := range 3 {
		for i := range 150 {
			fmt.Fprintf(&b, "v%d_%d = 2 ", level, i)
		}
	}
	b.WriteString(strings.Repeat("end f() ", 3) + "return ack() end")
	return b.String()
}

func manyLabels(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "goto l%d ::l%d:: ", i, i)
	}
	return b.String()
}
