package sandboxtest

import (
	"fmt"
	"slices"
	"strings"

	"pipeline/sandbox/sandboxtest/wat"
)

// loads is an attack that must be refused when the module is loaded.
func loads(name string, code []byte) Attack {
	return Attack{Name: "source: " + name, Code: code, Ends: refused, Loads: true}
}

// bad is a handler whose sections are replaced.
func bad(name string, m wat.Module) Attack { return loads(name, wat.Handler("", "i64.const 0", m)) }

// bodied is a handler with one more function of these bytes.
func bodied(name string, raw []byte) Attack {
	return bad(name, wat.Module{Funcs: []wat.Func{{Sig: "->", Raw: raw}}})
}

// fourBillion is a section that announces as many things and has none.
var fourBillion = wat.U32(nil, 1<<32-1)

// wasmFormat are modules that no compiler should see.
func wasmFormat() []Attack {
	whole := wat.Handler("", "i64.const 0", wat.Module{})
	section := func(name string, id byte, bytes []byte) Attack {
		return bad(name, wat.Module{Replace: map[byte][]byte{id: bytes}})
	}
	targets := func(n int) []byte {
		raw := append([]byte{0, 0x02, 0x40, 0x41, 0, 0x0e}, wat.U32(nil, uint32(n))...)
		return append(append(raw, make([]byte, n+1)...), 0x0b, 0x0b)
	}
	return []Attack{
		loads("empty file", nil),
		loads("a script", []byte("function handle() return ack() end")),
		loads("only the head", whole[:8]),
		loads("cut short", whole[:len(whole)-5]),
		loads("more than there is", append(slices.Clip(whole), 11, 200, 1)),
		loads("another version", append([]byte("\x00asm\x02\x00\x00\x00"), whole[8:]...)),
		loads("a component", append([]byte("\x00asm\x0d\x00\x01\x00"), whole[8:]...)),
		loads("sections twice", append(slices.Clip(whole), whole[8:]...)),
		bad("start section", wat.Module{Start: "main", Funcs: []wat.Func{{Name: "main", Sig: "->", Code: "loop br 0 end"}}}),
		bodied("4 billion locals", []byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7e, 0x0b}),
		bodied("4 billion locals in pieces", []byte{2, 0xff, 0xff, 0xff, 0xff, 0x07, 0x7e, 0xff, 0xff, 0xff, 0xff, 0x07, 0x7e, 0x0b}),
		bodied("4 billion declarations", []byte{0xff, 0xff, 0xff, 0xff, 0x0f, 0x0b}),
		bodied("jump table of a million", targets(1_000_000)),
		bodied("jump table of 4 billion", []byte{0, 0x41, 0, 0x0e, 0xff, 0xff, 0xff, 0xff, 0x0f, 0, 0x0b}),
		bodied("a body of a mebibyte", append(append([]byte{0}, []byte(strings.Repeat("\x01", 1<<20))...), 0x0b)),
		bodied("blocks 100,000 deep", append([]byte{0}, []byte(strings.Repeat("\x02\x40", 100_000)+strings.Repeat("\x0b", 100_001))...)),
		bodied("a body without an end", []byte{0, 0x01}),
		bodied("a body after its end", []byte{0, 0x0b, 0x0b}),
		bodied("an unknown instruction", []byte{0, 0x06, 0x0b}),
		bodied("a number without an end", []byte{0, 0x41, 0x80, 0x80, 0x80, 0x80, 0x80, 0x80, 0x0b}),
		bodied("a type that does not fit", []byte{0, 0x41, 0, 0x0b}),
		bodied("an empty stack", []byte{0, 0x1a, 0x0b}),
		bodied("a label that is not there", []byte{0, 0x0c, 9, 0x0b}),
		bodied("a function that is not there", []byte{0, 0x10, 99, 0x0b}),
		bodied("the counter of the host", []byte{0, 0x42, 0, 0x24, 0, 0x0b}),
		bodied("the function that refuels", []byte{0, 0x10, 4, 0x0b}),
		section("4 billion types", wat.SectionType, fourBillion),
		section("4 billion functions", wat.SectionFunction, fourBillion),
		section("4 billion imports", wat.SectionImport, fourBillion),
		section("4 billion globals", wat.SectionGlobal, fourBillion),
		section("4 billion exports", wat.SectionExport, fourBillion),
		section("4 billion segments of a table", wat.SectionElement, fourBillion),
		section("4 billion segments of data", wat.SectionData, fourBillion),
		section("4 billion tables", wat.SectionTable, fourBillion),
		section("a table of 4 billion", wat.SectionTable, append([]byte{1, 0x70, 0}, fourBillion...)),
		section("a memory of 64 bits", wat.SectionMemory, []byte{1, 4, 1}),
		section("a shared memory", wat.SectionMemory, []byte{1, 3, 1, 2}),
		section("two memories", wat.SectionMemory, []byte{2, 0, 1, 0, 1}),
		section("no functions", wat.SectionFunction, []byte{0}),
		section("a section that does not exist", 13, []byte{0}),
		bad("table.grow", wat.Module{Table: []string{"$f"}, Funcs: []wat.Func{{Name: "f", Sig: "->", Code: "ref.null i32.const 1000000 table.grow 0 drop"}}}),
		bad("vectors", wat.Module{Funcs: []wat.Func{{Sig: "->", Code: "v128.const0 drop"}}}),
		bad("atomics", wat.Module{Funcs: []wat.Func{{Sig: "->", Code: "atomic.fence"}}}),
		bad("tail calls", wat.Module{Funcs: []wat.Func{{Name: "f", Sig: "->", Code: "return_call $f"}}}),
		bad("many bulk instructions", wat.Module{Funcs: []wat.Func{{Sig: "->", Code: strings.Repeat("i32.const 0 i32.const 0 i32.const 0 memory.fill ", 300)}}}),
		bad("data outside of the memory", wat.Module{Data: []wat.Data{{At: -1, Bytes: "x"}}}),
		bad("elements outside of the table", wat.Module{Table: []string{"$handle"}, Replace: map[byte][]byte{wat.SectionElement: {1, 0, 0x41, 0x7f, 0x0b, 1, 0}}}),
	}
}

// wasmContract are modules that do not keep the interface.
func wasmContract() []Attack {
	imports := func(module, name, sig string) []wat.Import {
		return []wat.Import{{Module: module, Name: name, Sig: sig}}
	}
	funcs := func(name string, list ...wat.Func) Attack {
		m := wat.Module{Memory: "1", Funcs: list}
		return loads(name, m.Bytes())
	}
	marker := wat.Func{Export: "pipeline_abi_1", Sig: "->"}
	alloc := wat.Func{Export: "pipeline_alloc", Sig: "i32->i32", Code: "i32.const 16"}
	handle := wat.Func{Export: "handle", Sig: "i32 i32->i64", Code: "i64.const 0"}
	noMemory := wat.Module{Funcs: []wat.Func{marker, alloc, handle}}
	initialize := func(code string) wat.Module {
		return wat.Module{Funcs: []wat.Func{{Export: "_initialize", Sig: "->", Code: code}}}
	}
	return []Attack{
		loads("no memory", noMemory.Bytes()),
		bad("a memory that is not exported", wat.Module{Hidden: true}),
		funcs("no marker", alloc, handle),
		funcs("two markers", marker, wat.Func{Export: "pipeline_abi_2", Sig: "->"}, alloc, handle),
		funcs("a marker of another version", wat.Func{Export: "pipeline_abi_7", Sig: "->"}, alloc, handle),
		funcs("no alloc", marker, handle),
		funcs("alloc of another type", marker, wat.Func{Export: "pipeline_alloc", Sig: "i64->i64", Code: "i64.const 16"}, handle),
		funcs("no handler", marker, alloc),
		funcs("a handler of another type", marker, alloc, wat.Func{Export: "handle", Sig: "i32 i32->i32", Code: "i32.const 0"}),
		bad("import of a socket", wat.Module{Imports: imports("wasi_snapshot_preview1", "sock_accept", "i32 i32 i32->i32")}),
		bad("import of files", wat.Module{Imports: imports("wasi_snapshot_preview1", "path_open", "i32 i32 i32 i32 i32 i64 i64 i32 i32->i32")}),
		bad("import of another type", wat.Module{Imports: imports("pipeline", "now", "->i32")}),
		bad("import without its grant", wat.Module{Imports: imports("pipeline", "log", "i32 i32 i32 i32 i32->")}),
		bad("import of the host's own", wat.Module{Imports: imports("pipeline:host", "refuel", "i64->i64")}),
		bad("import of the memory", wat.Module{Replace: map[byte][]byte{wat.SectionImport: append(wat.Text(wat.Text([]byte{1}, "env"), "memory"), 2, 0, 1)}}),
		bad("import of a global", wat.Module{Replace: map[byte][]byte{wat.SectionImport: append(wat.Text(wat.Text([]byte{1}, "env"), "sp"), 3, 0x7f, 1)}}),
		bad("an export that is reserved", wat.Module{Funcs: []wat.Func{{Export: "pipeline:fuel", Sig: "->"}}}),
		bad("_initialize that never ends", initialize("loop br 0 end")),
		bad("_initialize that traps", initialize("unreachable")),
		bad("_initialize that calls itself", initialize("call $_initialize")),
		bad("_initialize of another type", wat.Module{Funcs: []wat.Func{{Export: "_initialize", Sig: "->i32", Code: "i32.const 0"}}}),
	}
}

// wasmCompiler are modules that keep the compiler busy: some just within the
// bounds, some beyond them, which some took minutes and gigabytes before there
// were any.
func wasmCompiler() []Attack {
	work := func(name string, m wat.Module) Attack {
		return Attack{Name: "source: " + name, Code: wat.Handler("", "i64.const 0", m), Ends: []string{"ack", "load"}, Loads: true}
	}
	function := func(locals int, code string) wat.Module {
		return wat.Module{Funcs: []wat.Func{{Sig: "->", Locals: strings.Repeat("i64 ", locals), Code: code}}}
	}
	sets := func(n, locals int) string {
		var b strings.Builder
		for i := range n {
			fmt.Fprintf(&b, "local.get %d local.set %d ", i%locals, (i*7+1)%locals)
		}
		return b.String()
	}
	table := func(n, targets int) string {
		return strings.Repeat("block i32.const 0 br_table "+strings.Repeat("0 ", targets)+"end ", n)
	}
	loops := func(n int, code string) string { return strings.Repeat("loop "+code+"i32.const 0 br_if 0 end ", n) }
	small := func(n int) (out []wat.Func) {
		for range n {
			out = append(out, wat.Func{Sig: "->", Code: "loop end"})
		}
		return out
	}
	globals := func(n, calls int) wat.Module {
		m := wat.Module{Funcs: []wat.Func{{Name: "f", Sig: "->"}, {Sig: "->", Code: strings.Repeat("call $f ", calls)}}}
		for range n {
			m.Globals = append(m.Globals, wat.Global{Type: "i64", Mutable: true})
		}
		return m
	}
	sum := func(n int) wat.Module {
		return wat.Module{Funcs: []wat.Func{{Sig: "->i64", Code: strings.Repeat("i64.const 1 ", n) + strings.Repeat("i64.add ", n-1)}}}
	}
	return []Attack{
		work("many loops", function(70, loops(2000, sets(10, 70)))),
		work("far too many loops", function(4990, loops(2500, sets(20, 4990)))),
		work("deep loops with many locals", function(200, strings.Repeat("loop ", 990)+sets(1000, 200)+strings.Repeat("end ", 990))),
		work("deep loops with far too many locals", function(4990, strings.Repeat("loop ", 900)+sets(20_000, 4990)+strings.Repeat("end ", 900))),
		work("many ifs", function(990, strings.Repeat("i32.const 0 if "+sets(4, 990)+"end ", 5400))),
		work("far too many ifs", function(4990, strings.Repeat("i32.const 0 if "+sets(1, 4990)+"end ", 20_000))),
		work("a jump table", function(0, table(1, 9_999))),
		work("many small jump tables", function(0, table(1_300, 10))),
		work("far too many jump tables", function(0, table(50, 9_999))),
		work("far too many small jump tables", function(0, table(10_000, 10))),
		work("many functions", wat.Module{Funcs: small(19_000)}),
		work("many calls and globals", globals(900, 550)),
		work("far too many calls and globals", globals(900, 4_500)),
		work("a long expression", sum(49_000)),
		work("a very long expression", sum(100_000)),
		work("a row of bulk instructions", function(0, strings.Repeat("i32.const 0 i32.const 0 i32.const 0 memory.copy ", 256))),
		work("names without end", wat.Module{Replace: map[byte][]byte{wat.SectionCustom: append(wat.Text(nil, "name"), 1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0xff)}}),
	}
}
