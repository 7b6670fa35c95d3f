// Package wat writes WebAssembly modules for tests: honest ones in a notation
// close to the text format, and broken ones that no compiler would write.
package wat

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// Module is a module to be written.
type Module struct {
	Imports []Import
	// Memory is "MIN" or "MIN MAX" in pages; "" is none.
	Memory string
	// Hidden keeps the memory from being exported.
	Hidden bool
	// Table lists the functions of a table of that size.
	Table   []string
	Globals []Global
	Funcs   []Func
	Data    []Data
	// Start is the function of a start section, "" none.
	Start string
	// Replace gives whole sections by their number, instead of or besides what
	// is written of the rest.
	Replace map[byte][]byte
}

// Import is a function to be imported; it is called as $NAME.
type Import struct{ Module, Name, Sig string }

// Global is a global; it is used by its index.
type Global struct {
	Type    string
	Mutable bool
	Init    int64
}

// Func is a function. Sig is "i32 i32 -> i64", Locals "i32 i64", Code a text of
// instructions without brackets: "local.get 0 call $f drop". Calls name
// functions with a dollar, or by their index.
type Func struct {
	Name, Export, Sig, Locals, Code string
	// Raw is used instead of Locals and Code: the body from the declarations
	// of its locals on.
	Raw []byte
}

// Data is a segment of the memory.
type Data struct {
	At    int32
	Bytes string
}

// Bytes writes the module. It panics at a mistake in it.
func (m *Module) Bytes() []byte {
	w := writer{m: m}
	sections := map[byte][]byte{}
	imports := w.imports()
	functions := w.functions()
	code := w.code()
	sections[SectionImport], sections[SectionFunction], sections[SectionCode] = imports, functions, code
	sections[SectionMemory], sections[SectionGlobal] = w.memory(), w.globals()
	sections[SectionExport], sections[SectionData] = w.exports(), w.data()
	sections[SectionTable], sections[SectionElement] = w.table()
	if m.Start != "" {
		sections[SectionStart] = U32(nil, w.function("$"+m.Start))
	}
	sections[SectionType] = w.types()
	maps.Copy(sections, m.Replace)
	out := []byte("\x00asm\x01\x00\x00\x00")
	for _, id := range []byte{1, 2, 3, 4, 5, 6, 7, 8, 9, 12, 10, 11, 0, 13} {
		if body, ok := sections[id]; ok && body != nil {
			out = append(U32(append(out, id), uint32(len(body))), body...)
		}
	}
	return out
}

type writer struct {
	m    *Module
	sigs []string
}

// sig is the index of a type.
func (w *writer) sig(s string) uint32 {
	params, results, _ := strings.Cut(s, "->")
	s = strings.Join(strings.Fields(params), " ") + "->" + strings.Join(strings.Fields(results), " ")
	if i := slices.Index(w.sigs, s); i >= 0 {
		return uint32(i)
	}
	w.sigs = append(w.sigs, s)
	return uint32(len(w.sigs)) - 1
}

// function is the index of a function, "$name" or a number.
func (w *writer) function(name string) uint32 {
	bare, ok := strings.CutPrefix(name, "$")
	if !ok {
		return uint32(number(name))
	}
	for i, x := range w.m.Imports {
		if x.Name == bare {
			return uint32(i)
		}
	}
	for i, f := range w.m.Funcs {
		if f.Name == bare || f.Export == bare {
			return uint32(len(w.m.Imports) + i)
		}
	}
	panic("no function " + name)
}

func valueType(name string) byte {
	switch name {
	case "i32":
		return typeI32
	case "i64":
		return typeI64
	case "f32":
		return typeF32
	case "f64":
		return typeF64
	case "funcref":
		return typeFuncRef
	case "externref":
		return typeExternRef
	}
	panic("no type " + name)
}

func valueTypes(list string) []byte {
	names := strings.Fields(list)
	out := U32(nil, uint32(len(names)))
	for _, n := range names {
		out = append(out, valueType(n))
	}
	return out
}

func (w *writer) types() []byte {
	out := U32(nil, uint32(len(w.sigs)))
	for _, s := range w.sigs {
		params, results, _ := strings.Cut(s, "->")
		out = append(append(append(out, 0x60), valueTypes(params)...), valueTypes(results)...)
	}
	return out
}

func (w *writer) imports() []byte {
	if len(w.m.Imports) == 0 {
		return nil
	}
	out := U32(nil, uint32(len(w.m.Imports)))
	for _, i := range w.m.Imports {
		out = append(Text(Text(out, i.Module), i.Name), kindFunc)
		out = U32(out, w.sig(i.Sig))
	}
	return out
}

func (w *writer) functions() []byte {
	out := U32(nil, uint32(len(w.m.Funcs)))
	for _, f := range w.m.Funcs {
		out = U32(out, w.sig(f.Sig))
	}
	return out
}

func (w *writer) memory() []byte {
	var least, most uint32
	switch n, _ := fmt.Sscan(w.m.Memory, &least, &most); n {
	case 0:
		return nil
	case 1:
		return U32([]byte{1, 0}, least)
	}
	return U32(U32([]byte{1, 1}, least), most)
}

func (w *writer) table() (table, elements []byte) {
	if w.m.Table == nil {
		return nil, nil
	}
	n := uint32(len(w.m.Table))
	table = U32([]byte{1, typeFuncRef, 0}, n)
	elements = U32([]byte{1, 0, 0x41, 0, opEnd}, n)
	for _, f := range w.m.Table {
		elements = U32(elements, w.function(f))
	}
	return table, elements
}

func (w *writer) globals() []byte {
	if len(w.m.Globals) == 0 {
		return nil
	}
	out := U32(nil, uint32(len(w.m.Globals)))
	for _, g := range w.m.Globals {
		out = append(out, valueType(g.Type), 0)
		if g.Mutable {
			out[len(out)-1] = 1
		}
		constant := byte(0x41)
		if g.Type == "i64" {
			constant = 0x42
		}
		out = append(S64(append(out, constant), g.Init), opEnd)
	}
	return out
}

func (w *writer) exports() []byte {
	var out []byte
	n := uint32(0)
	if w.m.Memory != "" && !w.m.Hidden {
		out = append(Text(out, "memory"), kindMemory, 0)
		n++
	}
	for i, f := range w.m.Funcs {
		if f.Export != "" {
			out = append(Text(out, f.Export), kindFunc)
			out = U32(out, uint32(len(w.m.Imports)+i))
			n++
		}
	}
	return append(U32(nil, n), out...)
}

func (w *writer) data() []byte {
	if len(w.m.Data) == 0 {
		return nil
	}
	out := U32(nil, uint32(len(w.m.Data)))
	for _, d := range w.m.Data {
		out = append(S64(append(out, 0, 0x41), int64(d.At)), opEnd)
		out = Text(out, d.Bytes)
	}
	return out
}

func (w *writer) code() []byte {
	out := U32(nil, uint32(len(w.m.Funcs)))
	for _, f := range w.m.Funcs {
		body := f.Raw
		if body == nil {
			locals := strings.Fields(f.Locals)
			body = U32(nil, uint32(len(locals)))
			for _, l := range locals {
				body = append(body, 1, valueType(l))
			}
			body = append(w.assemble(body, f.Code), opEnd)
		}
		out = append(U32(out, uint32(len(body))), body...)
	}
	return out
}
