package sandboxtest

import "pipeline/sandbox"

// luaMeta attack through metatables.
var luaMeta = []Attack{
	lua("__eq that compares", `local m = {} m.__eq = function(a, b) return a == b end local x = setmetatable({}, m) == setmetatable({}, m)`, failed),
	lua("__le that compares", `local m = {} m.__le = function(a, b) return a <= b end local x = setmetatable({}, m) <= setmetatable({}, m)`, failed),
	lua("__unm that negates", `local m = {} m.__unm = function(a) return -a end local x = -setmetatable({}, m)`, failed),
	lua("__add that adds", `local m = {} m.__add = function(a, b) return a + b end local x = setmetatable({}, m) + 1`, failed),
	lua("__len that measures", `local m = {} m.__len = function(a) return #a end local x = #setmetatable({}, m)`, failed),
	lua("__len that lies", `local t = setmetatable({}, {__len = function() return 1e15 end}) for i = 1, #t do t[i] = nil end`, stopped),
	lua("__len that gives no number", `for i = 1, #setmetatable({}, {__len = function() return {} end}) do end`, failed),
	lua("__tostring that gives no text", `local s = tostring(setmetatable({}, {__tostring = function() return {} end}))`, append([]string{"ack"}, failed...)),
	lua("__tostring that loops", `tostring(setmetatable({}, {__tostring = function() while true do end end}))`, stopped),
	lua("__concat that grows", `local t = setmetatable({}, {__concat = function(a, b) return ("x"):rep(1e7) end}) while true do local s = t .. "x" end`, bounded),
	lua("__index chain of 10,000", `local t = {} for i = 1, 10000 do t = setmetatable({}, {__index = t}) end for i = 1, 1e6 do local x = t.nothing end`, append([]string{"error"}, bounded...)),
	lua("__newindex chain of 10,000", `local t = {} for i = 1, 10000 do t = setmetatable({}, {__newindex = t}) end t.x = 1`, failed),
	lua("loop of __newindex tables", `local t = {} setmetatable(t, {__newindex = t}) t.a = 1`, failed),
	lua("chain of __call tables", `local t = function() end for i = 1, 10000 do t = setmetatable({}, {__call = t}) end t()`, append([]string{"ack"}, failed...)),
	lua("__call with itself", `local t = {} setmetatable(t, {__call = t}) t()`, append([]string{"crash"}, failed...)),
	lua("__gc", `setmetatable({}, {__gc = function() while true do end end}) for i = 1, 1e5 do local x = {} end`, done),
	lua("__mode", `local t = setmetatable({}, {__mode = "kv"}) for i = 1, 1e9 do t[{}] = {} end`, bounded),
	lua("__metatable on a library", `setmetatable(string, {__metatable = "no"})`, failed),
	lua("__pairs", `local t = setmetatable({}, {__pairs = function() while true do end end}) for k in pairs(t) do end`, append([]string{"ack"}, stopped...)),
	lua("metatable of a metatable of itself", `local t = {} setmetatable(t, t) t.__index = function(s, k) return s[k .. "x"] end local x = t.a`, append([]string{"memory"}, failed...)),
	lua("metatable that changes while it is used", `local m = {} m.__index = function(t, k) m.__index = nil setmetatable(t, nil) return t[k] end assert(setmetatable({}, m).x == nil)`, done),
	lua("__lt that answers with tables in a sort", `local m = {} m.__lt = function() return {} end local t = {} for i = 1, 1000 do t[i] = setmetatable({}, m) end table.sort(t)`, append([]string{"ack"}, bounded...)),
	lua("__lt that removes what is sorted", `
		local t, m = {}, {} m.__lt = function() table.remove(t) return true end
		for i = 1, 1000 do t[i] = setmetatable({}, m) end table.sort(t)`, append([]string{"ack"}, bounded...)),
	lua("__index of a frozen table", `local ok = pcall(setmetatable, json, {__index = function() return "no" end}) assert(not ok and json.nothing == nil)`, done),
	lua("metamethods of the body", `setmetatable(e, {__index = function() while true do end end}) local x = e.nothing`, stopped),
	lua("the metatable of the body", `assert(getmetatable(e) == nil) assert(getmetatable(e.list) == nil)`, append([]string{"ack"}, failed...)),
	lua("the metatable of an array", `local t = json.array() assert(getmetatable(t) == nil) setmetatable(t, {__index = {}}) assert(t.x == nil)`, append([]string{"ack"}, failed...)),
	lua("rawset of the body's metatable", `rawset(e, "__index", function() return 1 end) assert(e.y == nil)`, done),
	lua("rawset and rawget of ctx", `assert(rawget(ctx, "id") == ctx.id or rawget(ctx, "id") == nil) rawset(ctx, "id", "no")`, failed),
	lua("table functions on ctx", `for _, f in ipairs{table.insert, table.remove, table.sort, json.array} do assert(not pcall(f, ctx, 1) or f == table.remove) end assert(ctx.id ~= nil)`, done),
}

// luaErrors attack with errors.
var luaErrors = []Attack{
	lua("an error that holds itself", `local t = {} t.t = t error(t)`, failed),
	lua("an error with a huge table", `local t = {} for i = 1, 1e5 do t[i] = i end error(t)`, append([]string{"memory"}, failed...)),
	lua("an error of many errors", `local function f(n) local ok, err = pcall(f, n + 1) error({err, err}) end f(1)`, bounded),
	lua("an error with a message that is a table", `error({message = setmetatable({}, {__tostring = function() while true do end end})})`, failed),
	lua("an error with a long message", `error({message = ("x"):rep(1e7)})`, failed),
	lua("an error at an absurd level", `for _, l in ipairs{-1, 0, 2, 3, 100, 1e9, 0/0, -1e300} do pcall(error, "x", l) pcall(function() error("x", l) end) end`, append([]string{"ack"}, failed...)),
	lua("an error in an error handler", `xpcall(function() error("a") end, function() error("b") end)`, failed),
	lua("an error handler that calls xpcall for ever", `local function h() return xpcall(error, h) end h()`, append([]string{"ack"}, unsure...)),
	lua("deep recursion in an error handler", `local function r() return 1 + r() end xpcall(error, r)`, failed),
	lua("deep recursion caught again and again", `local function r() return 1 + r() end while true do pcall(r) end`, bounded),
	lua("pcall of pcall of pcall", `local f = error for i = 1, 1000 do local g = f f = function() return pcall(g) end end f()`, append([]string{"ack"}, failed...)),
	lua("pcall of everything there is", `
		local all = {string, table, math, json, base64, hex, crypto, time, utf8, int}
		local values = {0, -1, 0/0, 1/0, "", ("x"):rep(1000), {}, function() end, true, json.null, ack(), ctx, e, string}
		for _, lib in ipairs(all) do for k, f in pairs(lib) do
			pcall(f)
			for _, a in ipairs(values) do pcall(f, a) for _, b in ipairs(values) do pcall(f, a, b) pcall(f, a, b, 1) end end
		end end`, append([]string{"ack"}, bounded...)),
	lua("assert with a huge message", `assert(false, ("x"):rep(1e7))`, failed),
	lua("error with a foreign place", `error("attack.go:12: runtime", 0)`, failed),
	lua("names in messages", `local t = {} t[("x"):rep(1e6)]()`, failed),
	lua("a global with a long name", `local function f() return _ENV end f()[("x"):rep(1e6)] = 1`, failed),
}

// luaNumbers attack with numbers.
var luaNumbers = []Attack{
	lua("for with NaN", `for i = 0/0, 1 do end for i = 1, 0/0 do end for i = 1, 2, 0/0 do end`, append([]string{"ack"}, stopped...)),
	lua("for to infinity", `for i = 1, 1/0 do end`, stopped),
	lua("for from minus infinity", `for i = -1/0, 1 do end`, stopped),
	lua("for with a step that vanishes", `for i = 2^53, 2^53 + 10 do end`, append([]string{"ack"}, stopped...)),
	lua("for with a tiny step", `for i = 0, 1, 1e-300 do end`, stopped),
	lua("for over text", `for i = "1", "x" do end`, failed),
	lua("an integer of many digits", `local x = int(("9"):rep(1e6))`, failed),
	lua("multiplication that grows", `local x = int("18446744073709551615") while true do x = x * x end`, failed),
	lua("addition without end", `local x = int("18446744073709551615") while true do x = x + x end`, append([]string{"error"}, bounded...)),
	lua("a power tower", `local x = int("18446744073709551615") local y = x ^ x`, failed),
	lua("a negative power", `local x = int("18446744073709551615") ^ -1`, failed),
	lua("division by zero", `local x = int.div(1, 0)`, failed),
	lua("rest by zero", `local x = int("18446744073709551615") % 0`, failed),
	lua("division of integers without end", `local x = int("9" .. ("0"):rep(1100)) while true do local y = int.div(x, 7) int.mod(x, 7) end`, bounded),
	lua("integers as keys without end", `local t, x = {}, int("18446744073709551615") while true do x = x + 1 t[x] = true end`, bounded),
	lua("comparison of long integers", `local x = int("9" .. ("0"):rep(1100)) while true do local y = x < 1e300 end`, bounded),
	lua("tonumber with odd bases", `for _, b in ipairs{-1, 0, 1, 37, 1e9, 0/0} do assert(not pcall(tonumber, "10", b)) end tonumber(("z"):rep(1000), 36)`, append([]string{"ack"}, failed...)),
	lua("random over nothing", `math.random(0/0)`, failed),
	lua("random over everything", `math.random(-1e308, 1e308)`, failed),
	lua("random seeded with nothing", `math.randomseed(0/0) math.randomseed(1/0) math.random()`, done),
	lua("ldexp", `local x = math.ldexp(1, 1e9) math.frexp(0/0) math.fmod(1, 0) math.modf(-1/0)`, done),
	lua("a huge index", `local t = {} for _, i in ipairs{2^31, 2^53, -2^53, 1e300, 131071, 131072, 131073, 0, -1, 0.5} do t[i] = i assert(t[i] == i) end`, done),
	lua("a number that JSON cannot hold", `do return {x = json.decode("1e999999")} end`, []string{"reply"}),
	lua("calculation with a number beyond doubles", `local x = json.decode("1e999999") + 1`, failed),
}

// luaLibraries attack the helpers.
var luaLibraries = []Attack{
	lua("json.decode too deep", `json.decode(("["):rep(1e5) .. ("]"):rep(1e5))`, failed),
	lua("json.decode of a long list", `json.decode("[" .. ("1,"):rep(2e5) .. "1]")`, append([]string{"memory"}, failed...)),
	lua("json.decode of many fields", `local t = {} for i = 1, 1e5 do t[i] = '"k' .. i .. '":1' end local s = "{" .. table.concat(t, ",") .. "}" while true do json.decode(s) end`, bounded),
	lua("json.decode of a long number", `json.decode(("9"):rep(1e6))`, append([]string{"ack"}, bounded...)),
	lua("json.decode of a huge exponent", `for i = 1, 1e6 do json.decode("1e" .. ("9"):rep(1000)) end`, append([]string{"ack", "error"}, bounded...)),
	lua("json.decode of broken text", `for _, s in ipairs{"\255", '"\\u', '"\\ud800"', "{", "[1", "nul", "-", "1e", "\0", '{"a":}', "[1,]"} do assert(not pcall(json.decode, s)) end`, done),
	lua("json.encode of what holds itself", `local t = {} t[1] = t json.encode(t)`, failed),
	lua("json.encode that doubles", `local t = {1} for i = 1, 60 do t = {t, t} end json.encode(t)`, bounded),
	lua("json.encode of json.encode", `local s = "\"" while true do s = json.encode(s) end`, bounded),
	lua("base64 of a lot", `local s = ("x"):rep(1e7) while true do base64.decode(base64.encode(s)) end`, bounded),
	lua("hex of a lot", `local s = ("41"):rep(5e6) while true do hex.decode(s) end`, bounded),
	lua("codecs of broken text", `for _, s in ipairs{"=", "a", "a===", "\255", "zz", "é", ("="):rep(1e5)} do pcall(base64.decode, s) pcall(hex.decode, s) end`, done),
	lua("hmac with a long key", `local s = ("x"):rep(1e7) while true do crypto.hmac_sha256(s, "") end`, bounded),
	lua("equal on long texts", `local s = ("x"):rep(1e7) while true do crypto.equal(s, s) end`, bounded),
	lua("time.format with every field", `for i = 0, 255 do pcall(time.format, 0, "%" .. string.char(i)) end`, done),
	lua("time.format of absurd times", `for _, t in ipairs{1e300, -1e300, 0/0, 1/0, 253402300800000} do assert(not pcall(time.format, t)) end`, done),
	lua("time.format with a long pattern", `local p = ("%Y"):rep(1e6) while true do time.format(0, p) end`, bounded),
	lua("time.parse with a long pattern", `local p = ("%Y"):rep(1e6) while true do pcall(time.parse, ("1234"):rep(1e6), p) end`, bounded),
	lua("time.parse of a long text", `local s = ("2026-01-31T00:00:00"):rep(1e5) while true do pcall(time.parse, s) end`, bounded),
	lua("utf8.codes over much", `local s = ("é"):rep(1e6) while true do for _ in utf8.codes(s) do end end`, bounded),
	lua("utf8 of broken text", `for _, s in ipairs{"\255", "\192\128", "\237\160\128", "\244\144\128\128", "é\255"} do assert(not utf8.valid(s)) pcall(utf8.codepoint, s, 1, -1) pcall(utf8.offset, s, 1) end`, done),
	lua("utf8.codepoint of much", `local s = ("é"):rep(1e6) local t = {utf8.codepoint(s, 1, -1)}`, failed),
	lua("utf8.char of much", `local t = {} for i = 1, 16000 do t[i] = 0x10FFFF end while true do utf8.char(unpack(t)) end`, bounded),
	lua("utf8.char of no character", `for _, c in ipairs{-1, 0x110000, 1e300, 0/0, 0xD800} do pcall(utf8.char, c) end`, done),
	lua("utf8.len of much", `local s = ("é"):rep(5e6) while true do utf8.len(s) end`, bounded),
	lua("string.char of much", `local t = {} for i = 1, 16000 do t[i] = 65 end while true do string.char(unpack(t)) end`, bounded),
	lua("string.byte of absurd ranges", `local s = "abc" assert(select("#", s:byte(-1e300, 1e300)) == 3) s:sub(-1e300, 1e300) s:byte(0/0)`, append([]string{"ack"}, failed...)),
	lua("select of absurd counts", `for _, n in ipairs{0, -5, 1e300, -1e300} do pcall(select, n, 1, 2) end pcall(select, 0/0, 1)`, done),
	lua("250,000 arguments", `local t = {} for i = 1, 130000 do t[i] = i end local function f(...) return select("#", ...) end f(unpack(t), unpack(t))`, failed),
	lua("arguments that double", `local function f(...) return f(..., ...) end f(1, 2, 3)`, unsure),
	lua("table.concat of a hole", `table.concat({1, nil, 3}, "", 1, 3)`, failed),
	lua("table.insert at absurd places", `for _, i in ipairs{-1, 0, 5, 1e300, 0/0} do assert(not pcall(table.insert, {1, 2}, i, 3)) end`, done),
	lua("table.remove while it is walked", `local t = {} for i = 1, 1000 do t[i] = i end for k in pairs(t) do table.remove(t, 1) t["x" .. k] = k end`, append([]string{"ack"}, bounded...)),
	lua("a table that grows while it is walked", `local t = {a = 1} for k, v in pairs(t) do t[k .. "x"] = v end`, append([]string{"ack"}, bounded...)),
	lua("next with a foreign key", `next({a = 1}, "nothing") next({}, 5) next({1, 2}, 1e300) next({}, 0/0)`, append([]string{"ack"}, failed...)),
	lua("sort of a huge list", `local t = {} for i = 1, 131000 do t[i] = (i * 7919) % 131071 end while true do table.sort(t, function(a, b) return a > b end) end`, bounded),
	lua("sort that sorts", `local t = {3, 2, 1} local function less(a, b) table.sort(t, less) return a < b end table.sort(t, less)`, failed),
	lua("sort of everything", `table.sort({1, "a", {}, true, ack, json.null})`, failed),
	lua("maxn of much", `local t = {} for i = 1, 100000 do t[i + 0.5] = i end while true do table.maxn(t) end`, bounded),
	lua("many uuids at once", `local t = {} for i = 1, 1e7 do t[1] = uuid() end`, bounded),
	lua("texts as keys without end", `local t, s = {}, ("x"):rep(1000) for i = 1, 1e7 do t[s .. i] = true end`, bounded),
	lua("a key of 20 MB", `local t, s = {}, ("x"):rep(2e7) while true do t[s] = 1 end`, bounded),
}

// luaWords write too much, or what nobody should read.
var luaWords = []Attack{
	granted("a flood of log lines", `for i = 1, 1e9 do log.info("x") end`, bounded),
	granted("long log lines", `while true do log.info(("x"):rep(1e6), { a = ("y"):rep(1e6) }) end`, bounded),
	granted("a log line of what holds itself", `local t = {} t.t = t log.info("x", t)`, failed),
	granted("a log line of everything", `log.info(e, { f = tostring(attack), c = tostring(ctx), s = tostring(string), n = json.null }) for _, v in ipairs{1, true, {}, "\255\0\27[2J"} do log.info(v) end`, done),
	granted("a log line of a function", `log.info(attack)`, failed),
	granted("a log line with fields that never end", `local t = setmetatable({}, {__index = function() while true do end end}) log.info("x", t)`, done),
	lua("a reply of 100,000 items", `local t = {} for i = 1, 100000 do t[i] = { i } end do return t end`, append([]string{"reply"}, bounded...)),
	lua("a reply of a million items", `local t = {} for i = 1, 1e6 do t["k" .. i] = i end do return t end`, append([]string{"reply"}, bounded...)),
	lua("a reply with a long key", `do return reply(1, { key = ("k"):rep(1e7) }) end`, append([]string{"reply"}, bounded...)),
	lua("a reply with long headers", `local h = {} for i = 1, 60 do h["h" .. i] = ("x"):rep(1e6) end do return reply(1, { headers = h }) end`, append([]string{"reply"}, bounded...)),
	lua("a reply with a broken key", `do return reply(1, { key = "\255\0\r\n", headers = { ["\r\n"] = "\0" } }) end`, append([]string{"reply"}, failed...)),
	lua("a reply with a field of 20 MB", `do return { [("k"):rep(2e7)] = 1 } end`, append([]string{"reply", "result"}, bounded...)),
	lua("a reply of functions in tables", `do return { a = { b = { c = ack } } } end`, []string{"result"}),
	lua("a reply that is a library", `do return string end`, []string{"result"}),
	lua("a reply that is ctx", `do return ctx end`, []string{"reply"}),
	lua("a reply with every address", `do return { tostring({}), tostring(attack), tostring(ctx), tostring(json.null), tostring(ack()), tostring(int("9007199254740993")),
		string.format("%s %s %q", {}, attack, "x"), json.encode({ tostring(string) }), select(2, pcall(error, {})) } end`, []string{"reply"}),
	lua("a wait with odd units", `for _, s in ipairs{"", "5", "s", "5x", "-1s", "1e9s", "d", "1d1d", "5 s", ("9"):rep(1000) .. "s", "1d" .. ("9"):rep(30) .. "h"} do assert(not pcall(retry, { after = s })) end`, done),
}

// granted is an attack that has the log grant.
func granted(name, body string, ends []string) Attack {
	a := lua(name, body, ends)
	a.Grants = []sandbox.Grant{{Kind: "log"}}
	return a
}
