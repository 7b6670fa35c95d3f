package wasm

import (
	"context"
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
	"pipeline/sandbox/sandboxtest/wat"
)

// logged is a host that keeps lines.
type logged struct{ lines []string }

func (l *logged) Log(d *sandbox.Delivery, line sandbox.LogLine) {
	s := fmt.Sprintf("%d %s", line.Level, line.Message)
	for _, a := range line.Attrs {
		s += " " + a.Name + "=" + a.Value
	}
	if d == nil {
		s = "loading: " + s
	}
	l.lines = append(l.lines, s)
}

func pipelineImport(name, sig string) wat.Import {
	return wat.Import{Module: "pipeline", Name: name, Sig: sig}
}

func wasiImport(name, sig string) wat.Import {
	return wat.Import{Module: "wasi_snapshot_preview1", Name: name, Sig: sig}
}

func TestLog(t *testing.T) {
	m := wat.Module{
		Imports: []wat.Import{pipelineImport("log", "i32 i32 i32 i32 i32->"), wasiImport("fd_write", "i32 i32 i32 i32->i32")},
		Data: []wat.Data{
			{At: 64, Bytes: "posted"}, {At: 128, Bytes: `{"payment":7,"a":"b"}`},
			{At: 256, Bytes: "\x40\x00\x00\x00\x06\x00\x00\x00\x10\x01\x00\x00\x03\x00\x00\x00"}, {At: 272, Bytes: "\nx\n"},
		},
	}
	code := `
		i32.const 4 i32.const 64 i32.const 6 i32.const 128 i32.const 21 call $log
		i32.const -4 i32.const 64 i32.const 4 i32.const 0 i32.const 0 call $log
		i32.const 1 i32.const 256 i32.const 2 i32.const 0 call $fd_write drop
		i32.const 2 i32.const 256 i32.const 1 i32.const 0 call $fd_write drop
		i64.const 0`
	host := &logged{}
	s := spec(wat.Handler("", code, m))
	s.Grants, s.Host = []sandbox.Grant{{Kind: "log"}}, host
	if out, _ := once(t, s); out.Kind != outcome.Ack {
		t.Fatal(sandboxtest.Show(out))
	}
	want := "4 posted a=b payment=7|-4 post|0 posted|0 x|4 posted"
	if got := strings.Join(host.lines, "|"); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestWritingWithoutGrant holds that what libraries write goes nowhere, and
// shows in a failure.
func TestWritingWithoutGrant(t *testing.T) {
	m := wat.Module{
		Imports: []wat.Import{wasiImport("fd_write", "i32 i32 i32 i32->i32"), wasiImport("proc_exit", "i32->")},
		Data:    []wat.Data{{At: 64, Bytes: "panic: no such account\ngoroutine 1"}, {At: 256, Bytes: "\x40\x00\x00\x00\x22\x00\x00\x00"}},
	}
	s := spec(wat.Handler("", "i32.const 2 i32.const 256 i32.const 1 i32.const 0 call $fd_write drop i32.const 2 call $proc_exit i64.const 0", m))
	host := &logged{}
	s.Host = host
	out, _ := once(t, s)
	want := "error: h.wasm: exited with code 2 instead of returning a result; it said: panic: no such account (function handle, entry 1700000000000-0)"
	if got := sandboxtest.Show(out); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
	if len(host.lines) > 0 {
		t.Errorf("logged without a grant: %q", host.lines)
	}
}

func TestAbort(t *testing.T) {
	text := func(s string) string {
		out := binary.LittleEndian.AppendUint32(nil, uint32(2*len(s)))
		for _, c := range []byte(s) {
			out = append(out, c, 0)
		}
		return string(out)
	}
	m := wat.Module{
		Imports: []wat.Import{{Module: "env", Name: "abort", Sig: "i32 i32 i32 i32->"}},
		Data:    []wat.Data{{At: 60, Bytes: text("no such account")}, {At: 124, Bytes: text("payments.ts")}},
	}
	out, _ := once(t, spec(wat.Handler("", "i32.const 64 i32.const 128 i32.const 7 i32.const 3 call $abort i64.const 0", m)))
	want := "error: h.wasm: no such account (payments.ts:7:3) (function handle, entry 1700000000000-0)"
	if got := sandboxtest.Show(out); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// TestMeta reads everything that meta gives, by raw input: the body names it.
func TestMeta(t *testing.T) {
	m := wat.Module{Imports: []wat.Import{pipelineImport("meta", "i32 i32 i32 i32->i32")}, Data: []wat.Data{
		{At: 512, Bytes: `{"action":"reply","replies":[{"body_base64":"`}}}
	// The name lies in the input; what meta gives is the reason of a dead letter
	// that the code writes around it.
	m.Data = []wat.Data{{At: 512, Bytes: `{"action":"dead","reason":"`}}
	code := `
		local.get 0 local.get 1 i32.const 539 i32.const 400 call $meta local.tee 2
		i32.const 0 i32.lt_s if i64.const 3 return end
		i32.const 539 local.get 2 i32.add i32.const 0x7d22 i32.store16 0
		local.get 2 i32.const 29 i32.add i64.extend_i32_u i64.const 0x20000000000 i64.or`
	s := spec(wat.Handler("i32", code, m))
	s.RawInput = true
	in := compile(t, s)
	for name, want := range map[string]string{
		"id": "1700000000000-0", "stream": "payments", "group": "ledger", "subscription": "s", "key": "acct-1", "deliveries": "0",
		"attempt": "1", "max_attempts": "5", "idle_ms": "0", "now_ms": "1700000000500", "header:correlation-id": "c-1", "header:none": "", "nothing": "",
	} {
		d := sandboxtest.Delivery("")
		d.Kind, d.Raw = sandbox.BodyBytes, name
		out, _ := in.Call(context.Background(), d)
		if want == "" {
			if out.Kind != outcome.Drop {
				t.Errorf("%s: %s", name, sandboxtest.Show(out))
			}
			continue
		}
		if out.Kind != outcome.Dead || out.Reason != want {
			t.Errorf("%s: %s %q, want %q", name, sandboxtest.Show(out), out.Reason, want)
		}
	}
}

// TestMetaPays asks for large headers again and again: what the host does for
// that counts.
func TestMetaPays(t *testing.T) {
	m := wat.Module{Imports: []wat.Import{pipelineImport("meta", "i32 i32 i32 i32->i32")}, Data: []wat.Data{{At: 64, Bytes: "headers"}}}
	s := spec(wat.Handler("", "loop i32.const 64 i32.const 7 i32.const 0 i32.const 0 call $meta drop br 0 end i64.const 0", m))
	s.Limits.Timeout, s.Limits.Instructions = 50*time.Millisecond, 1<<50
	in := compile(t, s)
	d := sandboxtest.Delivery("")
	for i := range 1000 {
		d.Headers = append(d.Headers, outcome.Header{Name: fmt.Sprint("h", i), Value: strings.Repeat("x", 500)})
	}
	start := time.Now()
	out, use := in.Call(context.Background(), d)
	if out.Kind != outcome.Failed || out.Failure.Kind != outcome.FailTimeout || use.Instructions < 500_000 {
		t.Errorf("%s, %+v", sandboxtest.Show(out), use)
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("took %s", took)
	}
}

// TestSeeded holds that what is random depends on the entry alone, and that
// the clock stands at the delivery.
func TestSeeded(t *testing.T) {
	m := wat.Module{Imports: []wat.Import{
		pipelineImport("random", "i32 i32->"), pipelineImport("now", "->i64"), wasiImport("random_get", "i32 i32->i32"), wasiImport("clock_time_get", "i32 i64 i32->i32"),
	}, Data: []wat.Data{{At: 512, Bytes: `{"action":"reply","replies":[{"body":[0000000000000000000]}]}`}}}
	digits := func(source string) string {
		// The lowest bits of a number as 18 digits after a 1.
		return `i32.const 550 i32.const 49 i32.store8 0 ` + source + ` local.set 2 i32.const 18 local.set 3
			loop
				i32.const 550 local.get 3 i32.add
				local.get 2 i64.const 10 i64.rem_u i64.const 48 i64.add i64.store8 0
				local.get 2 i64.const 10 i64.div_u local.set 2
				local.get 3 i32.const 1 i32.sub local.tee 3 br_if 0
			end i64.const 0x20000000000 i64.const 61 i64.or`
	}
	call := func(source, id string) string {
		d := sandboxtest.Delivery("")
		d.ID = id
		out, _ := compile(t, spec(wat.Handler("i64 i32", digits(source), m))).Call(context.Background(), d)
		if out.Kind != outcome.Reply {
			t.Fatal(sandboxtest.Show(out))
		}
		text, err := value.AppendJSON(nil, &out.Replies[0].Body)
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	random := "i32.const 0 i32.const 8 call $random i32.const 0 i64.load 0"
	if a, b := call(random, "1-0"), call(random, "1-0"); a != b {
		t.Errorf("the same entry: %s, then %s", a, b)
	}
	if a, b := call(random, "1-0"), call(random, "2-0"); a == b {
		t.Errorf("two entries: %s twice", a)
	}
	wasi := "i32.const 0 i32.const 8 call $random_get drop i32.const 0 i64.load 0"
	if a, b := call(random, "1-0"), call(wasi, "1-0"); a != b {
		t.Errorf("two functions: %s, %s", a, b)
	}
	if got := call("call $now", "1-0"); got != "[1000001700000000500]" {
		t.Errorf("now: %s", got)
	}
	if got := call("i32.const 0 i64.const 0 i32.const 0 call $clock_time_get drop i32.const 0 i64.load 0 i64.const 1000000 i64.div_u", "1-0"); got != "[1000001700000000500]" {
		t.Errorf("the clock: %s", got)
	}
}

// TestInput holds what the module sees: it sends its input back.
func TestInput(t *testing.T) {
	echo := wat.Handler("", `i32.const 64 i64.const 0x647261223a22 i64.store 0
		local.get 0 i64.extend_i32_u i64.const 32 i64.shl local.get 1 i64.extend_i32_u i64.or`, wat.Module{})
	s := spec(echo)
	s.RawInput = true
	in := compile(t, s)
	for _, size := range []int{2, 1024, 1025, 100_000, 5} {
		d := sandboxtest.Delivery("")
		d.Kind, d.Raw = sandbox.BodyText, `{"action":"dead","reason":"`+strings.Repeat("x", size)+`"}`
		out, _ := in.Call(context.Background(), d)
		if out.Kind != outcome.Dead || !strings.HasPrefix(out.Reason, strings.Repeat("x", min(size, 1000))) {
			t.Errorf("%d bytes: %s", size, sandboxtest.Show(out))
		}
	}
	out, _ := compile(t, spec(echo)).Call(context.Background(), sandboxtest.Delivery(`{"id":1}`))
	if got := sandboxtest.Show(out); !strings.Contains(got, `"action" is missing`) {
		t.Errorf("the envelope: %s", got)
	}
}
