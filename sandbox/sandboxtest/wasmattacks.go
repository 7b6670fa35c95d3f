package sandboxtest

import (
	"fmt"
	"strings"

	"pipeline/sandbox/sandboxtest/wat"
)

// WASMAttacks are all attacks on the WASM engine.
func WASMAttacks() []Attack {
	var all []Attack
	for _, group := range [][]Attack{
		wasmLoops(), wasmRecursion(), wasmMemory(), wasmPointers(), wasmResults(), wasmTraps(), wasmFormat(), wasmContract(), wasmCompiler(),
	} {
		all = append(all, group...)
	}
	return all
}

var (
	crashed   = []string{"crash"}
	misspoken = []string{"result"}
	// deep calls end when the stack is used up, on a slow machine at the time.
	deep = []string{"crash", "timeout"}
)

// wasm makes an attack of the code of its function.
func wasm(name, locals, code string, m wat.Module, ends []string) Attack {
	return Attack{Name: name, Code: wat.Handler(locals, code+" i64.const 0", m), Ends: ends}
}

// endless repeats code for ever.
func endless(code string) string { return "loop " + code + " br 0 end" }

// wasmLoops try never to end.
func wasmLoops() []Attack {
	now := []wat.Import{{Module: "pipeline", Name: "now", Sig: "->i64"}}
	random := []wat.Import{{Module: "pipeline", Name: "random", Sig: "i32 i32->"}}
	write := []wat.Import{{Module: "wasi_snapshot_preview1", Name: "fd_write", Sig: "i32 i32 i32 i32->i32"}}
	return []Attack{
		wasm("loop", "", endless(""), wat.Module{}, stopped),
		wasm("loop of loops", "i32", endless("loop local.get 2 i32.const 1 i32.add local.tee 2 i32.const 1023 i32.and br_if 0 end"), wat.Module{}, stopped),
		wasm("loop by a conditional branch", "", "loop i32.const 1 br_if 0 end", wat.Module{}, stopped),
		wasm("loop by a jump table", "", "loop i32.const 7 br_table 0 0 0 end", wat.Module{}, stopped),
		wasm("loop out of a block", "", "loop block br 1 end end", wat.Module{}, stopped),
		wasm("loop inside an if", "", "i32.const 1 if loop br 0 end end", wat.Module{}, stopped),
		wasm("loop of calls", "", endless("call $f"), wat.Module{Funcs: []wat.Func{{Name: "f", Sig: "->"}}}, stopped),
		wasm("loop of calls through a table", "", endless("i32.const 0 call_indirect ->"), wat.Module{Table: []string{"$f"}, Funcs: []wat.Func{{Name: "f", Sig: "->"}}}, stopped),
		wasm("loop of calls of a loop", "", endless("call $f"), wat.Module{Funcs: []wat.Func{{Name: "f", Sig: "->", Code: "loop end"}}}, stopped),
		wasm("loop of memory.grow", "", endless("i32.const 0 memory.grow drop"), wat.Module{}, stopped),
		wasm("loop of memory.size", "", endless("memory.size drop"), wat.Module{}, stopped),
		wasm("loop of fills of the memory", "", endless("i32.const 0 i32.const 1 i32.const 2097152 memory.fill"), wat.Module{}, stopped),
		wasm("loop of copies of the memory", "", endless("i32.const 0 i32.const 1 i32.const 2097151 memory.copy"), wat.Module{}, stopped),
		wasm("loop of fills of a table", "", endless("i32.const 0 ref.null i32.const 1 table.fill 0"), wat.Module{Table: []string{"$f"}, Funcs: []wat.Func{{Name: "f", Sig: "->"}}}, stopped),
		wasm("loop of divisions", "i64", "i64.const 7 local.set 2 "+endless("i64.const -1 local.get 2 i64.div_u local.get 2 i64.add local.set 2"), wat.Module{}, stopped),
		wasm("loop of square roots", "f64", endless("local.get 2 f64.sqrt f64.const 1.5 f64.add f64.sqrt local.set 2"), wat.Module{}, stopped),
		wasm("loop that misses the cache", "i32", endless("local.get 2 i32.const 1664525 i32.mul i32.const 1013904223 i32.add local.tee 2 i32.const 2097151 i32.and i32.load8_u 0 local.get 2 i32.add local.set 2"), wat.Module{}, stopped),
		wasm("loop that writes all over", "i32", endless("local.get 2 i32.const 40503 i32.add local.tee 2 i32.const 2097148 i32.and local.get 2 i32.store 0"), wat.Module{}, append([]string{"result"}, stopped...)),
		wasm("loop of host calls", "", endless("call $now drop"), wat.Module{Imports: now}, stopped),
		wasm("loop of much randomness", "", endless("i32.const 0 i32.const 2097152 call $random"), wat.Module{Imports: random}, stopped),
		wasm("loop of writing to standard error", "", endless("i32.const 2 i32.const 0 i32.const 1 i32.const 64 call $fd_write drop"),
			wat.Module{Imports: write, Data: []wat.Data{{At: 0, Bytes: "\x00\x00\x00\x00\x00\x00\x10\x00"}}}, stopped),
		wasm("loop of writing pieces", "", endless("i32.const 1 i32.const 0 i32.const 1024 i32.const 16384 call $fd_write drop"),
			wat.Module{Imports: write, Data: []wat.Data{{At: 0, Bytes: strings.Repeat("\x00\x00\x00\x00\x00\x00\x10\x00", 1024)}}}, stopped),
	}
}

// wasmRecursion call and call.
func wasmRecursion() []Attack {
	tree := func(levels int, leaf string) []wat.Func {
		funcs := []wat.Func{{Name: "f0", Sig: "->", Code: leaf}}
		for i := 1; i <= levels; i++ {
			below := fmt.Sprintf("call $f%d ", i-1)
			funcs = append(funcs, wat.Func{Name: fmt.Sprintf("f%d", i), Sig: "->", Code: below + below})
		}
		return funcs
	}
	chain := func(n int, locals string) []wat.Func {
		var funcs []wat.Func
		for i := range n {
			funcs = append(funcs, wat.Func{Name: fmt.Sprintf("f%d", i), Sig: "->i64", Locals: locals, Code: fmt.Sprintf("call $f%d local.get 0 i64.add", i+1)})
		}
		return append(funcs, wat.Func{Name: fmt.Sprintf("f%d", n), Sig: "->i64", Code: "i64.const 1"})
	}
	many := strings.Repeat("i64 ", 4000)
	return []Attack{
		wasm("recursion", "", "call $f", wat.Module{Funcs: []wat.Func{{Name: "f", Sig: "->", Code: "call $f"}}}, deep),
		wasm("recursion of two", "", "call $f", wat.Module{Funcs: []wat.Func{{Name: "f", Sig: "->", Code: "call $g"}, {Name: "g", Sig: "->", Code: "call $f"}}}, deep),
		wasm("recursion of the handler", "", "local.get 0 local.get 1 call $handle drop", wat.Module{}, deep),
		wasm("recursion through a table", "", "call $f", wat.Module{Table: []string{"$f"}, Funcs: []wat.Func{{Name: "f", Sig: "->", Code: "i32.const 0 call_indirect ->"}}}, deep),
		wasm("recursion with many locals", "", "call $f drop", wat.Module{Funcs: []wat.Func{{Name: "f", Sig: "->i64", Locals: many, Code: "call $f local.get 3999 i64.add"}}}, deep),
		wasm("recursion with a large expression", "", "i64.const 1 call $f drop", wat.Module{Funcs: []wat.Func{{
			Name: "f", Sig: "i64->i64",
			Code: strings.Repeat("local.get 0 i64.const 3 i64.mul ", 2000) + "local.get 0 call $f " + strings.Repeat("i64.add ", 2000),
		}}}, deep),
		wasm("recursion that stops in time, without end", "", endless("i32.const 10000 call $f"), wat.Module{Funcs: []wat.Func{{
			Name: "f", Sig: "i32->", Code: "local.get 0 i32.eqz if return end local.get 0 i32.const 1 i32.sub call $f",
		}}}, stopped),
		wasm("tree of calls", "", "call $f40", wat.Module{Funcs: tree(40, "")}, stopped),
		wasm("tall tree of calls", "", "call $f1000", wat.Module{Funcs: tree(1000, "")}, stopped),
		wasm("tree of calls with long leaves", "", "call $f40", wat.Module{Funcs: tree(40, strings.Repeat("nop ", 90_000))}, stopped),
		wasm("tree of calls of the host", "", "call $f40", wat.Module{Imports: []wat.Import{{Module: "pipeline", Name: "now", Sig: "->i64"}}, Funcs: tree(40, "call $now drop")}, stopped),
		wasm("fan of calls of long leaves", "", "call $fan", wat.Module{Funcs: []wat.Func{
			{Name: "leaf", Sig: "->", Code: strings.Repeat("nop ", 90_000)}, {Name: "fan", Sig: "->", Code: strings.Repeat("call $leaf ", 90_000)},
		}}, stopped),
		wasm("chain of functions", "", "call $f0 drop", wat.Module{Funcs: chain(2000, many)}, deep),
	}
}

// wasmMemory try to fill the memory.
func wasmMemory() []Attack {
	return []Attack{
		wasm("memory.grow of 4 GiB", "", "i32.const 65535 memory.grow i32.const -1 i32.eq if unreachable end", wat.Module{}, []string{"memory"}),
		wasm("memory.grow page by page", "", endless("i32.const 1 memory.grow drop"), wat.Module{}, append([]string{"memory"}, stopped...)),
		wasm("memory.grow until it fails", "", "loop i32.const 1 memory.grow i32.const -1 i32.ne br_if 0 end unreachable", wat.Module{}, []string{"memory"}),
		wasm("memory.grow below zero", "", "i32.const -32 memory.grow drop unreachable", wat.Module{}, []string{"memory"}),
		wasm("all of the memory touched", "i32", `i32.const 480 memory.grow drop i32.const 0 i32.const 1 i32.const 33554432 memory.fill unreachable`, wat.Module{}, crashed),
		wasm("more than its own limit", "", "i32.const 1 memory.grow drop unreachable", wat.Module{Memory: "32 32"}, []string{"memory"}),
		wasm("memory that starts too large", "", "", wat.Module{Memory: "65536"}, refused),
		wasm("memory that starts above the limit", "", "", wat.Module{Memory: "513"}, refused),
		wasm("memory limit above all bounds", "", "unreachable", wat.Module{Memory: "32 65536"}, crashed),
		withAlloc("alloc that gives zero", "i32.const 0", misspoken),
		withAlloc("alloc that gives what is not there", "i32.const -1", misspoken),
		withAlloc("alloc that gives too little", "i32.const 2097151", misspoken),
		withAlloc("alloc that traps", "unreachable", crashed),
		withAlloc("alloc that never returns", endless("")+" i32.const 1", stopped),
		withAlloc("alloc that fills the memory", "loop i32.const 1 memory.grow i32.const -1 i32.ne br_if 0 end i32.const 65536", append([]string{"ack"}, bounded...)),
	}
}

// withAlloc is an attack of pipeline_alloc.
func withAlloc(name, code string, ends []string) Attack {
	m := wat.Module{Memory: "32", Funcs: []wat.Func{
		{Export: "pipeline_abi_1", Sig: "->"},
		{Export: "pipeline_alloc", Sig: "i32->i32", Code: code},
		{Export: "handle", Sig: "i32 i32->i64", Code: "i64.const 0"},
	}}
	return Attack{Name: name, Code: m.Bytes(), Ends: ends}
}

// wasmTraps end as traps do.
func wasmTraps() []Attack {
	table := wat.Module{Table: []string{"$f"}, Funcs: []wat.Func{{Name: "f", Sig: "i32->"}}}
	return []Attack{
		wasm("unreachable", "", "unreachable", wat.Module{}, crashed),
		wasm("division by zero", "", "i32.const 1 i32.const 0 i32.div_s drop", wat.Module{}, crashed),
		wasm("division that overflows", "", "i32.const -2147483648 i32.const -1 i32.div_s drop", wat.Module{}, crashed),
		wasm("conversion of NaN", "", "f64.const NaN i32.trunc_f64_s drop", wat.Module{}, crashed),
		wasm("load beyond the memory", "", "i32.const -1 i32.load 0 drop", wat.Module{}, crashed),
		wasm("load beyond all memories", "", "i32.const -1 i64.load 4294967295 drop", wat.Module{}, crashed),
		wasm("store beyond the memory", "", "i32.const 2097150 i32.const 0 i32.store 0", wat.Module{}, crashed),
		wasm("fill beyond the memory", "", "i32.const 0 i32.const 0 i32.const -1 memory.fill", wat.Module{}, append([]string{"crash"}, stopped...)),
		wasm("copy beyond the memory", "", "i32.const 0 i32.const 2097152 i32.const 1 memory.copy", wat.Module{}, crashed),
		wasm("call beyond the table", "", "i32.const 1 call_indirect ->", table, crashed),
		wasm("call of another type", "", "i32.const 0 call_indirect ->", table, crashed),
		wasm("call of nothing", "", "i32.const 0 ref.null table.set 0 i32.const 0 i32.const 0 call_indirect i32->", table, crashed),
	}
}
