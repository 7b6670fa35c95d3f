package sandboxtest

// luaProbe is the beginning of a script that attacks: its function `handle`
// attacks, or answers the probe with all that a script can see of the state
// that it shares with other entries. It keeps no function in a local: what a
// later entry calls is what the probe has to call.
const luaProbe = `
local function seen(what)
  local keys = {}
  for k, v in pairs(what) do keys[#keys + 1] = tostring(k) .. " " .. type(v) end
  table.sort(keys)
  return table.concat(keys, ", ")
end

local function answer(e, ctx)
  local r = { ctx = seen(ctx), headers = seen(ctx.headers), fields = seen(ctx.fields[1]), body = seen(e) }
  local names = { "base64", "crypto", "hex", "int", "json", "math", "string", "table", "time", "utf8" }
  for i, name in ipairs(names) do
    local lib = ({ base64, crypto, hex, int, json, math, string, table, time, utf8 })[i]
    r[name] = seen(lib)
    assert(getmetatable(lib) == nil)
  end
  r.functions = {}
  for i, f in ipairs { ack, assert, dead, drop, error, getmetatable, ipairs, next, pairs, pcall, rawequal, rawget, rawlen,
    rawset, reply, retry, select, setmetatable, tonumber, tostring, type, unpack, uuid, xpcall } do r.functions[i] = tostring(f) end
  r.absent = { tostring(marker), tostring(("x").marker), tostring(string.marker), tostring(e.marker), tostring(ctx.marker), type(log) }
  r.text = ("a-b"):upper() .. #e.text .. ("x"):rep(3, ",") .. ("%5.1f|%s|%q"):format(1.25, {}, "a\n") .. ("a b c"):gsub("%s", "_")
  r.numbers = { 7 % 3, 2 ^ 10, math.floor(-1.5), math.max(3, 1), e.id, e.id + 1, e.id % 1000, int("9007199254740993") * 2 }
  r.random = { math.random(1, 1000000), math.random(1, 1000000), uuid(), uuid() }
  r.json = { json.encode({ 1, json.null, { a = json.array() } }), json.decode('{"x":[1,{}]}'), tostring(json.null), #e.list, e.list }
  r.codecs = { base64.encode("x"), hex.encode("x"), crypto.sha256("x"), utf8.char(233), time.format(0) }
  r.results = { tostring(ack()), tostring(retry()), tostring(dead("x")), tostring(reply(1)), tostring(getmetatable("")) }
  r.errors = { tostring(select(2, pcall(error, "x", 0))), tostring(select(2, pcall(function() return nil .. "x" end))),
    tostring(select(2, pcall(function() some_global = 1 end))), tostring(select(2, pcall(setmetatable, string, {}))) }
  r.ctx_id = ctx.id .. ctx.key .. ctx.now_ms .. ctx.attempt
  return r
end

function handle(e, ctx)
  if type(e) == "table" and e.probe then return answer(e, ctx) end
  return attack(e, ctx)
end
`
