package lua

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
)

var fuzzLimits = sandbox.Limits{Instructions: 200_000, Memory: 4 << 20, Timeout: 2 * time.Second}

// leaks are parts of texts of Go that no user may see.
var leaks = []string{"0xc0", "goroutine", "runtime error", ".go:", "interface conversion", "nil pointer"}

func checkText(t *testing.T, text string) {
	t.Helper()
	for _, leak := range leaks {
		if strings.Contains(text, leak) {
			t.Errorf("the message shows %q: %s", leak, text)
		}
	}
}

// depends reports whether an error is one of the two that depend on the machine
// and on what else the process does: the same script can load the next time.
func depends(err error) bool {
	return err != nil && (strings.Contains(err.Error(), "after its time limit") || strings.Contains(err.Error(), "memory of the whole process"))
}

// FuzzSource compiles and runs any bytes.
func FuzzSource(f *testing.F) {
	for _, p := range sandboxtest.LuaPrograms {
		f.Add([]byte(p.Code))
	}
	for _, a := range sandboxtest.LuaAttacks() {
		if len(a.Code) < 1000 {
			f.Add(a.Code)
		}
	}
	for _, c := range sandboxtest.LuaCases() {
		f.Add([]byte("function handle(e, ctx) return " + c.Expr + " end"))
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		s := spec(string(code), "handle")
		s.Limits = fuzzLimits
		h, err := Compile(s)
		found, checkErr := new(Checker).Check(s)
		if depends(err) || depends(checkErr) {
			return
		}
		if (err == nil) != (checkErr == nil) {
			t.Errorf("compiling says %v, checking %v", err, checkErr)
		}
		for _, f := range found {
			if f.Line < 1 || f.Line > len(splitLines(code)) || f.Problem == "" {
				t.Errorf("finding %+v", f)
			}
		}
		if err != nil {
			if _, ok := errors.AsType[*sandbox.LoadError](err); !ok {
				t.Errorf("not a LoadError: %v", err)
			}
			checkText(t, strings.ReplaceAll(err.Error(), string(code), ""))
			return
		}
		defer h.Close()
		in, err := h.NewInstance(context.Background())
		if depends(err) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		defer in.Close()
		for range 2 {
			out, _ := in.Call(context.Background(), sandboxtest.Delivery(`{"a":[1,2,{}],"b":18446744073709551615}`))
			if out.Kind == outcome.None {
				t.Error("no outcome")
			}
			if out.Kind == outcome.Failed && out.Failure.Kind == outcome.FailCrash {
				t.Errorf("crash: %s", out.Failure.Message)
			}
		}
	})
}

// FuzzPattern runs any pattern over any string.
func FuzzPattern(f *testing.F) {
	for _, p := range []string{"%w+", "(a-)b*%1", "%f[%a]%b()", "[^]a-]+$", "^()(.)", "%", "[", "(", ")", "%9", "[%", "a-?*+"} {
		f.Add("hello (world) aab", p, "%1-%0")
	}
	in := compile(f, func() sandbox.Spec {
		s := spec(`
function handle(e)
  local r = { pcall(string.find, e.s, e.p) }
  pcall(string.gsub, e.s, e.p, e.r)
  pcall(function() for a, b in e.s:gmatch(e.p) do end end)
  return ack()
end`, "handle")
		s.Limits = fuzzLimits
		return s
	}())
	f.Fuzz(func(t *testing.T, s, p, r string) {
		d := sandboxtest.Delivery("")
		body := value.NewObject([]value.Value{value.NewString(s).Named("s"), value.NewString(p).Named("p"), value.NewString(r).Named("r")})
		d.Body = &body
		out, _ := in.Call(context.Background(), d)
		if out.Kind == outcome.Failed {
			checkText(t, out.Failure.Message)
			if k := out.Failure.Kind; k != outcome.FailInstructions && k != outcome.FailMemory && k != outcome.FailTimeout {
				t.Errorf("%s: %s", k, out.Failure.Message)
			}
		}
	})
}

// FuzzText runs any text through the functions that read texts.
func FuzzText(f *testing.F) {
	for _, s := range []string{"1e5", "0x1F", "-9007199254740993", "%5.2f %q", "aGk=", "2026-01-31T00:00:00Z", `{"a":[]}`, "1d12h", "é€", "%Y-%m-%d"} {
		f.Add(s)
	}
	in := compile(f, func() sandbox.Spec {
		s := spec(`
local fns = {
  tonumber, json.decode, base64.decode, hex.decode, time.parse, utf8.len, utf8.codepoint, int, crypto.sha256, string.upper,
  function(s) return string.format(s, 1, "x", 2.5) end, function(s) return retry{after = s} end, function(s) return tonumber(s, 16) end,
  function(s) return time.format(0, s) end, function(s) return time.parse("2026-01-31", s) end, function(s) return s + 1 end,
  function(s) return utf8.offset(s, 2) end, function(s) return json.encode({ [s] = s }) end,
}
function handle(s)
  for _, fn in ipairs(fns) do
    local ok, err = pcall(fn, s)
    if not ok then log.info(err) end
  end
  return ack()
end`, "handle")
		s.Limits, s.Grants, s.Host = fuzzLimits, []sandbox.Grant{{Kind: "log"}}, &logged{}
		return s
	}())
	f.Fuzz(func(t *testing.T, s string) {
		d := sandboxtest.Delivery("")
		d.Kind, d.Raw = sandbox.BodyBytes, s
		out, _ := in.Call(context.Background(), d)
		if out.Kind == outcome.Failed && out.Failure.Kind != outcome.FailMemory && out.Failure.Kind != outcome.FailInstructions {
			t.Errorf("%s: %s", out.Failure.Kind, out.Failure.Message)
		}
	})
}
