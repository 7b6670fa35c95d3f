package fuel

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"
	"pgregory.net/rapid"

	"pipeline/sandbox/sandboxtest/wat"
	"pipeline/sandbox/wasm/internal/binary"
)

// run calls `main` of a module, rewritten or as it is, and returns its result
// and error, what its global 0 has counted, and the fuel that it used.
func run(t interface{ Fatal(...any) }, code []byte, rewrite bool) (result uint64, counted, used int64, err error) {
	ctx := context.Background()
	r := wazero.NewRuntimeWithConfig(ctx, wazero.NewRuntimeConfig())
	defer r.Close(ctx)
	if rewrite {
		m, err := binary.Parse(code)
		if err != nil {
			t.Fatal(err)
		}
		code = Rewrite(m, 100)
		host(ctx, t, r, &used)
	}
	module, err := r.Instantiate(ctx, code)
	if err != nil {
		t.Fatal("instantiate:", err)
	}
	results, err := module.ExportedFunction("main").Call(ctx, 3, 5)
	if err == nil {
		result = results[0]
	}
	if rewrite {
		used -= int64(module.ExportedGlobal(Counter).Get())
	}
	return result, int64(module.ExportedGlobal("count").Get()), used, err
}

const slice = 100

// host counts the slices of fuel that are asked for.
func host(ctx context.Context, t interface{ Fatal(...any) }, r wazero.Runtime, given *int64) {
	refuel := func(_ context.Context, stack []uint64) {
		for int64(stack[0]) < 0 {
			*given += slice
			stack[0] += slice
		}
	}
	grow := func(_ context.Context, m api.Module, stack []uint64) {
		before, ok := m.Memory().Grow(uint32(stack[0]))
		if stack[0] = uint64(before); !ok {
			stack[0] = uint64(^uint32(0))
		}
	}
	deep := func(context.Context, []uint64) { panic("deep") }
	i32, i64 := []api.ValueType{api.ValueTypeI32}, []api.ValueType{api.ValueTypeI64}
	b := r.NewHostModuleBuilder(Host)
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(refuel), i64, i64).Export(Refuel)
	b.NewFunctionBuilder().WithGoModuleFunction(api.GoModuleFunc(grow), i32, i32).Export(Grow)
	b.NewFunctionBuilder().WithGoFunction(api.GoFunc(deep), nil, nil).Export(Deep)
	if _, err := b.Instantiate(ctx); err != nil {
		t.Fatal(err)
	}
}

// programs draws modules of a few functions that end: loops count down, and a
// function calls only those before it. Each statement counts itself in global
// 0, with four instructions.
func programs() *rapid.Generator[[]byte] {
	return rapid.Custom(func(t *rapid.T) []byte {
		m := wat.Module{
			Memory: "1 10", Globals: []wat.Global{{Type: "i64", Mutable: true}}, Table: []string{"$f0", "$f0"},
			Replace: map[byte][]byte{},
		}
		n := rapid.IntRange(1, 4).Draw(t, "functions")
		for i := range n {
			g := generator{t: t, function: i}
			code := g.block(0, "") + g.expr(2)
			f := wat.Func{Name: fmt.Sprintf("f%d", i), Sig: "i32 i32->i32", Locals: "i32 i32 i32 i32 i32 i32", Code: code}
			if i == n-1 {
				f.Export = "main"
			}
			m.Funcs = append(m.Funcs, f)
		}
		export := append(wat.Text([]byte{3}, "memory"), 2, 0)
		export = wat.U32(append(wat.Text(export, "main"), 0), uint32(n-1))
		m.Replace[wat.SectionExport] = append(wat.Text(export, "count"), 3, 0)
		return m.Bytes()
	})
}

// generator writes the code of one function. Locals 0 to 3 are its variables,
// those from 4 on count its loops down, by how deep they are.
type generator struct {
	t        *rapid.T
	function int
	loops    int
	budget   int
}

const countStatement = "global.get 0 i64.const 1 i64.add global.set 0 "

// block is a few statements. labels are the open blocks within the function,
// the innermost last: f for one whose label leads forward, b for a loop.
func (g *generator) block(depth int, labels string) string {
	var b strings.Builder
	for range rapid.IntRange(0, 3).Draw(g.t, "statements") {
		b.WriteString(countStatement + g.statement(depth, labels))
	}
	return b.String()
}

func (g *generator) statement(depth int, labels string) string {
	if g.budget++; g.budget > 40 {
		depth = 3
	}
	kind := rapid.IntRange(0, 11).Draw(g.t, "kind")
	if depth >= 3 && kind >= 3 && kind <= 6 {
		kind = 0
	}
	switch kind {
	case 3:
		return g.expr(1) + "if " + g.block(depth+1, labels+"f") + "else " + g.block(depth+1, labels+"f") + "end "
	case 4:
		return g.expr(1) + "if " + g.block(depth+1, labels+"f") + "end "
	case 5:
		return "block " + g.block(depth+1, labels+"f") + "end "
	case 6:
		return g.loop(depth, labels)
	case 7:
		if labels != "" {
			return g.expr(1) + "br_if " + g.target(labels)
		}
	case 8:
		return g.expr(0) + "if " + g.expr(1) + "return end "
	case 9:
		labels += "ff"
		return g.expr(1) + "if block " + g.expr(1) + "br_table " + g.target(labels) + g.target(labels) + g.target(labels) + "end end "
	case 10:
		return "i32.const 64 i32.const 7 " + g.expr(0) + "i32.const 1023 i32.and memory.fill i32.const 0 memory.grow drop "
	}
	return g.expr(2) + fmt.Sprintf("local.set %d ", rapid.IntRange(0, 3).Draw(g.t, "local"))
}

// target is a label that leads forward. The innermost always does.
func (g *generator) target(labels string) string {
	i := rapid.IntRange(0, len(labels)-1).Draw(g.t, "label")
	if labels[len(labels)-1-i] == 'b' {
		i--
	}
	return fmt.Sprintf("%d ", i)
}

// loop goes round a few times. Its body is a block, so that the innermost
// label always leads forward.
func (g *generator) loop(depth int, labels string) string {
	if g.loops == 4 {
		return ""
	}
	counter := 4 + g.loops
	g.loops++
	body := g.block(depth+1, labels+"bf")
	g.loops--
	times := rapid.IntRange(1, 5).Draw(g.t, "times")
	return fmt.Sprintf("i32.const %d local.set %d loop block %s end local.get %d i32.const 1 i32.sub local.tee %d br_if 0 end ", times, counter, body, counter, counter)
}

// expr leaves an i32.
func (g *generator) expr(depth int) string {
	kind := rapid.IntRange(0, 6).Draw(g.t, "expr")
	if depth == 0 {
		kind %= 2
	}
	switch kind {
	case 0:
		return fmt.Sprintf("i32.const %d ", rapid.IntRange(-3, 70).Draw(g.t, "const"))
	case 1:
		return fmt.Sprintf("local.get %d ", rapid.IntRange(0, 5).Draw(g.t, "get"))
	case 2:
		return g.expr(depth-1) + g.expr(depth-1) + rapid.SampledFrom([]string{"i32.add ", "i32.mul ", "i32.xor ", "i32.lt_s ", "i32.div_s "}).Draw(g.t, "op")
	case 3:
		if g.function > 0 {
			return g.expr(depth-1) + g.expr(depth-1) + fmt.Sprintf("call $f%d ", rapid.IntRange(0, g.function-1).Draw(g.t, "callee"))
		}
	case 4:
		if g.function > 0 {
			return g.expr(depth-1) + g.expr(depth-1) + g.expr(0) + "i32.const 1 i32.and call_indirect i32,i32->i32 "
		}
	case 5:
		return g.expr(depth-1) + "if i32 " + g.expr(depth-1) + "else " + g.expr(depth-1) + "end "
	}
	return g.expr(0) + "i32.const 63 i32.and i32.load 0 "
}

// TestRewriting holds random programs against themselves: the same result or
// trap, and everything executed paid for, without paying for much more.
func TestRewriting(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		code := programs().Draw(t, "program")
		want, counted, _, wantErr := run(t, code, false)
		got, again, used, err := run(t, code, true)
		if got != want || (err == nil) != (wantErr == nil) || again != counted {
			t.Fatalf("rewritten: %d, %v after %d statements; as it is: %d, %v after %d", got, err, again, want, wantErr, counted)
		}
		if err == nil && used < 4*counted {
			t.Fatalf("%d statements of at least 4 instructions used %d fuel", counted, used)
		}
		if _, _, twice, _ := run(t, code, true); twice != used {
			t.Fatalf("used %d, and then %d", used, twice)
		}
	})
}

// TestExactFuel holds small programs against what they have to cost.
func TestExactFuel(t *testing.T) {
	tests := map[string]struct {
		code string
		want int64
	}{
		"straight":           {"nop nop i32.const 1", Call + 3},
		"a loop of three":    {"i32.const 3 local.set 2 loop local.get 2 i32.const 1 i32.sub local.tee 2 br_if 0 end i32.const 1", Call + 2 + 3*5 + 1},
		"a branch not taken": {"i32.const 0 if nop nop nop end i32.const 1", Call + 2 + 3 + 1},
		"a far jump": {"block i32.const 1 br_if 0 " + strings.Repeat("nop ", 1000) + "end i32.const 1",
			Call + 2 + stretch - Call - 2 + 1},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			m := wat.Module{Memory: "1", Globals: []wat.Global{{Type: "i64", Mutable: true}}, Funcs: []wat.Func{
				{Export: "main", Sig: "i32 i32->i32", Locals: "i32", Code: test.code},
			}}
			export := append(wat.Text([]byte{2}, "main"), 0, 0)
			m.Replace = map[byte][]byte{wat.SectionExport: append(wat.Text(export, "count"), 3, 0)}
			_, _, used, err := run(t, m.Bytes(), true)
			if err != nil || used != test.want {
				t.Errorf("used %d, want %d; %v", used, test.want, err)
			}
		})
	}
}

// TestLoopOfValues runs a loop that is given values and gives one back, across
// several slices of fuel.
func TestLoopOfValues(t *testing.T) {
	m := wat.Module{Memory: "1", Globals: []wat.Global{{Type: "i64", Mutable: true}}, Funcs: []wat.Func{{
		Export: "main", Sig: "i32 i32->i32", Raw: []byte{
			1, 2, 0x7f, // two locals
			0x41, 1, 0x41, 30, // 1 and 30
			0x03, 0, // a loop of (i32, i32) -> i32
			0x21, 3, 0x41, 2, 0x6c, 0x21, 2, // twice the first
			0x20, 3, 0x41, 1, 0x6b, 0x21, 3, // one less of the second
			0x20, 2, 0x20, 3, 0x20, 3, 0x0d, 0, // again, until that is zero
			0x1a, 0x0b, 0x0b,
		},
	}}}
	export := append(wat.Text([]byte{2}, "main"), 0, 0)
	m.Replace = map[byte][]byte{wat.SectionExport: append(wat.Text(export, "count"), 3, 0)}
	want, _, _, err := run(t, m.Bytes(), false)
	if err != nil || want != 1<<30 {
		t.Fatalf("as it is: %d, %v", want, err)
	}
	got, _, used, err := run(t, m.Bytes(), true)
	if err != nil || got != want || used != Call+2+30*13 {
		t.Errorf("rewritten: %d, %v, with %d fuel", got, err, used)
	}
}
