package lua

import (
	"context"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

func TestOutcomes(t *testing.T) {
	for _, c := range []struct {
		name, code string
		want       outcome.Outcome
	}{
		{"ack", `return ack()`, outcome.Outcome{Kind: outcome.Ack}},
		{"ack with trailing nils", `return ack(), nil`, outcome.Outcome{Kind: outcome.Ack}},
		{"retry", `return retry()`, outcome.Outcome{Kind: outcome.Retry}},
		{"retry at once", `return retry{after = "0s"}`, outcome.Outcome{Kind: outcome.Retry, HasAfter: true}},
		{"retry later", `return retry{after = "1d12h", reason = "closed"}`, outcome.Outcome{Kind: outcome.Retry, After: 36 * time.Hour, HasAfter: true, Reason: "closed"}},
		{"retry with a reason", `return retry{reason = 5}`, outcome.Outcome{Kind: outcome.Retry, Reason: "5"}},
		{"dead", `return dead("bad " .. 1)`, outcome.Outcome{Kind: outcome.Dead, Reason: "bad 1"}},
		{"dead without a reason", `return dead()`, outcome.Outcome{Kind: outcome.Dead}},
		{"drop", `return drop("seen")`, outcome.Outcome{Kind: outcome.Drop, Reason: "seen"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			got := handle(t, "function handle(e)\n"+c.code+"\nend", `{}`)
			if got.Kind != c.want.Kind || got.After != c.want.After || got.HasAfter != c.want.HasAfter || got.Reason != c.want.Reason || got.Failure != nil || got.Replies != nil {
				t.Errorf("got %+v, want %+v", got, c.want)
			}
		})
	}
}

func TestReplies(t *testing.T) {
	out := handle(t, `
function handle(e)
  local body = { id = e.id }
  local first = reply(body, { to = "audit", key = 5, headers = { b = "2", a = 1, c = true } })
  body.id = 2 -- not in the reply any more
  return first, reply(json.null), reply("text", { key = "" })
end`, `{"id":1}`)
	if got := show(t, out); got != `{"id":1} null "text"` {
		t.Fatal(got)
	}
	first := out.Replies[0]
	if first.To != "audit" || first.Key != "5" || !first.HasKey {
		t.Errorf("%+v", first)
	}
	want := []outcome.Header{{Name: "a", Value: "1"}, {Name: "b", Value: "2"}, {Name: "c", Value: "true"}}
	for i, h := range want {
		if first.Headers[i] != h {
			t.Errorf("header %d: %v, want %v", i, first.Headers[i], h)
		}
	}
	if out.Replies[1].HasKey || !out.Replies[2].HasKey {
		t.Error("an empty key is a key")
	}
}

// TestMessages holds the messages to what a user needs: what, where, what to
// do.
func TestMessages(t *testing.T) {
	for _, c := range []struct {
		code string
		kind outcome.FailureKind
		want string
	}{
		{`local x = 1`, outcome.FailResult, "h.lua:1: handle returned nothing: return ack(), retry(), dead(), drop() or a value"},
		{`return ack`, outcome.FailResult, "returned a function: call it, as in `return ack()`"},
		{`return 1, 2`, outcome.FailResult, "returned several values: return one, or only reply(...) several times"},
		{`return ack(), ack()`, outcome.FailResult, "returned several values"},
		{`return { a = { ack() } }`, outcome.FailResult, "a[1] is a result, which cannot be sent"},
		{`return { a = { b = { 1, x = 2 } } }`, outcome.FailResult, "a.b has both list items and the key 'x'"},
		{`return { [50000001] = true }`, outcome.FailResult, "has the number 50000001 for a key: write tostring(key)"},
		{`return { [true] = 1 }`, outcome.FailResult, "has a key that is a boolean"},
		{`return { 1, 2, nil, 4 }`, outcome.FailResult, "has no item 3 but an item 4: a list has no holes, write json.null there"},
		{`return { x = 1, [1.5] = 2 }`, outcome.FailResult, "1.5"},
		{`return { x = 0/0 }`, outcome.FailResult, "x is nan, which JSON cannot hold"},
		{`return reply({ x = print ~= nil or 1, y = pairs })`, outcome.FailError, "h.lua:2: the value of reply: y is a function"},
		{`return reply()`, outcome.FailError, "reply needs a value"},
		{`return reply(1, { topic = "x" })`, outcome.FailError, "reply has no option 'topic': write reply(value, {to ="},
		{`return reply(1, "audit")`, outcome.FailError, "the second argument of reply is a string"},
		{`return retry("5s")`, outcome.FailError, "retry takes a table, not a string: write retry()"},
		{`return retry{after = 5}`, outcome.FailError, "`after` is a number: write a duration with its unit"},
		{`return retry{after = "5"}`, outcome.FailError, "`after` is \"5\": write a duration with its unit"},
		{`return ack("done")`, outcome.FailError, "ack() takes no argument"},
		{`return dead({})`, outcome.FailError, "the reason of dead is a text, not a table"},
		{`error("no money")`, outcome.FailError, "h.lua:2: no money (function handle, entry 1700000000000-0)"},
		{`error("no place", 0)`, outcome.FailError, "h.lua: no place"},
		{`error({ message = "as a table" })`, outcome.FailError, "as a table"},
		{`error({ code = 7 })`, outcome.FailError, `error with a table: {"code":7}`},
		{`error()`, outcome.FailError, "error with a nil for a message"},
		{`local x = e.account.name`, outcome.FailError, "attempt to index a nil value with key 'name'"},
		{`e.account:sub(1)`, outcome.FailError, "attempt to index a nil value with key 'sub'"},
		{`return e.id > nil`, outcome.FailError, "attempt to compare a nil with a nil"},
		{`total = 1`, outcome.FailError, "assignment to the undeclared global 'total': write `local total = ...`"},
		{`handle = 1`, outcome.FailError, "the global 'handle' cannot be changed after the script is loaded"},
		{`log.info("x")`, outcome.FailError, "log.info needs a grant: add `grant \"log\" {}` to handler \"h\""},
		{`ctx.id = 1`, outcome.FailError, "ctx.id cannot be set: ctx is read-only"},
		{`while true do end`, outcome.FailInstructions, "stopped after 2000000 instructions; do less in one call, or raise limits.instructions of handler \"h\""},
		{`local s = ("x"):rep(1e9)`, outcome.FailMemory, "h.lua:2: stopped after using 1048576 bytes; do less in one call, or raise limits.memory of handler \"h\""},
	} {
		t.Run(c.code, func(t *testing.T) {
			s := spec("function handle(e, ctx)\n"+c.code+"\nend", "handle")
			s.Limits = sandbox.Limits{Instructions: 2_000_000, Memory: 1 << 20, Timeout: 30 * time.Second}
			out, _ := compile(t, s).Call(context.Background(), delivery(t, `{}`))
			if out.Kind != outcome.Failed || out.Failure.Kind != c.kind || !strings.Contains(out.Failure.Message, c.want) {
				t.Errorf("got  %s\nwant %s: %s", show(t, out), c.kind, c.want)
			}
		})
	}
}

func TestValueWithoutReply(t *testing.T) {
	for _, code := range []string{`return { a = 1 }`, `return reply(1)`, `return reply(1), reply(2)`} {
		in := compile(t, spec("function handle(e) "+code+" end", "handle"))
		d := delivery(t, `{}`)
		d.Replies = false
		out, _ := in.Call(context.Background(), d)
		if got := show(t, out); !strings.Contains(got, `result: h.lua:1: handle returned a value, and subscription "s" has nowhere to send it: add a `+"`reply") {
			t.Errorf("%s: %s", code, got)
		}
	}
}

func TestBodies(t *testing.T) {
	in := compile(t, spec(`function handle(e) return { type(e), e == json.null and "null" or e } end`, "handle"))
	text := delivery(t, `null`)
	text.Kind, text.Raw = sandbox.BodyText, "héllo"
	missing := delivery(t, `null`)
	missing.Body = nil
	for _, c := range []struct {
		d    *sandbox.Delivery
		want string
	}{
		{text, `["string","héllo"]`},
		{missing, `["null","null"]`},
		{delivery(t, `5`), `["number",5]`},
		{delivery(t, `[]`), `["table",[]]`},
		{delivery(t, `true`), `["boolean",true]`},
		{delivery(t, `"s"`), `["string","s"]`},
	} {
		out, _ := in.Call(context.Background(), c.d)
		if got := show(t, out); got != c.want {
			t.Errorf("got %s, want %s", got, c.want)
		}
	}
}

func TestBodyTooLongForAList(t *testing.T) {
	out := handle(t, `function handle(e) return #e.list end`, `{"list":[1`+strings.Repeat(",1", maxList)+`]}`)
	if got := show(t, out); !strings.Contains(got, "is a list of 131071 items; a script can hold 131070") {
		t.Error(got)
	}
	out = handle(t, `function handle(e) return #e.list end`, `{"list":[1`+strings.Repeat(",1", maxList-1)+`]}`)
	if got := show(t, out); got != "131070" {
		t.Error(got)
	}
}

// TestListEnd goes to the end of what a list can hold: silently overwriting
// the last item would lose data.
func TestListEnd(t *testing.T) {
	out := handle(t, `
function handle()
  local t = {}
  local ok, err = pcall(function() for i = 1, 200000 do t[#t + 1] = i end end)
  local n = 0
  for _ in pairs(t) do n = n + 1 end
  local ok2, err2 = pcall(table.insert, t, 1)
  return { ok, err, n, ok2 }
end`, `{}`)
	if got := show(t, out); got != `[false,"h.lua:4: this list is too long: a list can hold 131070 items",131071,false]` {
		t.Error(got)
	}
}
