package lua

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

// TestInstructionsAreExact finds the number of instructions of a script and
// gives it exactly that, and one fewer.
func TestInstructionsAreExact(t *testing.T) {
	code := `function handle(e) local s = 0 for i = 1, 1000 do s = s + i end return s end`
	_, use := compile(t, spec(code, "handle")).Call(context.Background(), delivery(t, `{}`))
	if use.Instructions < 2000 || use.Instructions > 4000 {
		t.Fatalf("%d instructions", use.Instructions)
	}
	for _, c := range []struct {
		limit int64
		want  string
	}{{use.Instructions, "500500"}, {use.Instructions - 1, "instructions: "}} {
		s := spec(code, "handle")
		s.Limits.Instructions = c.limit
		out, got := compile(t, s).Call(context.Background(), delivery(t, `{}`))
		if !strings.HasPrefix(show(t, out), c.want) || got.Instructions != c.limit {
			t.Errorf("limit %d: %s after %d", c.limit, show(t, out), got.Instructions)
		}
	}
}

func TestBytesAreCharged(t *testing.T) {
	code := `function handle(e) return #(("x"):rep(100000) .. "y") end`
	_, use := compile(t, spec(code, "handle")).Call(context.Background(), delivery(t, `{}`))
	if use.Bytes < 200000 || use.Bytes > 250000 {
		t.Errorf("%d bytes for two strings of 100,000", use.Bytes)
	}
}

func TestTimeout(t *testing.T) {
	s := spec(`function handle(e) while e.loop do end return ack() end`, "handle")
	s.Limits = sandbox.Limits{Timeout: 30 * time.Millisecond, Instructions: 1 << 60}
	in := compile(t, s)
	for range 3 {
		out, _ := in.Call(context.Background(), delivery(t, `{"loop":true}`))
		if got := show(t, out); !strings.Contains(got, "timeout: h.lua:1: stopped after its time limit of 30ms") {
			t.Fatal(got)
		}
		if out, _ = in.Call(context.Background(), delivery(t, `{"loop":false}`)); out.Kind != outcome.Ack {
			t.Fatal(show(t, out))
		}
	}
}

func TestCancel(t *testing.T) {
	s := spec(`function handle(e) log.info("begun") while true do pcall(function() while true do end end) end end`, "handle")
	s.Limits.Instructions = 1 << 60
	s.Limits.Timeout = time.Minute
	ctx, cancel := context.WithCancel(context.Background())
	s.Grants, s.Host = []sandbox.Grant{{Kind: "log"}}, hostFunc(cancel)
	in := compile(t, s)
	out, _ := in.Call(ctx, delivery(t, `{}`))
	if out.Kind != outcome.Failed || out.Failure.Kind != outcome.FailCanceled {
		t.Error(show(t, out))
	}
	// A context that is over already runs nothing.
	if out, use := in.Call(ctx, delivery(t, `{}`)); out.Failure == nil || out.Failure.Kind != outcome.FailCanceled || use.Instructions > 0 && ctx.Err() == nil {
		t.Error(show(t, out))
	}
}

// hostFunc is called for each log line.
type hostFunc func()

func (f hostFunc) Log(*sandbox.Delivery, sandbox.LogLine) { f() }

// TestHeapWatchdog has tables grow, which nothing counts.
func TestHeapWatchdog(t *testing.T) {
	SetHeapLimit(16 << 20)
	defer SetHeapLimit(0)
	s := spec(`function handle(e) local t = {} for i = 1, 1e9 do t[i] = {} end end`, "handle")
	s.Limits = sandbox.Limits{Instructions: 1 << 60, Timeout: time.Minute}
	out, _ := compile(t, s).Call(context.Background(), delivery(t, `{}`))
	if got := show(t, out); !strings.Contains(got, "memory: h.lua:1: stopped because the memory of the whole process grew too much") {
		t.Error(got)
	}
}

// TestConcurrentInstances hammers one handler from several workers, some of
// which run into limits, and loses nothing when all are closed.
func TestConcurrentInstances(t *testing.T) {
	defer goleak.VerifyNone(t)
	s := spec(`
local calls = 0
function handle(e, ctx)
  calls = calls + 1
  if e.bad then error("bad " .. e.n) end
  if e.loop then while true do end end
  return { n = e.n, id = ctx.id, text = ("%d"):format(e.n), r = math.random(1, 1000000) }
end`, "handle")
	s.Limits = sandbox.Limits{Instructions: 50_000, Timeout: 10 * time.Second}
	h, err := Compile(s)
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for w := range 4 {
		workers.Go(func() {
			in, err := h.NewInstance(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer in.Close()
			for i := range 300 {
				n := w*1000 + i
				switch i % 10 {
				case 3:
					check(t, in, n, `"bad":true`, fmt.Sprintf("error: h.lua:5: bad %d", n))
				case 7:
					check(t, in, n, `"loop":true`, "instructions: h.lua:6:")
				default:
					check(t, in, n, `"x":1`, fmt.Sprintf(`{"id":"%d-0","n":%d,"r":`, n, n))
				}
			}
		})
	}
	workers.Wait()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func check(t *testing.T, in sandbox.Instance, n int, field, want string) {
	d := delivery(t, fmt.Sprintf(`{"n":%d,%s}`, n, field))
	d.ID = fmt.Sprintf("%d-0", n)
	out, _ := in.Call(context.Background(), d)
	if got := show(t, out); !strings.HasPrefix(got, want) {
		t.Errorf("got %s, want %s", got, want)
	}
}

// TestSameEntrySameResult compares two workers, and a worker whose state was
// renewed.
func TestSameEntrySameResult(t *testing.T) {
	code := `function handle() return { math.random(), math.random(1, 1e9), uuid(), uuid() } end`
	results := map[string]int{}
	for range 2 {
		in := compile(t, spec(code, "handle"))
		for _, id := range []string{"1-0", "2-0", "1-0"} {
			d := delivery(t, `{}`)
			d.ID = id
			out, _ := in.Call(context.Background(), d)
			results[show(t, out)]++
		}
	}
	if len(results) != 2 {
		t.Errorf("%v", results)
	}
	for r, n := range results {
		if n != 4 && n != 2 {
			t.Errorf("%s came %d times", r, n)
		}
	}
}

// TestBodyOfAnEarlierEntry keeps a body beyond its call.
func TestBodyOfAnEarlierEntry(t *testing.T) {
	in := compile(t, spec(`
local last
function handle(e)
  local before = last
  last = e
  if before then return { before.id } end
  return ack()
end`, "handle"))
	in.Call(context.Background(), delivery(t, `{"id":1}`))
	out, _ := in.Call(context.Background(), delivery(t, `{"id":2}`))
	if got := show(t, out); !strings.Contains(got, "this is the body of an earlier entry: copy what a later call needs") {
		t.Error(got)
	}
}

// TestRecycle renews the state of a script that hoards.
func TestRecycle(t *testing.T) {
	in := compile(t, spec(`
local kept = {}
function handle(e)
  kept[#kept + 1] = ("x"):rep(e.size)
  return #kept
end`, "handle"))
	var got []string
	for _, size := range []int{1, 1, 20 << 20, 1} {
		out, _ := in.Call(context.Background(), delivery(t, fmt.Sprintf(`{"size":%d}`, size)))
		got = append(got, show(t, out))
	}
	if strings.Join(got, " ") != "1 2 3 1" {
		t.Errorf("%v", got)
	}
}

func TestClosedInstance(t *testing.T) {
	in := compile(t, spec(`function handle() return ack() end`, "handle"))
	in.Close()
	if out, _ := in.Call(context.Background(), delivery(t, `{}`)); out.Kind != outcome.Failed {
		t.Error(show(t, out))
	}
	in.Close()
}

// TestHolesAreCharged has the engine look through empty places of lists, which
// takes it longer than an instruction: they count, those of honest lists do not.
func TestHolesAreCharged(t *testing.T) {
	const empty = "local t = {} t[131000] = 1 t[131000] = nil "
	used := func(body string) int64 {
		t.Helper()
		out, use := compile(t, spec("function handle() "+body+" return ack() end", "handle")).Call(context.Background(), delivery(t, `{}`))
		if out.Kind != outcome.Ack {
			t.Fatalf("%s: %s", body, show(t, out))
		}
		return use.Instructions
	}
	for name, test := range map[string]struct {
		before, body string
		least, most  int64
	}{
		"length":            {empty, "local n = #t", 2000, 2100},
		"rawlen":            {empty, "local n = rawlen(t)", 2000, 2100},
		"next":              {empty, "next(t)", 2000, 2100},
		"next to a name":    {empty + "t.x = 1 ", "next(t)", 2000, 2100},
		"next to an item":   {empty + "t[131000] = 1 ", "next(t)", 2000, 2100},
		"next from an item": {empty + "t[1] = 1 t[131000] = 1 ", "next(t, 1)", 2000, 2100},
		"next from a name":  {empty + "t.x = 1 t.y = 1 ", "next(t, \"x\")", 0, 30},
		"a full list":       {"local t = {} for i = 1, 1000 do t[i] = i end ", "local n = #t next(t) next(t, 500)", 0, 30},
		"a number as a key": {"local t = { [1e9] = 1 } ", "next(t)", 0, 30},
	} {
		if got := used(test.before+test.body) - used(test.before); got < test.least || got > test.most {
			t.Errorf("%s: %d instructions, want %d to %d", name, got, test.least, test.most)
		}
	}
}
