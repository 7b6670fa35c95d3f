package lua

import (
	"context"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
)

// crossing builds a value of any shape by a recipe, a byte for each step, and
// lets it cross the border in every way there is.
const crossing = `
local function build(recipe)
  local stack, all = { {} }, {}
  for i = 1, #recipe do
    local step, top = recipe:byte(i), stack[#stack]
    local op, arg = step % 16, math.floor(step / 16)
    if op == 0 then top[#top + 1] = arg
    elseif op == 1 then top["k" .. arg] = arg
    elseif op == 2 then local t = {} top[#top + 1] = t stack[#stack + 1] = t all[#all + 1] = t
    elseif op == 3 then local t = {} top["t" .. arg] = t stack[#stack + 1] = t all[#all + 1] = t
    elseif op == 4 then if #stack > 1 then stack[#stack] = nil end
    elseif op == 5 then top[#top + 1] = all[arg + 1]
    elseif op == 6 then top.again = top
    elseif op == 7 then top[arg] = ({ 0/0, 1/0, -1/0, 2^53, 1e300, -0.0, 1.5, int("9007199254740993"), int("-1") })[arg + 1]
    elseif op == 8 then top[arg * 1000] = true
    elseif op == 9 then top[arg + 0.5] = "x"
    elseif op == 10 then top[({ true, {}, ack, json.null, "", "\255", "a\0b", "é" })[arg + 1] or arg] = ({ "\255\254", "é", "", json.null, ack, ack(), tostring, false })[arg + 1]
    elseif op == 11 then setmetatable(top, ({ { __index = function() error("x") end }, { __len = function() return 1e9 end }, { __tostring = function() return 1 end }, { __metatable = 1 } })[arg + 1])
    elseif op == 12 then json.array(top)
    elseif op == 13 then rawset(top, arg, nil)
    elseif op == 14 then top[#top + 1] = ("x"):rep(arg * 100)
    else for _ = 1, arg do local t = {} top[1] = t top = t end end
  end
  return stack[1]
end

local ways = {
  function(v) return v end,
  function(v) return reply(v) end,
  function(v) return reply(1, v) end,
  function(v) return reply(1, { headers = v, key = v[1], to = v.k1 }) end,
  function(v) return retry(v) end,
  function(v) return retry { after = v[1], reason = v.k1 } end,
  function(v) return dead(v[1]), v end,
  function(v) log.info(v, v) return ack() end,
  function(v) error(v) end,
  function(v) error(v, 2) end,
  function(v) return unpack(v) end,
  function(v) return json.decode(json.encode(v)) end,
  function(v) return { tostring(v), table.concat(v, ","), #v } end,
  function(v) table.sort(v) return v end,
  function(v) return setmetatable({}, v) end,
  function(v) return string.format("%s%d", v, v) end,
}

function handle(e)
  local ok, v = pcall(build, e.recipe)
  if not ok then return ack() end
  return ways[e.way % #ways + 1](v)
end
`

// FuzzCrossing has values cross from the script to the engine.
func FuzzCrossing(f *testing.F) {
	for way := range uint8(16) {
		f.Add("", way)
		f.Add("\x00\x10\x20\x11\x02\x00\x04\x13\x00\x04\x05", way)
		f.Add("\x06\x07\x17\x27\x0a\x1a\x2a\x3a\x0b\x1b\xff\xff", way)
		f.Add("\x0c\x08\x18\x09\x0d\x0e\xfe\x5a\x6a\x7a\x77\x87", way)
	}
	host := &logged{}
	s := spec(crossing, "handle")
	s.Limits, s.Grants, s.Host = fuzzLimits, []sandbox.Grant{{Kind: "log"}}, host
	in := compile(f, s)
	f.Fuzz(func(t *testing.T, recipe string, way uint8) {
		d := sandboxtest.Delivery("")
		body := value.NewObject([]value.Value{value.NewString(recipe).Named("recipe"), value.FromInt(int64(way)).Named("way")})
		d.Body = &body
		host.lines = nil
		out, _ := in.Call(context.Background(), d)
		switch out.Kind {
		case outcome.None:
			t.Error("no outcome")
		case outcome.Failed:
			checkText(t, out.Failure.Message)
			if out.Failure.Kind == outcome.FailCrash {
				t.Errorf("crash: %s", out.Failure.Message)
			}
		case outcome.Reply:
			for i := range out.Replies {
				checkReply(t, &out.Replies[i])
			}
		}
		for _, line := range host.lines {
			checkText(t, line.Message)
		}
	})
}

// checkReply encodes a reply and reads it back. A text that is no UTF-8 is
// refused later, with the reply's place.
func checkReply(t *testing.T, m *outcome.Message) {
	t.Helper()
	text, err := value.AppendJSON(nil, &m.Body)
	if err != nil {
		return
	}
	if _, err := value.ParseJSON(string(text), nil); err != nil {
		t.Errorf("%s is no JSON: %v", text, err)
	}
	checkText(t, string(text))
}

// FuzzJSON has texts come in as JSON and go out again, as a body and through
// json.decode and json.encode.
func FuzzJSON(f *testing.F) {
	for _, s := range []string{
		`{}`, `[]`, `null`, `{"a":[1,-2.5e-7,"é\u0000\ud83d\ude00",true,null,{}],"b":18446744073709551615}`,
		`1e999999`, `-0`, `[[[[]]]]`, `{"a":1,"a":2}`, `[9007199254740992,9007199254740993,0.1,1e21]`, `"\ud800"`, `{"":{"":{}}}`, `{"1":1,"2":2}`,
	} {
		f.Add(s)
	}
	s := spec(`
function handle(e)
  if e.pass ~= nil then return e.pass end
  local ok, v = pcall(json.decode, e.text)
  if not ok then return drop(v) end
  local once = json.encode(v)
  assert(json.encode(json.decode(once)) == once, "changed by a second pass")
  return { text = once }
end`, "handle")
	s.Limits = fuzzLimits
	in := compile(f, s)
	call := func(member value.Value) outcome.Outcome {
		d := sandboxtest.Delivery("")
		body := value.NewObject([]value.Value{member})
		d.Body = &body
		out, _ := in.Call(context.Background(), d)
		return out
	}
	f.Fuzz(func(t *testing.T, text string) {
		parsed, err := value.ParseJSON(text, nil)
		out := call(value.NewString(text).Named("text"))
		if out.Kind == outcome.Failed {
			if k := out.Failure.Kind; k != outcome.FailMemory && k != outcome.FailInstructions {
				t.Fatalf("%s: %s", k, out.Failure.Message)
			}
			return
		}
		if (err == nil) != (out.Kind == outcome.Reply) {
			t.Fatalf("the engine says %v, the script %s", err, sandboxtest.Show(out))
		}
		if err != nil || parsed.Kind() == value.Null {
			return
		}
		want := out.Replies[0].Body.Get("text").Text()
		if passed := sandboxtest.Show(call(parsed.Named("pass"))); passed != want {
			t.Errorf("as a body it comes out as %s, through json.decode as %s", passed, want)
		}
	})
}
