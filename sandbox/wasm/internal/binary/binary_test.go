package binary

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pipeline/sandbox/sandboxtest"
	"pipeline/sandbox/sandboxtest/wat"
)

// TestRefusals holds what is refused against its words: what is wrong, where,
// and what to change.
func TestRefusals(t *testing.T) {
	body := func(raw []byte) []byte {
		return wat.Handler("", "i64.const 0", wat.Module{Funcs: []wat.Func{{Export: "count", Sig: "->", Raw: raw}}})
	}
	section := func(id byte, bytes ...byte) []byte {
		return wat.Handler("", "i64.const 0", wat.Module{Replace: map[byte][]byte{id: bytes}})
	}
	code := func(text string) []byte {
		return wat.Handler("", "i64.const 0", wat.Module{Table: []string{"$count"}, Funcs: []wat.Func{{Export: "count", Sig: "->", Code: text}}})
	}
	tests := map[string]struct {
		code         []byte
		text, remedy string
	}{
		"a script":      {[]byte("function handle() end"), "this is not a WASM module", "build one"},
		"a component":   {[]byte("\x00asm\x0d\x00\x01\x00"), "of another version or kind of WASM than 1", "core module"},
		"too large":     {make([]byte, MaxModule+1), "the module is 16777217 bytes long", "without debug information"},
		"start section": {wat.Handler("", "i64.const 0", wat.Module{Start: "f", Funcs: []wat.Func{{Name: "f", Sig: "->"}}}), "start section", "_initialize"},
		"locals":        {body([]byte{1, 0xff, 0xff, 0xff, 0xff, 0x0f, 0x7e, 0x0b}), "function count has more than 5000 locals", "split it"},
		"jump table":    {body([]byte{0, 0x41, 0, 0x0e, 0xc0, 0x84, 0x3d, 0, 0x0b}), "function count: a jump table (br_table) has 1000000 targets; it may have 10000", "split the switch"},
		"nesting":       {code(strings.Repeat("block ", 1000) + strings.Repeat("end ", 1000)), "function count nests blocks more than 1000 deep", "split it"},
		"body":          {code(strings.Repeat("nop ", MaxBody)), "function count is 524290 bytes long", "split it"},
		"length":        {code(strings.Repeat("nop ", MaxBodyLength)), "function count has 100001 instructions", "split it"},
		"branches":      {code(strings.Repeat("i32.const 0 if end ", 6000)), "function count has about 18000 ways", "split it"},
		"bulk":          {code(strings.Repeat("i32.const 0 i32.const 0 i32.const 0 memory.fill ", 257)), "function count has more than 256 instructions that copy", "split it"},
		"table.grow":    {code("ref.null i32.const 1 table.grow 0 drop"), "function count: the module grows a table", "give the table its size"},
		"vectors":       {code("v128.const0 drop"), "function count: the module uses vectors (SIMD)", "simd128"},
		"atomics":       {code("atomic.fence"), "function count: the module uses atomic instructions", "without threads"},
		"tail calls":    {code("return_call $count"), "function count: the module uses tail calls", "tail-call"},
		"table":         {section(SectionTable, 1, FuncRef, 0, 0xff, 0xff, 0xff, 0x0f), "table 0 has 33554431 elements; it may have 100000", "smaller"},
		"shared memory": {section(SectionMemory, 1, 3, 1, 2), "the memory of the module is shared or has 64-bit addresses", "wasm32"},
		"memory import": {section(SectionImport, append(wat.Text(wat.Text([]byte{1}, "env"), "memory"), 2, 0, 1)...), "the module imports its memory", "--import-memory"},
		"global import": {section(SectionImport, append(wat.Text(wat.Text([]byte{1}, "env"), "sp"), 3, I32, 1)...), "env.sp, which is not a function", "only functions"},
		"functions":     {section(SectionFunction, 0xff, 0xff, 0xff, 0xff, 0x0f), "the module has 4294967295 functions; a handler's module may have 20000", "does not need"},
		"no memory":     {(&wat.Module{Funcs: []wat.Func{{Sig: "->"}}}).Bytes(), "the module has no memory", "exports as `memory`"},
		"data":          {wat.Handler("", "i64.const 0", wat.Module{Memory: "1", Data: []wat.Data{{At: 65535, Bytes: "xy"}}}), "data beyond the 64 KiB", "more memory"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			start := time.Now()
			_, err := Parse(test.code)
			p, ok := errors.AsType[*RefusedError](err)
			if !ok {
				t.Fatalf("got %v, want a problem with %q", err, test.text)
			}
			if !strings.Contains(p.Text, test.text) || !strings.Contains(p.Remedy, test.remedy) {
				t.Errorf("got  %v\nwant %s; … %s", p, test.text, test.remedy)
			}
			if took := time.Since(start); took > 10*time.Second {
				t.Errorf("took %s", took)
			}
		})
	}
}

// TestParse reads a module of every kind of section.
func TestParse(t *testing.T) {
	m, err := Parse(wat.Handler("i32 i64", "i64.const 0", wat.Module{
		Imports: []wat.Import{{Module: "pipeline", Name: "now", Sig: "->i64"}}, Table: []string{"$f", "$now"},
		Globals: []wat.Global{{Type: "i32", Mutable: true, Init: -5}, {Type: "i64"}}, Data: []wat.Data{{At: 8, Bytes: "x"}},
		Funcs:   []wat.Func{{Name: "f", Sig: "f64 i32->f64", Code: "loop call $now drop i32.const 0 i32.const 0 i32.const 0 memory.fill i32.const 0 call_indirect -> end local.get 0"}},
		Replace: map[byte][]byte{SectionCustom: append(wat.Text(nil, "name"), 1, 6, 1, 4, 3, 'f', 'o', 'o')},
	}))
	if err != nil {
		t.Fatal(err)
	}
	f := m.Bodies[3]
	if len(m.Bodies) != 4 || f.Loops != 1 || f.Bulk != 1 || f.Calls != 1 || f.Count != 2 || m.Bodies[2].Count != 4 || m.Bodies[2].Groups != 2 {
		t.Errorf("%+v", m.Bodies)
	}
	if m.TypeOf(4).String() != "(f64, i32) -> f64" || m.TypeOf(0).String() != "() -> i64" {
		t.Errorf("types %s, %s", m.TypeOf(4), m.TypeOf(0))
	}
	for index, want := range map[uint32]string{0: "pipeline.now", 3: "handle", 4: "foo"} {
		if got := m.FunctionName(index); got != want {
			t.Errorf("function %d is %s, want %s", index, got, want)
		}
	}
	if len(m.Elements) != 1 || m.Elements[0].Functions[1] != 0 || len(m.Globals) != 2 || m.Memory.Min != 32 {
		t.Errorf("%+v %+v %+v", m.Elements, m.Globals, m.Memory)
	}
}

// FuzzParse reads any bytes.
func FuzzParse(f *testing.F) {
	for _, a := range sandboxtest.WASMAttacks() {
		if len(a.Code) < 2000 {
			f.Add(a.Code)
		}
	}
	f.Fuzz(func(t *testing.T, code []byte) {
		m, err := Parse(code)
		if err != nil {
			if _, ok := errors.AsType[*RefusedError](err); !ok || err.Error() == "" {
				t.Fatalf("%T: %v", err, err)
			}
			return
		}
		for i := range m.Bodies {
			n := uint32(0)
			s := m.Scan(&m.Bodies[i])
			for _, ok := s.Next(); ok; _, ok = s.Next() {
				n++
			}
			if n != m.Bodies[i].Instructions {
				t.Fatalf("scanned %d of %d instructions", n, m.Bodies[i].Instructions)
			}
		}
	})
}
