package sandboxtest

// LuaPrograms are honest handlers that a stock engine or a careless defence
// breaks.
var LuaPrograms = []Program{
	{
		Name: "order ids as table keys",
		Code: `
function handle(e)
  local seen, sum = {}, 0
  for _, id in ipairs(e.orders) do seen[id] = (seen[id] or 0) + 1 end
  for id, n in pairs(seen) do sum = sum + n end
  return { sum = sum, first = seen[50000001], list = #seen }
end`,
		Body: `{"orders":[50000001,50000002,50000001,67108862,1700000000123]}`,
		Want: `{"first":2,"list":0,"sum":5}`,
	},
	{
		Name: "exact ids as table keys",
		Code: `
function handle(e)
  local seen = {}
  for _, id in ipairs(e.ids) do seen[id] = (seen[id] or 0) + 1 end
  return { a = seen[int("18446744073709551615")], b = seen[e.ids[2]], same = e.ids[1] == e.ids[3], other = e.ids[1] == e.ids[2] }
end`,
		Body: `{"ids":[18446744073709551615,18446744073709551614,18446744073709551615]}`,
		Want: `{"a":2,"b":1,"other":false,"same":true}`,
	},
	{
		Name: "ids of 2^63 and beyond",
		Code: `
function handle(e)
  local id = e.id
  return {
    as_is = id, next = id + 1, text = "id-" .. id, formatted = string.format("%d", id), shown = tostring(id),
    twice = id * 2, half = id / 2, rest = id % 10, json = json.encode({ id }), back = json.decode("[9223372036854775808]")[1],
    larger = id > 1000000, smaller = id < 1e30, equal = id == int("9223372036854775808"), kind = type(id),
  }
end`,
		Body: `{"id":9223372036854775808}`,
		Want: `{"as_is":9223372036854775808,"back":9223372036854775808,"equal":true,"formatted":"9223372036854775808","half":4611686018427387904,"json":"[9223372036854775808]","kind":"number","larger":true,"next":9223372036854775809,"rest":8,"shown":"9223372036854775808","smaller":true,"text":"id-9223372036854775808","twice":18446744073709551616}`,
	},
	{
		Name: "exact integers that become small",
		Code: `
function handle(e)
  local t = { "a", "b" }
  return { low = e.id - int("18446744073709551614"), item = t[e.id - int("18446744073709551614")], neg = -e.id, max = math.max(e.id, 5), sum = int.add(9007199254740991, 5) }
end`,
		Body: `{"id":18446744073709551615}`,
		Want: `{"item":"a","low":1,"max":18446744073709551615,"neg":-18446744073709551615,"sum":9007199254740996}`,
	},
	{
		Name: "concat of 100,000 items",
		Code: `
function handle()
  local t = {}
  for i = 1, 100000 do t[i] = i end
  local s = table.concat(t, ",")
  return { length = #s, tail = s:sub(-6) }
end`,
		Want: `{"length":588894,"tail":"100000"}`,
	},
	{
		Name: "gsub with 200,000 matches",
		Code: `
function handle()
  local s, n = (("ab "):rep(200000)):gsub("a", "xy")
  local count = 0
  local _, m = s:gsub("%w+", function(w) count = count + #w end)
  return { length = #s, matches = n, words = m, letters = count }
end`,
		Want: `{"length":800000,"letters":600000,"matches":200000,"words":200000}`,
	},
	{
		Name: "empty arrays stay arrays",
		Code: `function handle(e) return { kept = e.list, made = json.array(), object = {}, marked = json.array({}), null = e.null, absent = e.none } end`,
		Body: `{"list":[],"null":null}`,
		Want: `{"kept":[],"made":[],"marked":[],"null":null,"object":{}}`,
	},
	{
		Name: "an array that a script empties",
		Code: `function handle(e) table.remove(e.list) return { list = e.list } end`,
		Body: `{"list":[1]}`,
		Want: `{"list":[]}`,
	},
	{
		Name: "the body passes through whole",
		Code: `function handle(e) e.seen = true return e end`,
		Body: `{"b":{"x":[1,2.5,-3e-7,"é\u0000",true,null,{}]},"a":18446744073709551616,"z":1e21,"m":0.1}`,
		Want: `{"a":18446744073709551616,"b":{"x":[1,2.5,-3e-7,"é\u0000",true,null,{}]},"m":0.1,"seen":true,"z":1e+21}`,
	},
	{
		Name: "the body is an ordinary table",
		Code: `
function handle(e)
  local names = {}
  for k in pairs(e) do names[#names + 1] = k end
  table.sort(names)
  e.a = nil
  local was = rawget(e, "b")
  e.d = e.nested
  return { names = names, a = e.a == nil, was = was, same = e.d == e.nested, next = next({}) == nil, meta = getmetatable(e) == nil, kind = type(e) }
end`,
		Body: `{"a":1,"b":2,"nested":{"x":1}}`,
		Want: `{"a":true,"kind":"table","meta":true,"names":["a","b","nested"],"next":true,"same":true,"was":2}`,
	},
	{
		Name: "many fields read again and again",
		Code: `
function handle(e)
  local sum = 0
  for i = 1, 50 do sum = sum + e.a + e.b + (e.none or 0) end
  return { sum = sum }
end`,
		Body: `{"a":1,"b":2,"c":[1]}`,
		Want: `{"sum":150}`,
	},
	{
		Name: "a long chain of ..",
		Code: "function handle(e)\n  local x = e.x\n  return { length = #(" + repeatJoined("x", " .. ", 3000) + ") }\nend",
		Body: `{"x":"ab"}`,
		Want: `{"length":6000}`,
	},
	{
		Name: "objects with methods",
		Code: `
Account = {}
Account.__index = Account
Account.__eq = function(a, b) return a.name == b.name end
Account.__lt = function(a, b) return a.name < b.name end
Account.__le = function(a, b) return a.name <= b.name end
Account.__tostring = function(a) return "account " .. a.name end
Account.__concat = function(a, b) return tostring(a) .. tostring(b) end
Account.__len = function(a) return 42 end
Account.__call = function(a, n) return n + 1 end
Account.__add = function(a, b) return a.balance + b.balance end
function Account.new(name) return setmetatable({ name = name, balance = 10 }, Account) end
function Account:deposit(n) self.balance = self.balance + n return self.balance end
local early = Account.new("early")
function handle(e)
  local a, b = Account.new("a"), Account.new("b")
  return { a:deposit(5), a == b, a < b, a <= b, b > a, tostring(a), a .. b, #a, a(1), a + b, early.balance, a ~= b }
end`,
		Want: `[15,false,true,true,true,"account a","account aaccount b",42,2,25,10,true]`,
	},
	{
		Name: "errors as values",
		Code: `
function handle()
  local ok, err = pcall(error, { code = 7 })
  local ok2, err2 = pcall(function() local x = nil; return x.y end)
  local ok3, err3 = xpcall(function() error("deep", 0) end, function(m) return "handled " .. m end)
  return { ok, err.code, ok2, err2, ok3, err3, select("#", pcall(function() return 1, 2, 3 end)) }
end`,
		Want: `[false,7,false,"h.lua:4: attempt to index a nil value with key 'y'",false,"handled deep",4]`,
	},
	{
		Name: "the same entry gives the same result",
		Code: `function handle(e, ctx) return { math.random(1, 1000000) == math.random(1, 1000000), uuid() == uuid(), #uuid() } end`,
		Want: `[false,false,36]`,
	},
	{
		Name: "recursion over a document",
		Code: `
local function depth(t)
  local most = 0
  if type(t) == "table" then
    for _, x in pairs(t) do most = math.max(most, depth(x)) end
    return most + 1
  end
  return 0
end
function handle(e) return { depth(e) } end`,
		Body: `{"a":{"b":{"c":[[[1]]]}}}`,
		Want: `[6]`,
	},
	{
		Name: "ctx",
		Code: `
function handle(e, ctx)
  local names = {}
  for k in pairs(ctx) do names[#names + 1] = k end
  return { ctx.id, ctx.stream, ctx.group, ctx.subscription, ctx.key, ctx.deliveries, ctx.attempt, ctx.max_attempts, ctx.idle_ms,
    ctx.now_ms, ctx.headers["correlation-id"], ctx.headers == ctx.headers, #ctx.fields, ctx.fields[1].name, #names, ctx.none == nil }
end`,
		Want: `["1700000000000-0","payments","ledger","s","acct-1",0,1,5,0,1700000000500,"c-1",true,1,"_payload",12,true]`,
	},
	{
		Name: "varargs",
		Code: `function handle(...) local e, ctx = ... return { select("#", ...), ctx.id } end`,
		Want: `[2,"1700000000000-0"]`,
	},
}

func repeatJoined(s, sep string, n int) string {
	out := make([]byte, 0, n*(len(s)+len(sep)))
	for i := range n {
		if i > 0 {
			out = append(out, sep...)
		}
		out = append(out, s...)
	}
	return string(out)
}
