package sandboxtest

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Deed is an entry for a handler that does what the body's `do` says, and what
// has to come of it, whatever language it is written in. Want is the outcome
// as Line shows it; a failure has to contain it.
type Deed struct {
	Name, Body, Want string
}

// Contract is the contract between handlers and engines. A guest of each
// engine implements the deeds; see LuaContract for what each means.
var Contract = []Deed{
	{"ack", `{"do":"ack"}`, `ack`},
	{"retry", `{"do":"retry"}`, `retry`},
	{"retry after a while", `{"do":"retry","after_ms":5000,"reason":"busy"}`, `retry after 5s "busy"`},
	{"retry at once", `{"do":"retry","after_ms":0}`, `retry after 0s`},
	{"dead", `{"do":"dead","reason":"no such account"}`, `dead "no such account"`},
	{"drop", `{"do":"drop","reason":"a test entry"}`, `drop "a test entry"`},
	{"reply", `{"do":"reply","value":{"b":[1,{}],"a":null}}`, `reply {"a":null,"b":[1,{}]}`},
	{"reply with an id", `{"do":"reply","value":{"id":18446744073709551615}}`, `reply {"id":18446744073709551615}`},
	{"reply with text", `{"do":"reply","value":"é\u0000\""}`, `reply "é\u0000\""`},
	{"reply with a null", `{"do":"reply","value":null}`, `reply null`},
	{"reply with an empty list", `{"do":"reply","value":[]}`, `reply []`},
	{"reply to a route", `{"do":"reply","value":1,"to":"audit","key":"k-1","headers":{"z":"1","a":"2"}}`, `reply 1 to "audit" key "k-1" a="2" z="1"`},
	{"reply with an empty key", `{"do":"reply","value":1,"key":""}`, `reply 1 key ""`},
	{"replies", `{"do":"replies","values":[1,"two",{"n":3}]}`, `reply 1, "two", {"n":3}`},
	{"echo", `{"do":"echo","id":9007199254740993,"x":1.5}`, `reply {"do":"echo","id":9007199254740993,"x":1.5}`},
	{"fail", `{"do":"fail","reason":"boom"}`, `error boom`},
	{"nothing", `{"do":"nothing"}`, `result `},
	{"spin", `{"do":"spin"}`, `instructions `},
	{"hoard", `{"do":"hoard"}`, `memory `},
	{"ack after the failures", `{"do":"ack"}`, `ack`},
	{"meta", `{"do":"meta"}`, `reply {"attempt":1,"deliveries":0,"group":"ledger","headers":{"correlation-id":"c-1"},"id":"1700000000000-0",` +
		`"idle_ms":0,"key":"acct-1","max_attempts":5,"now_ms":1700000000500,"stream":"payments","subscription":"s"}`},
	{"log", `{"do":"log","message":"hello"}`, `ack info "hello"`},
}

// contractLimits let spin and hoard end soon. A linear memory has to hold the
// guest itself.
var contractLimits = sandbox.Limits{Timeout: 10 * time.Second, Memory: 8 << 20, Instructions: 2_000_000}

// Obey runs the contract on a guest that has been granted log.
func Obey(t *testing.T, e Engine, guest []byte) {
	host := &lines{}
	h, err := e.Compile(sandbox.Spec{
		Label: "guest", Source: sandbox.Source{Name: e.File, Code: guest}, Function: "handle",
		Grants: []sandbox.Grant{{Kind: "log"}}, Limits: contractLimits, Host: host,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = h.Close() }()
	in, err := h.NewInstance(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	for _, d := range Contract {
		t.Run(d.Name, func(t *testing.T) {
			host.text = ""
			out, used := in.Call(context.Background(), Delivery(d.Body))
			got := Line(out) + host.text
			if got != d.Want && (out.Kind != outcome.Failed || !contains(got, d.Want)) {
				t.Errorf("got  %s\nwant %s", got, d.Want)
			}
			if used.Instructions <= 0 || used.Instructions > contractLimits.Instructions {
				t.Errorf("it is said to have used %+v", used)
			}
		})
	}
}

// contains looks for the kind of a failure and the text after it.
func contains(got, want string) bool {
	kind, text, _ := strings.Cut(want, " ")
	return strings.HasPrefix(got, kind+" ") && strings.Contains(got, text)
}

// lines is a host that keeps the last log line.
type lines struct{ text string }

func (l *lines) Log(_ *sandbox.Delivery, line sandbox.LogLine) {
	l.text = fmt.Sprintf(" %s %q", map[sandbox.Level]string{sandbox.Debug: "debug", sandbox.Info: "info", sandbox.Warn: "warn", sandbox.Error: "error"}[line.Level], line.Message)
}

// Line is all of an outcome on one line.
func Line(out outcome.Outcome) string {
	switch out.Kind {
	case outcome.Failed:
		return string(out.Failure.Kind) + " " + out.Failure.Message
	case outcome.Reply:
		parts := make([]string, len(out.Replies))
		for i := range out.Replies {
			parts[i] = message(&out.Replies[i])
		}
		return "reply " + strings.Join(parts, ", ")
	}
	line := out.Kind.String()
	if out.HasAfter {
		line += " after " + out.After.String()
	}
	if out.Reason != "" {
		line += fmt.Sprintf(" %q", out.Reason)
	}
	return line
}

func message(m *outcome.Message) string {
	text, err := value.AppendJSON(nil, &m.Body)
	if err != nil {
		return "no JSON: " + err.Error()
	}
	if m.To != "" {
		text = fmt.Appendf(text, " to %q", m.To)
	}
	if m.HasKey {
		text = fmt.Appendf(text, " key %q", m.Key)
	}
	for _, h := range m.Headers {
		text = fmt.Appendf(text, " %s=%q", h.Name, h.Value)
	}
	return string(text)
}

// LuaContract is the contract's guest in Lua.
const LuaContract = `
local function options(e)
  return { to = e.to, key = e.key, headers = e.headers }
end

local deeds = {
  ack = function() return ack() end,
  retry = function(e)
    if not e.after_ms then return retry() end
    return retry { after = e.after_ms .. "ms", reason = e.reason }
  end,
  dead = function(e) return dead(e.reason) end,
  drop = function(e) return drop(e.reason) end,
  reply = function(e) return reply(e.value, options(e)) end,
  replies = function(e)
    local all = {}
    for i, v in ipairs(e.values) do all[i] = reply(v) end
    return unpack(all)
  end,
  echo = function(e) return e end,
  fail = function(e) error(e.reason, 0) end,
  nothing = function() end,
  spin = function() while true do end end, -- until its instructions are used up
  hoard = function() local s = "x" while true do s = s .. s end end, -- beyond its memory
  meta = function(_, ctx)
    local m = {}
    for k, v in pairs(ctx) do if k ~= "fields" then m[k] = v end end
    return m
  end,
  log = function(e) log.info(e.message) return ack() end,
}

function handle(e, ctx)
  return deeds[e["do"]](e, ctx)
end
`
