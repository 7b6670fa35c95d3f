package wasm

import (
	"context"
	"errors"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/sandbox/sandboxtest"
	"pipeline/sandbox/sandboxtest/wat"
)

// says is a handler that returns a text.
func says(text string) []byte {
	code, data := wat.Returns(64, text)
	return wat.Handler("", code, wat.Module{Data: []wat.Data{data}})
}

// once runs a module's function handle once.
func once(t *testing.T, s sandbox.Spec) (outcome.Outcome, sandbox.Usage) {
	t.Helper()
	return compile(t, s).Call(context.Background(), sandboxtest.Delivery(`{"id":1}`))
}

func TestOutcomes(t *testing.T) {
	tests := map[string]struct {
		code []byte
		want string
	}{
		"ack":        {wat.Handler("", "i64.const 0", wat.Module{}), "ack"},
		"retry":      {wat.Handler("", "i64.const 1", wat.Module{}), "retry"},
		"dead":       {wat.Handler("", "i64.const 2", wat.Module{}), "dead"},
		"drop":       {wat.Handler("", "i64.const 3", wat.Module{}), "drop"},
		"reply":      {says(`{"action":"reply","replies":[{"body":{"b":2,"a":1}}]}`), `{"a":1,"b":2}`},
		"code":       {wat.Handler("", "i64.const 7", wat.Module{}), "result: h.wasm: returned the code 7: return 0 (ack), 1 (retry), 2 (dead), 3 (drop), or the place and length of a result (function handle, entry 1700000000000-0)"},
		"misspelt":   {says(`{"action":"reply","replys":[]}`), `result: h.wasm: returned a result that cannot be used: it has the key "replys", which does not exist; a result is {"action": …, "after_ms": …, "reason": …, "replies": […]} (function handle, entry 1700000000000-0)`},
		"from afar":  {wat.Handler("", "i64.const -1", wat.Module{}), "result: h.wasm: returned a result of 4294967295 bytes at 4294967295, and its memory has 2097152 bytes (function handle, entry 1700000000000-0)"},
		"trap":       {wat.Handler("", "call $check i64.const 0", wat.Module{Funcs: []wat.Func{{Name: "check", Sig: "->", Code: "unreachable"}}}), "crash: h.wasm: gave up (it executed `unreachable`, which is how a failed assertion or a panic ends) in number 3, called by handle (function handle, entry 1700000000000-0)"},
		"no buffer":  {withAlloc("i32.const 0"), "result: h.wasm: pipeline_alloc(1024) returned 0, and there are not so many bytes of memory at that place: it has to return the place of a buffer of that size (function handle, entry 1700000000000-0)"},
		"a deep one": {wat.Handler("", "local.get 0 local.get 1 call $handle", wat.Module{}), "crash: h.wasm: called functions too deep: their variables take more than 8192 KiB of stack (function handle, entry 1700000000000-0)"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			out, _ := once(t, spec(test.code))
			if got := sandboxtest.Show(out); got != test.want {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
		})
	}
}

func withAlloc(code string) []byte {
	m := wat.Module{Memory: "1", Funcs: []wat.Func{
		{Export: "pipeline_abi_1", Sig: "->"}, {Export: "pipeline_alloc", Sig: "i32->i32", Code: code},
		{Export: "handle", Sig: "i32 i32->i64", Code: "i64.const 0"},
	}}
	return m.Bytes()
}

func TestReplyWithNowhereToGo(t *testing.T) {
	in := compile(t, spec(says(`{"action":"reply","replies":[{"body":1}]}`)))
	d := sandboxtest.Delivery("")
	d.Replies = false
	out, _ := in.Call(context.Background(), d)
	if got := sandboxtest.Show(out); !strings.Contains(got, "result: ") || !strings.Contains(got, "`reply { to = stream.… }`") {
		t.Error(got)
	}
}

func TestLimits(t *testing.T) {
	loop := wat.Handler("", "loop br 0 end i64.const 0", wat.Module{})
	tests := map[string]struct {
		code   []byte
		limits sandbox.Limits
		want   string
	}{
		"instructions": {loop, sandbox.Limits{Instructions: 1_000_000}, `instructions: h.wasm: stopped after 1000000 instructions; do less in one call, or raise limits.instructions of handler "h"`},
		"timeout":      {loop, sandbox.Limits{Timeout: 20 * time.Millisecond, Instructions: 1 << 50}, `timeout: h.wasm: stopped after its time limit of 20ms; do less in one call, or raise limits.timeout of handler "h"`},
		"memory": {wat.Handler("", "loop i32.const 1 memory.grow i32.const 0 i32.ge_s br_if 0 end unreachable", wat.Module{}),
			sandbox.Limits{Memory: 3 << 20}, `memory: h.wasm: stopped after asking for more than 3072 KiB of memory; do less in one call, or raise limits.memory of handler "h"`},
		"a result": {says(`{"action":"reply","replies":[{"body":[` + strings.Repeat("0,", 40_000) + `0]}]}`), sandbox.Limits{Memory: 2 << 20},
			`memory: h.wasm: returned a result that takes 2640427 bytes to read; return less, or raise limits.memory of handler "h"`},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			s := spec(test.code)
			s.Limits = test.limits
			out, use := once(t, s)
			if got := sandboxtest.Show(out); !strings.HasPrefix(got, test.want) {
				t.Errorf("got  %s\nwant %s", got, test.want)
			}
			if most := test.limits.WithDefaults().Instructions; use.Instructions > most || use.Bytes == 0 {
				t.Errorf("%+v", use)
			}
		})
	}
}

// TestMemoryOfCallEnds holds that what a stopped call has changed is gone, and
// that what a finished one keeps stays.
func TestMemoryOfCallEnds(t *testing.T) {
	in := compile(t, spec(wat.Handler("", `
		i32.const 64 i32.const 64 i32.load 0 i32.const 1 i32.add i32.store 0
		i32.const 64 i32.load 0 i32.const 3 i32.eq if unreachable end
		i32.const 64 i32.load 0 i64.extend_i32_u`, wat.Module{})))
	want := []string{"retry", "dead", "crash", "retry", "dead", "crash"}
	for i, w := range want {
		out, _ := in.Call(context.Background(), sandboxtest.Delivery(""))
		if got, _, _ := strings.Cut(sandboxtest.Show(out), ":"); got != w {
			t.Fatalf("call %d: %s, want %s", i, sandboxtest.Show(out), w)
		}
	}
}

func TestFuelIsTheSameEachTime(t *testing.T) {
	in := compile(t, spec(summing))
	_, first := in.Call(context.Background(), sandboxtest.Delivery(`{"a":[1,2,3]}`))
	for range 20 {
		if _, use := in.Call(context.Background(), sandboxtest.Delivery(`{"a":[1,2,3]}`)); use != first {
			t.Fatalf("%+v, and then %+v", first, use)
		}
	}
	again := compile(t, spec(summing))
	if _, use := again.Call(context.Background(), sandboxtest.Delivery(`{"a":[1,2,3]}`)); use != first {
		t.Errorf("another instance: %+v, want %+v", use, first)
	}
}

func TestCanceled(t *testing.T) {
	s := spec(wat.Handler("", "loop br 0 end i64.const 0", wat.Module{}))
	s.Limits.Instructions = 1 << 50
	in := compile(t, s)
	for _, delay := range []time.Duration{0, 5 * time.Millisecond} {
		ctx, cancel := context.WithTimeout(t.Context(), delay)
		out, _ := in.Call(ctx, sandboxtest.Delivery(""))
		cancel()
		if out.Kind != outcome.Failed || out.Failure.Kind != outcome.FailCanceled {
			t.Errorf("after %s: %s", delay, sandboxtest.Show(out))
		}
	}
}

func TestClosed(t *testing.T) {
	h, err := Compile(spec(summing))
	if err != nil {
		t.Fatal(err)
	}
	in, err := h.NewInstance(context.Background())
	if err != nil {
		t.Fatal(err)
	}
	in.Close()
	in.Close()
	if out, _ := in.Call(context.Background(), sandboxtest.Delivery("")); out.Kind != outcome.Failed {
		t.Error(out.Kind)
	}
	if err := h.Close(); err != nil {
		t.Error(err)
	}
	goleak.VerifyNone(t)
}

// TestManyInstances runs one handler from several goroutines.
func TestManyInstances(t *testing.T) {
	h, err := Compile(spec(wat.Handler("", `
		i32.const 64 i32.const 64 i32.load 0 i32.const 1 i32.add i32.store 0
		i32.const 64 i32.load 0 i32.const 50 i32.eq if unreachable end
		i64.const 0`, wat.Module{})))
	if err != nil {
		t.Fatal(err)
	}
	var workers sync.WaitGroup
	for range 4 {
		workers.Go(func() {
			in, err := h.NewInstance(context.Background())
			if err != nil {
				t.Error(err)
				return
			}
			defer in.Close()
			for i := range 200 {
				out, _ := in.Call(context.Background(), sandboxtest.Delivery(`{"id":1}`))
				if crashed := out.Kind != outcome.Ack; crashed != (i%50 == 49) {
					t.Errorf("call %d: %s", i, sandboxtest.Show(out))
				}
			}
		})
	}
	workers.Wait()
	if err := h.Close(); err != nil {
		t.Error(err)
	}
}

func TestRefusals(t *testing.T) {
	imports := func(list ...wat.Import) []byte { return wat.Handler("", "i64.const 0", wat.Module{Imports: list}) }
	marker := wat.Func{Export: "pipeline_abi_1", Sig: "->"}
	alloc := wat.Func{Export: "pipeline_alloc", Sig: "i32->i32", Code: "i32.const 16"}
	module := func(funcs ...wat.Func) []byte { m := wat.Module{Memory: "1", Funcs: funcs}; return m.Bytes() }
	tests := map[string]struct {
		code []byte
		want string
	}{
		"imports": {imports(wat.Import{Module: "env", Name: "system", Sig: "i32->i32"}, wat.Import{Module: "pipeline", Name: "now", Sig: "->i64"}, wat.Import{Module: "env", Name: "exec", Sig: "->"}),
			"h.wasm: the module imports what handlers are not given: env.exec, env.system; leave out what calls them; handlers are given pipeline.log, pipeline.now, pipeline.random, pipeline.meta, env.abort and a part of WASI preview 1"},
		"files": {imports(wat.Import{Module: "wasi_snapshot_preview1", Name: "path_open", Sig: "->i32"}), "h.wasm: the module imports what handlers are not given: wasi_snapshot_preview1.path_open; a handler has no files and no sockets: leave out what opens them"},
		"grant": {imports(wat.Import{Module: "pipeline", Name: "log", Sig: "i32 i32 i32 i32 i32->"}),
			"h.wasm: pipeline.log needs a grant: add `grant \"log\" {}` to handler \"h\" in the pipeline file"},
		"types": {imports(wat.Import{Module: "pipeline", Name: "now", Sig: "->i32"}), "h.wasm: the module imports pipeline.now as () -> i32; it is () -> i64; use the declarations of the SDK file of your language"},
		"no marker": {module(alloc, wat.Func{Export: "handle", Sig: "i32 i32->i64", Code: "i64.const 0"}),
			"h.wasm: the module does not export pipeline_abi_1, which says that it is a handler of this runner; build it with the SDK file of your language, which exports it"},
		"another version": {module(wat.Func{Export: "pipeline_abi_2", Sig: "->"}, alloc),
			"h.wasm: the module was built for the interface pipeline_abi_2; this version runs pipeline_abi_1; build it with the SDK file of this version of pipeline, or run it with another version"},
		"two versions": {module(marker, wat.Func{Export: "pipeline_abi_2", Sig: "->"}, alloc), "h.wasm: the module exports 2 markers of the interface: pipeline_abi_1, pipeline_abi_2; export one of them"},
		"a command":    {module(wat.Func{Export: "_start", Sig: "->"}), "is a command with a main function"},
		"no handler":   {module(marker, alloc, wat.Func{Export: "screen", Sig: "i32 i32->i64", Code: "i64.const 0"}), `h.wasm: the module has no function "handle"`},
		"its type":     {module(marker, alloc, wat.Func{Export: "handle", Sig: "i32->i64", Code: "i64.const 0"}), "h.wasm: the module exports handle as (i32) -> i64; it has to be (i32, i32) -> i64"},
		"hidden":       {wat.Handler("", "i64.const 0", wat.Module{Hidden: true}), "h.wasm: the module does not export its memory as `memory`"},
		"too large":    {wat.Handler("", "i64.const 0", wat.Module{Memory: "2000"}), "h.wasm: the module starts with 128000 KiB of memory, more than limits.memory of 65536 KiB"},
		"initialize":   {wat.Handler("", "i64.const 0", wat.Module{Funcs: []wat.Func{{Export: "_initialize", Sig: "->", Code: "loop br 0 end"}}}), "h.wasm: while the module was loaded, _initialize stopped after 200000000 instructions"},
		"types inside": {wat.Handler("", "i32.const 0", wat.Module{}), "h.wasm: the module is not valid: "},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			_, err := Compile(spec(test.code))
			if _, ok := errors.AsType[*sandbox.LoadError](err); !ok || !strings.Contains(err.Error(), test.want) {
				t.Errorf("got  %v\nwant %s", err, test.want)
			}
		})
	}
	t.Run("the functions that it has", func(t *testing.T) {
		_, err := Compile(spec(tests["no handler"].code))
		load, ok := errors.AsType[*sandbox.LoadError](err)
		if !ok || load.Missing != "handle" || len(load.Functions) != 1 || load.Functions[0] != "screen" {
			t.Errorf("%+v", load)
		}
	})
	t.Run("modules", func(t *testing.T) {
		s := spec(summing)
		s.Modules = []sandbox.Source{{Name: "a.lua"}}
		if _, err := Compile(s); err == nil {
			t.Error("modules are taken")
		}
	})
	t.Run("a grant that does not exist", func(t *testing.T) {
		s := spec(summing)
		s.Grants = []sandbox.Grant{{Kind: "files"}}
		if _, err := Compile(s); err == nil {
			t.Error("the grant is taken")
		}
	})
}
