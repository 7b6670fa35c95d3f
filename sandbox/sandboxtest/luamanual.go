package sandboxtest

// do is the body of a function and the JSON of what it returns.
func do(code, want string) Case { return Case{Expr: "(function() " + code + " end)()", Want: want} }

// luaManual follows sections 2.1 to 2.8 of the Lua 5.1 reference manual, a case
// for each statement that a handler can see. Sections 5.1, 5.4, 5.5 and 5.6 are
// in luacases.go.
var luaManual = []Case{
	// 2.1 Lexical conventions
	do(`local _a1, B = 1, 2 return _a1 + B`, `3`),
	do(`local And, END = 1, 2 return And + END`, `3`),
	{Expr: `{"a\a\b\f\n\r\t\v\\\"\'z"}`, Want: `["a\u0007\b\f\n\r\t\u000b\\\"'z"]`},
	{Expr: `"\104\105\0106" == "hi\n6"`, Want: `true`},
	{Expr: `'it\'s' .. "\"quoted\""`, Want: `"it's\"quoted\""`},
	{Expr: "\"a\\\nb\"", Want: `"a\nb"`},
	{Expr: "[[\nfirst]] .. [==[ a]]b ]==]", Want: `"first a]]b "`},
	{Expr: `{3, 3.0, 3.1416, 314.16e-2, 0.31416E1, 0xff, 0x56}`, Want: `[3,3,3.1416,3.1416,3.1416,255,86]`},
	do("-- a comment\nlocal x = 1 --[[ a long\none ]] local y = --[==[ ]] ]==] 2\nreturn x + y", `3`),
	// 2.2 Values and types
	{Expr: `{nil == false, not nil, not false, not 0, not ""}`, Want: `[false,true,true,false,false]`},
	{Expr: `#"a\0b"`, Want: `3`},
	do(`local t = {} t[1.5] = "a" t[true] = "b" t["1"] = "c" t[1] = "d" return { t[1.5], t[true], t["1"], t[1] }`, `["a","b","c","d"]`),
	do(`local t = { x = 1 } return t.x == t["x"]`, `true`),
	do(`local a = { n = 1 } local b = a b.n = 2 return a.n`, `2`),
	{Expr: `{"10" + 1, "10" * "2", 10 .. 20, -"2", "0x10" + 0}`, Want: `[11,20,"1020",-2,16]`},
	{Expr: `"abc" + 1`, Fails: "no number"},
	// 2.3 Variables
	do(`local x = 10 do local x = x x = x + 1 end return x`, `10`),
	do(`local x return x == nil`, `true`),
	{Expr: `undeclared == nil`, Want: `true`},
	// 2.4.2 and 2.4.3 Chunks, blocks and assignment
	do(`local a, b, c = 1, 2 return { a, b, c == nil }`, `[1,2,true]`),
	do(`local a, b = 1, 2, 3 return { a, b }`, `[1,2]`),
	do(`local function f() return 1, 2, 3 end local a, b, c, d = f() return { a, b, c, d == nil }`, `[1,2,3,true]`),
	do(`local function f() return 1, 2, 3 end local a, b, c = f(), 10 return { a, b, c == nil }`, `[1,10,true]`),
	do(`local i, a = 3, {} i, a[i] = i + 1, 20 return { i, a[3], a[4] == nil }`, `[4,20,true]`),
	do(`local x, y = 1, 2 x, y = y, x return { x, y }`, `[2,1]`),
	// 2.4.4 Control structures
	do(`local n = 0 while n < 3 do n = n + 1 end return n`, `3`),
	do(`local n = 0 repeat local done = n >= 2 n = n + 1 until done return n`, `3`),
	do(`if nil then return 1 elseif false then return 2 elseif 0 then return 3 else return 4 end`, `3`),
	do(`for i = 1, 10 do if i == 4 then return i end end`, `4`),
	do(`local n = 0 for i = 1, 3 do for j = 1, 3 do if j == 2 then break end n = n + 1 end end return n`, `3`),
	do(`do return "early" end`, `"early"`),
	// 2.4.5 The for statement
	do(`local n, calls = 0, 0 local function limit() calls = calls + 1 return 3 end for i = 1, limit() do n = n + i end return { n, calls }`, `[6,1]`),
	do(`local t = {} for i = 10, 1, -4 do t[#t + 1] = i end return t`, `[10,6,2]`),
	do(`local n = 0 for i = 1, 0 do n = n + 1 end for i = 5, 5 do n = n + 10 end return n`, `10`),
	do(`local t = {} for i = 1, 3 do local j = i i = i * 10 t[#t + 1] = j + i end return t`, `[11,22,33]`),
	do(`local fs = {} for i = 1, 2 do fs[i] = function() return i end end return { fs[1](), fs[2]() }`, `[1,2]`),
	do(`local function it(s, c) if c < s then return c + 1, c * 10 end end local t = {} for i, v in it, 3, 0 do t[#t + 1] = i .. "=" .. v end return t`, `["1=0","2=10","3=20"]`),
	do(`local n = 0 for i = 1, 2, 0 do n = n + 1 end return n`, `0`),
	{Expr: `(function() for i = "a", 2 do end end)()`, Fails: "must be a plain number"},
	// 2.5.1 Arithmetic
	{Expr: `{7 + 3, 7 - 3, 7 * 3, 7 / 2, 7 % 3, 2 ^ 10, -7}`, Want: `[10,4,21,3.5,1,1024,-7]`},
	{Expr: `{5 % -3, -5 % 3, -5 % -3, 5.3 % 2 - 1.3 < 1e-9}`, Want: `[-1,1,-2,true]`},
	{Expr: `{1 / 0 == math.huge, -1 / 0 == -math.huge, 0 / 0 ~= 0 / 0}`, Want: `[true,true,true]`},
	// 2.5.2 Relations
	{Expr: `{1 == 1.0, "1" == 1, "a" == "a", {} == {}, 1 ~= 2}`, Want: `[true,false,true,false,true]`},
	do(`local a = {} local b = a return a == b`, `true`),
	{Expr: `{1 < 2, 2 <= 2, "a" < "b", "a" < "B", "" < "a", "a" < "a\0"}`, Want: `[true,true,true,false,true,true]`},
	{Expr: `{} < {}`, Fails: "attempt to compare"},
	{Expr: `1 < "2"`, Fails: "attempt to compare"},
	do(`local t = { ["1"] = "text", [1] = "number" } return { t["1"], t[1] }`, `["text","number"]`),
	// 2.5.3 Logic
	{Expr: `{10 or 20, nil or "a", (nil and 10) == nil, (false or nil) == nil, 10 and 20, false and error()}`, Want: `[10,"a",true,true,20,false]`},
	do(`local n = 0 local function f() n = n + 1 return true end local _ = true or f() local _ = false and f() return n`, `0`),
	// 2.5.4 and 2.5.5 Concatenation and length
	{Expr: `"a" .. "b" .. 1 .. 2.5`, Want: `"ab12.5"`},
	{Expr: `{#"", #"abc", #{}, #{1, 2, 3}, #{n = 1}}`, Want: `[0,3,0,3,0]`},
	// 2.5.6 Precedence
	{Expr: `{2 + 3 * 4, (2 + 3) * 4, -2 ^ 2, 2 ^ 3 ^ 2, not nil == true, 1 .. 2 == "12", 5 - 2 - 1}`, Want: `[14,20,-4,512,true,true,2]`},
	{Expr: `{1 + 1 < 3 and 2 or 3, 1 < 2 == true, "a" .. "b" < "b"}`, Want: `[2,true,true]`},
	// 2.5.7 Table constructors
	do(`local function f(x) return x .. "" end local t = { [f(1)] = "g", "x", "y", x = 1, f(2), [30] = 23, 45 } return { t["1"], t[1], t[2], t.x, t[3], t[30], t[4] }`, `["g","x","y",1,"2",23,45]`),
	do(`local function f() return 1, 2, 3 end return { #{ f() }, #{ f(), f() }, #{ (f()) }, #{ f(), 5 } }`, `[3,4,1,2]`),
	{Expr: `{1, 2; 3,}`, Want: `[1,2,3]`},
	// 2.5.8 Function calls
	do(`local t = { n = 5 } function t:add(x) return self.n + x end return { t:add(1), t.add(t, 2), t.add({ n = 1 }, 3) }`, `[6,7,4]`),
	do(`local function f(t) return t.x or #t end return { f{ x = 1 }, f"four", f'one', f[[two]] }`, `[1,4,3,3]`),
	do(`local function f() return 1, 2 end return { select("#", f()), select("#", (f())), select("#", f(), f()) }`, `[2,1,3]`),
	do(`local function sum(n, s) if n == 0 then return s end return sum(n - 1, s + n) end return sum(200, 0)`, `20100`),
	// 2.5.9 Function definitions
	do(`local function f(a, b) return a, b end return { select("#", f(3)), (select(2, f(3))) == nil, select(2, f(3, 4, 5)) }`, `[2,true,4]`),
	do(`local function g(...) return select("#", ...), ... end return { g(), (g(1)), (select("#", g(1, nil, 3))) }`, `[0,1,4]`),
	do(`local function r(...) local a, b = ... return a, b end return { r(1, 2, 3) }`, `[1,2]`),
	do(`local fact fact = function(n) if n == 0 then return 1 end return n * fact(n - 1) end return fact(5)`, `120`),
	do(`local a = { b = {} } function a.b.f(x) return x end function a.b:g(x) return self == a.b and x end return { a.b.f(1), a.b:g(2) }`, `[1,2]`),
	// 2.6 Visibility
	do(`local x = 10 local y do local x = x + 1 y = x end return { x, y }`, `[10,11]`),
	do(`local t, x = {}, 20 for i = 1, 3 do local y = 0 t[i] = function() y = y + 1 return x + y end end return { t[1](), t[1](), t[2]() }`, `[21,22,21]`),
	// 2.7 Errors
	do(`local ok, e = pcall(error, { code = 2 }) return { ok, e.code }`, `[false,2]`),
	do(`local ok, e = pcall(function() error("x", 0) end) return { ok, e }`, `[false,"x"]`),
	// 2.8 Metatables
	do(`local m = {} for _, op in ipairs{ "add", "sub", "mul", "div", "mod", "pow" } do m["__" .. op] = function(a, b) return op end end local v = setmetatable({}, m) return { v + 1, 1 - v, v * v, v / 1, v % 1, v ^ 1 }`, `["add","sub","mul","div","mod","pow"]`),
	do(`local v = setmetatable({}, { __unm = function() return "unm" end, __concat = function(a, b) return type(a) .. type(b) end }) return { -v, v .. "a", "a" .. v, 1 .. v }`, `["unm","tablestring","stringtable","numbertable"]`),
	do(`local m = { __eq = function() return true end, __lt = function() return true end, __le = function() return false end } local a, b = setmetatable({}, m), setmetatable({}, m) return { a == b, a ~= b, a < b, a <= b, a > b, a == 1 }`, `[true,false,true,false,true,false]`),
	do(`local t = setmetatable({ a = 1 }, { __index = { b = 2 } }) local u = setmetatable({}, { __index = function(_, k) return k .. "!" end }) return { t.a, t.b, t.c == nil, u.x, rawget(u, "x") == nil }`, `[1,2,true,"x!",true]`),
	do(`local log = {} local t = setmetatable({ a = 1 }, { __newindex = function(t, k, v) rawset(t, k, v * 2) end }) t.a = 5 t.b = 5 return { t.a, t.b }`, `[5,10]`),
	do(`local t = setmetatable({}, { __call = function(self, a, b) return a + b end }) return t(1, 2)`, `3`),
	do(`local t = setmetatable({}, { __metatable = "no" }) return { getmetatable(t), (pcall(setmetatable, t, {})) }`, `["no",false]`),
	do(`return tostring(setmetatable({}, { __tostring = function() return "shown" end }))`, `"shown"`),
}

// luaDifferent are the deliberate differences from Lua 5.1 that docs/sandbox.md
// lists, each held to what is written there.
var luaDifferent = []Case{
	{Expr: `{coroutine == nil, debug == nil, io == nil, os == nil, require == nil, loadstring == nil, print == nil, _G == nil, string.dump == nil}`, Want: `[true,true,true,true,true,true,true,true,true]`},
	{Expr: `{tostring({}), tostring(pcall), 1 / 3}`, Want: `["table","function",0.3333333333333333]`},
	{Expr: `{tostring(-0.0), 0 .. "", tostring(0 * -1)}`, Want: `["0","0","0"]`},
	{Expr: `{("THE (quick) fox"):find("%f[%a]%a+", 2), ("ab"):rep(2, "-"), table.pack(1, nil).n, rawlen({1}), math.log(8, 2)}`, Want: `[6,"ab-ab",2,1,3]`},
	{Expr: `{select(2, pcall(assert, false, "no")), (xpcall(function(a) return a end, error, 1))}`, Want: `["h.lua:2: no",true]`},
	{Expr: `{("é"):upper(), ("É"):find("%a") == nil}`, Want: `["é",true]`},
	{Expr: `#setmetatable({}, {__len = function() return 7 end})`, Want: `7`},
	do(`local t = {3, 1, 2} table.sort(t, function() return true end) return #t`, `3`),
	{Expr: `table.insert({1}, 3, 2)`, Fails: "outside of the list"},
	do(`local function deep(n) if n == 0 then return 0 end return 1 + deep(n - 1) end return { deep(200), (pcall(deep, 300)) }`, `[200,false]`),
	do(`local function nested(n) if n == 0 then return 0 end local _, v = pcall(nested, n - 1) return v end return { nested(40), type(nested(60)) }`, `[0,"string"]`),
	do(`local function swap(a, b) return b, a end goto out do return 1 end ::out:: return { swap(1, 2) }`, `[2,1]`),
}
