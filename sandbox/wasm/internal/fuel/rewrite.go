package fuel

import (
	"slices"

	"pipeline/sandbox/wasm/internal/binary"
)

// Places of the functions that are added, after the module's own imports.
const (
	refuel uint32 = iota
	grow
	deep
	added
)

// rewriter rewrites one module.
type rewriter struct {
	m *binary.Module
	// types are the module's and those that are added.
	types []binary.FuncType
	// host is the index of the first function that is added; fuel and depth
	// are those of the globals.
	host, fuel, depth uint32
	results           map[string]uint32
}

// Rewrite returns the module with accounts. Its memory never grows beyond that
// many pages. The module must have come out of binary.Parse.
func Rewrite(m *binary.Module, pages uint32) []byte {
	w := &rewriter{
		m: m, types: slices.Clone(m.Types), results: map[string]uint32{},
		host: uint32(len(m.Imports)), fuel: uint32(len(m.Globals)), depth: uint32(len(m.Globals)) + 1,
	}
	imports := w.imports()
	code := w.code() // may add types
	out := []byte("\x00asm\x01\x00\x00\x00")
	out = binary.AppendSection(out, binary.SectionType, w.typeSection())
	out = binary.AppendSection(out, binary.SectionImport, imports)
	out = binary.AppendSection(out, binary.SectionFunction, vector(nil, m.Functions, binary.AppendU32))
	out = binary.AppendSection(out, binary.SectionTable, m.TableSection)
	out = binary.AppendSection(out, binary.SectionMemory, w.memory(pages))
	out = binary.AppendSection(out, binary.SectionGlobal, w.globals())
	out = binary.AppendSection(out, binary.SectionExport, w.exports())
	out = binary.AppendSection(out, binary.SectionElement, w.elements())
	out = binary.AppendSection(out, binary.SectionDataCount, m.DataCount)
	out = binary.AppendSection(out, binary.SectionCode, code)
	return binary.AppendSection(out, binary.SectionData, m.Data)
}

// function is the new index of a function.
func (w *rewriter) function(old uint32) uint32 {
	if old < w.host {
		return old
	}
	return old + added
}

// Original is the index in the module as it was of a function of the rewritten
// one. It reports false for what was added.
func Original(m *binary.Module, function uint32) (uint32, bool) {
	own := uint32(len(m.Imports))
	switch {
	case function < own:
		return function, true
	case function < own+added:
		return 0, false
	}
	return function - added, true
}

func (w *rewriter) constant(expr []byte) []byte { return binary.MapConstant(expr, w.function) }

// vector appends a list with its length before it.
func vector[T any](dst []byte, list []T, item func([]byte, T) []byte) []byte {
	dst = binary.AppendU32(dst, uint32(len(list)))
	for _, x := range list {
		dst = item(dst, x)
	}
	return dst
}

// addType returns the index of a type that is added.
func (w *rewriter) addType(t binary.FuncType) uint32 {
	w.types = append(w.types, t)
	return uint32(len(w.types)) - 1
}

func (w *rewriter) typeSection() []byte {
	return vector(nil, w.types, func(dst []byte, t binary.FuncType) []byte {
		dst = append(dst, 0x60)
		dst = append(binary.AppendU32(dst, uint32(len(t.Params))), t.Params...)
		return append(binary.AppendU32(dst, uint32(len(t.Results))), t.Results...)
	})
}

func (w *rewriter) imports() []byte {
	all := append(slices.Clone(w.m.Imports),
		binary.Import{Module: Host, Name: Refuel, Type: w.addType(binary.FuncType{Params: []byte{binary.I64}, Results: []byte{binary.I64}})},
		binary.Import{Module: Host, Name: Grow, Type: w.addType(binary.FuncType{Params: []byte{binary.I32}, Results: []byte{binary.I32}})},
		binary.Import{Module: Host, Name: Deep, Type: w.addType(binary.FuncType{})})
	return vector(nil, all, func(dst []byte, i binary.Import) []byte {
		dst = binary.AppendName(binary.AppendName(dst, i.Module), i.Name)
		return binary.AppendU32(append(dst, binary.KindFunc), i.Type)
	})
}

func (w *rewriter) memory(pages uint32) []byte {
	most := pages
	if w.m.Memory.HasMax {
		most = min(most, w.m.Memory.Max)
	}
	return binary.AppendU32(binary.AppendU32([]byte{1, 1}, w.m.Memory.Min), most)
}

func (w *rewriter) globals() []byte {
	all := append(slices.Clone(w.m.Globals),
		binary.Global{Type: binary.I64, Mutable: true, Init: []byte{0x42, 0, binary.OpEnd}},
		binary.Global{Type: binary.I32, Mutable: true, Init: []byte{0x41, 0, binary.OpEnd}})
	return vector(nil, all, func(dst []byte, g binary.Global) []byte {
		dst = append(dst, g.Type, 0)
		if g.Mutable {
			dst[len(dst)-1] = 1
		}
		return append(dst, w.constant(g.Init)...)
	})
}

func (w *rewriter) exports() []byte {
	all := append(slices.Clone(w.m.Exports), binary.Export{Name: Counter, Kind: binary.KindGlobal, Index: w.fuel})
	return vector(nil, all, func(dst []byte, e binary.Export) []byte {
		if e.Kind == binary.KindFunc {
			e.Index = w.function(e.Index)
		}
		return binary.AppendU32(append(binary.AppendName(dst, e.Name), e.Kind), e.Index)
	})
}

func (w *rewriter) elements() []byte {
	if len(w.m.Elements) == 0 {
		return nil
	}
	dst := binary.AppendU32(nil, uint32(len(w.m.Elements)))
	for i := range w.m.Elements {
		dst = binary.AppendElement(dst, &w.m.Elements[i], w.function, w.constant)
	}
	return dst
}
