package sandboxtest

// Ends that several kinds of attacks share.
var (
	stopped = []string{"timeout", "instructions"}
	bounded = []string{"memory", "timeout", "instructions", "error"}
	refused = []string{"load"}
	failed  = []string{"error"}
	done    = []string{"ack"}
	unsure  = []string{"error", "crash", "memory", "timeout", "instructions"}
)

// LuaAttacks are all attacks on the Lua engine.
func LuaAttacks() []Attack {
	var all []Attack
	for _, group := range [][]Attack{
		luaLoops, luaMemory, luaStrings, luaPatterns, luaEscapes, luaTampering, luaResults, luaSources(),
		luaMeta, luaErrors, luaNumbers, luaLibraries, luaWords, luaCompiler(),
	} {
		all = append(all, group...)
	}
	return all
}

// lua makes an attack of the body of its function.
func lua(name, body string, ends []string) Attack {
	return luaFile(name, "function attack(e, ctx)\n"+body+"\nreturn ack()\nend", ends)
}

// luaFile makes an attack of a script whose function `attack` attacks.
func luaFile(name, code string, ends []string) Attack {
	return Attack{Name: name, Code: []byte(luaProbe + code), Ends: ends, Probed: true}
}

// luaLoops try never to end.
var luaLoops = []Attack{
	lua("while true", `while true do end`, stopped),
	lua("repeat", `repeat until false`, stopped),
	lua("goto", `::top:: goto top`, stopped),
	lua("long for", `for i = 1, 1e15 do end`, stopped),
	lua("for that never counts", `for i = 1, 2, 0 do end`, append([]string{"ack"}, stopped...)),
	lua("loop inside pcall", `while true do pcall(function() while true do end end) end`, stopped),
	lua("loop that catches everything", `while true do pcall(error, "x") end`, bounded),
	lua("loop inside xpcall's handler", `xpcall(error, function() while true do end end)`, stopped),
	lua("loop in a handler of a stop", `
		local function again() return xpcall(function() while true do end end, function() while true do end end) end
		while true do again() end`, stopped),
	lua("endless recursion", `local function f() return 1 + f() end f()`, failed),
	lua("endless tail call", `local function f() return f() end f()`, failed),
	lua("endless tail call with arguments", `local function f(...) return f(1, ...) end f()`, unsure),
	lua("mutual recursion", `local g local function f() return g() end g = function() return f() end f()`, failed),
	lua("recursion through pcall", `local function f() return pcall(f) end f()`, append([]string{"ack"}, bounded...)),
	lua("recursion through pcall with arguments", `local function f(...) return pcall(f, 1, 2, 3, ...) end f()`, append([]string{"ack"}, unsure...)),
	lua("recursion through tostring", `local t t = setmetatable({}, {__tostring = function(x) return tostring(x) end}) tostring(t)`, failed),
	lua("recursion through __index", `local t = setmetatable({}, {}) getmetatable(t).__index = function(t, k) return t[k] end local x = t.a`, failed),
	lua("loop of __index tables", `local t = {} setmetatable(t, {__index = t}) local x = t.a`, failed),
	lua("recursion through __newindex", `local t = setmetatable({}, {__newindex = function(t, k, v) t[k] = v end}) t.a = 1`, failed),
	lua("recursion through gsub", `local function f() return (("x"):gsub("x", f)) end f()`, failed),
	lua("recursion through sort", `local function f() table.sort({2, 1}, f) end f()`, failed),
	lua("recursion through __concat", `local t t = setmetatable({}, {__concat = function(a, b) return a .. b end}) local x = t .. "x"`, failed),
	lua("recursion through __lt", `local m = {} m.__lt = function(a, b) return a < b end local x = setmetatable({}, m) < setmetatable({}, m)`, failed),
	lua("recursion through __call", `local t = setmetatable({}, {}) getmetatable(t).__call = function(self) return self() end t()`, failed),
	lua("sort with a comparison that never ends", `table.sort({3, 2, 1}, function() while true do end end)`, stopped),
	lua("sort with a comparison that lies", `local t = {} for i = 1, 50000 do t[i] = i end table.sort(t, function() return true end)`, append([]string{"ack"}, bounded...)),
	lua("gsub whose function never ends", `("x"):gsub("x", function() while true do end end)`, stopped),
	lua("gmatch on empty matches", `while true do for w in ("abc"):gmatch("x*") do end end`, bounded),
	lua("next over deleted keys", `
		local t = {}
		for i = 1, 200000 do t["k" .. i] = true end
		for i = 1, 200000 do t["k" .. i] = nil end
		while true do next(t) end`, bounded),
	lua("length of a list of holes", `local t = {} t[131000] = 1 t[131000] = nil while true do local n = #t end`, bounded),
	lua("unpack again and again", `local t = {} for i = 1, 10000 do t[i] = i end while true do unpack(t) end`, bounded),
	lua("numbers as large as they go", `local x = int("9007199254740993") while true do x = x * x end`, failed),
	lua("powers", `local x = int("9007199254740993") while true do local y = x ^ 60 end`, bounded),
	lua("long digits", `while true do tonumber(("9"):rep(1200)) end`, bounded),
}

// luaMemory try to fill the memory.
var luaMemory = []Attack{
	lua("order id as a key", `local t = {} t[50000001] = true`, done),
	lua("largest array key", `local t = {} t[67108862] = true`, done),
	lua("many sparse arrays", `local t = {} for i = 1, 1e6 do local s = {} s[131071] = true t[i] = s end`, bounded),
	lua("sparse arrays as garbage", `for i = 1, 1e9 do local s = {} s[131071] = true end`, bounded),
	lua("list without end", `local t = {} for i = 1, 1e9 do t[#t + 1] = i end`, bounded),
	lua("insert without end", `local t = {} while true do table.insert(t, 1) end`, bounded),
	lua("insert in front without end", `local t = {} while true do table.insert(t, 1, 1) end`, bounded),
	lua("keys without end", `local t = {} local i = 0 while true do i = i + 1 t["k" .. i] = i end`, bounded),
	lua("number keys without end", `local t = {} local i = 0.5 while true do i = i + 1 t[i] = i end`, bounded),
	lua("set and delete new keys", `local t = {} local i = 0 while true do i = i + 1 t[i + 0.5] = 1 t[i + 0.5] = nil end`, bounded),
	lua("tables in tables", `local t = {} while true do t = {t, t} end`, bounded),
	lua("large table constructors", `local t = {} while true do t[#t + 1] = {1,2,3,4,5,6,7,8,9,10,a=1,b=2,c=3,d=4,e=5,f=6} end`, bounded),
	lua("closures without end", `local t = {} while true do t[#t + 1] = function() return t end end`, bounded),
	lua("linked list", `local l while true do l = {next = l} end`, bounded),
	lua("memory inside pcall", `while true do pcall(function() local t = {} while true do t[#t + 1] = {} end end) end`, bounded),
	lua("varargs", `local function f(...) return select("#", ...) end local t = {} for i = 1, 16000 do t[i] = i end
		local function g(...) return f(..., ...) + g(1, ...) end g(unpack(t))`, unsure),
	lua("select over many", `local t = {} for i = 1, 16000 do t[i] = i end while true do local x = {select(2, unpack(t))} end`, bounded),
	lua("unpack too many", `local x = {unpack({}, 1, 1e8)}`, failed),
	lua("unpack an endless interval", `unpack({}, -1e308, 1e308)`, failed),
	lua("string.byte of everything", `local s = ("x"):rep(1e6) local x = {s:byte(1, -1)}`, failed),
	lua("pack too many", `local t = {} for i = 1, 16000 do t[i] = i end while true do table.pack(unpack(t)) end`, bounded),
	lua("decode many small values", `local s = "[" .. ("[],"):rep(120000) .. "[]]" local t = {} while true do t[#t + 1] = json.decode(s) end`, bounded),
	lua("decode many small values at once", `local s = "[" .. ("[],"):rep(120000) .. "[]]" json.decode("[" .. (s .. ","):rep(30) .. s .. "]")`, bounded),
	lua("decode many numbers at once", `local s = "[" .. ("1,"):rep(120000) .. "1]" json.decode("[" .. (s .. ","):rep(60) .. s .. "]")`, bounded),
	lua("decode many small objects at once", `local s = "[" .. ('{"a":{}},'):rep(120000) .. "{}]" json.decode("[" .. (s .. ","):rep(9) .. s .. "]")`, bounded),
	lua("decode deep nesting", `json.decode(("["):rep(100000))`, failed),
	lua("decode a long list", `json.decode("[" .. ("1,"):rep(200000) .. "1]")`, failed),
	lua("encode a table that holds itself", `local t = {} t.t = t json.encode(t)`, failed),
	lua("encode the same table many times over", `local t = {1} for i = 1, 60 do t = {t, t} end json.encode(t)`, bounded),
	lua("many exact integers", `local x, t = int("9007199254740993"), {} while true do x = x + 1 t[x] = x end`, bounded),
	lua("many uuids", `local t = {} while true do t[uuid()] = true end`, bounded),
	lua("upvalue boxes", `local t = {} for i = 1, 1e9 do local x = i t[#t % 100000 + 1] = function() x = x + 1 return x end end`, bounded),
}

// luaStrings try to make strings that are too large.
var luaStrings = []Attack{
	lua("doubling", `local s = "x" while true do s = s .. s end`, bounded),
	lua("doubling inside pcall", `local s = "x" while true do pcall(function() s = s .. s end) end`, bounded),
	lua("chain of ..", `local s = ("x"):rep(1e6) while true do s = s..s..s..s..s..s..s..s end`, bounded),
	lua("rep", `("x"):rep(1e10)`, bounded),
	lua("rep of rep", `local s = ("x"):rep(1e6) s = s:rep(1e6)`, bounded),
	lua("rep with a huge separator", `("x"):rep(1e5, ("y"):rep(1e6))`, bounded),
	lua("rep of nothing", `for i = 1, 100 do (""):rep(1e15) end`, done),
	lua("format with a width", `string.format("%1000000000d", 1)`, failed),
	lua("format with a precision", `string.format("%.1000000000f", 1)`, failed),
	lua("format of long texts", `local s = ("x"):rep(1e6) while true do s = string.format("%s%s", s, s) end`, bounded),
	lua("format %q", `local s = "\0" while true do s = string.format("%q", s) end`, bounded),
	lua("concat", `local s, t = ("x"):rep(1e6), {} for i = 1, 1000 do t[i] = s end table.concat(t)`, bounded),
	lua("concat with a separator", `local t = {} for i = 1, 100000 do t[i] = "" end table.concat(t, ("x"):rep(1e5))`, bounded),
	lua("concat over an endless interval", `table.concat({}, "", 1, 1e308)`, failed),
	lua("gsub that multiplies", `local s = ("x"):rep(1000) while true do s = s:gsub("x", ("y"):rep(1000)) end`, bounded),
	lua("gsub with %0 many times", `local s = ("x"):rep(1e6) s:gsub(".*", ("%0"):rep(1000))`, bounded),
	lua("gsub with a function that gives much", `local r = ("y"):rep(1e6) (("x"):rep(1e6)):gsub("x", function() return r end)`, bounded),
	lua("upper of much", `local s = ("x"):rep(1e7) while true do s:upper() end`, bounded),
	lua("reverse of much", `local s = ("x"):rep(1e7) while true do s:reverse() end`, bounded),
	lua("base64 that grows", `local s = "x" while true do s = base64.encode(s) end`, bounded),
	lua("hex that grows", `local s = "x" while true do s = hex.encode(s) end`, bounded),
	lua("hash of much", `local s = ("x"):rep(1e7) while true do crypto.sha256(s) end`, bounded),
	lua("compare long strings", `local a = ("x"):rep(1e7) local b = a .. "y" while true do local x = a < b end`, bounded),
	lua("utf8.char", `local t = {} while true do t[#t + 1] = utf8.char(65, 66, 67, 68, 69) end`, bounded),
	lua("time pattern", `time.format(0, ("%A"):rep(1e7))`, bounded),
}

// luaPatterns try to make one match last for ever.
var luaPatterns = []Attack{
	lua("optional ^ 30", `(("a"):rep(30)):find(("a?"):rep(30) .. ("a"):rep(30))`, append([]string{"ack"}, bounded...)),
	lua("stars", `(("a"):rep(3000)):find((".*"):rep(8) .. "b")`, bounded),
	lua("lazy stars", `(("a"):rep(3000)):find((".-"):rep(8) .. "b")`, bounded),
	lua("balance from everywhere", `(("("):rep(400000)):find("%b()")`, bounded),
	lua("frontier everywhere", `for i = 1, 1e6 do (("a b "):rep(1e5)):find("%f[x]y") end`, bounded),
	lua("captures that nest", `(("a"):rep(100)):match(("("):rep(33) .. "a")`, failed),
	lua("too deep", `(("a"):rep(1000)):match(("a?"):rep(1000))`, bounded),
	lua("back reference", `(("a"):rep(20000)):find("(.-)%1%1b")`, bounded),
	lua("malformed set", `("a"):find("[a")`, failed),
	lua("malformed end", `("a"):find("%")`, failed),
	lua("gsub with 200,000 slow matches", `(("ab"):rep(100000)):gsub("a-.-b-c", "")`, bounded),
	lua("gmatch that restarts", `local s = ("a"):rep(100000) while true do for x in s:gmatch(".-b") do end end`, bounded),
	lua("match inside pcall", `while true do pcall(string.find, ("a"):rep(3000), (".*"):rep(8) .. "b") end`, bounded),
}
