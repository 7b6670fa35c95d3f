package binary

// Parse reads a module and holds it against the bounds. The module keeps
// parts of code. It takes time in proportion to its length. A problem is a
// *RefusedError.
func Parse(code []byte) (*Module, error) {
	if len(code) > MaxModule {
		return nil, refuse("build it without debug information, optimised for size", "the module is %d bytes long; a handler's module may have %d", len(code), MaxModule)
	}
	if len(code) < 8 || string(code[:4]) != "\x00asm" {
		return nil, refuse("build one; `source` names the built .wasm file, not the source of it", "this is not a WASM module")
	}
	if string(code[4:8]) != "\x01\x00\x00\x00" {
		return nil, refuse("build a core module for wasm32; components cannot be run", "the module is of another version or kind of WASM than 1")
	}
	m := &Module{names: map[uint32]string{}}
	r := &reader{b: code, i: 8}
	var last int
	for r.more() {
		id := r.byte()
		body := r.part(r.u32())
		if place := order(id); id != SectionCustom {
			if place <= last {
				r.broken("its sections are out of order")
				break
			}
			last = place
		}
		m.section(id, body)
		if id != SectionCustom {
			body.end()
			r.adopt(body)
		}
	}
	if r.ok() {
		m.whole(r)
	}
	if r.bad != nil {
		return nil, r.bad
	}
	return m, nil
}

// adopt takes over the problem of a part.
func (r *reader) adopt(part *reader) {
	if part.bad != nil {
		r.fail(part.bad)
	}
}

// order is the place of a section among the others: the count of data
// segments stands before the code that needs it.
func order(id byte) int {
	switch id {
	case SectionDataCount:
		return 2*int(SectionElement) + 1
	default:
		return 2 * int(id)
	}
}

func (m *Module) section(id byte, r *reader) {
	switch id {
	case SectionCustom:
		m.custom(r)
	case SectionType:
		m.types(r)
	case SectionImport:
		m.imports(r)
	case SectionFunction:
		m.functionTypes(r)
	case SectionTable:
		m.TableSection = r.b
		m.tables(r)
	case SectionMemory:
		m.MemorySection = r.b
		m.memory(r)
	case SectionGlobal:
		m.globals(r)
	case SectionExport:
		m.exports(r)
	case SectionStart:
		r.fail(refuse("export the function as `_initialize` instead: build a library (a reactor), not a command with a main (AssemblyScript: --exportStart _initialize)", "the module has a start section, which runs before any limit holds"))
	case SectionElement:
		m.elements(r)
	case SectionCode:
		m.code(r)
	case SectionData:
		m.Data = r.b
		m.data(r)
	case SectionDataCount:
		m.DataCount = r.b
		m.dataCount, m.hasCount = r.u32(), true
	default:
		r.broken("it has an unknown section")
	}
}

// whole checks what concerns several sections.
func (m *Module) whole(r *reader) {
	if len(m.Bodies) != len(m.Functions) {
		r.broken("it declares other functions than it has")
	}
	if m.hasCount && m.dataCount != m.segments {
		r.broken("it announces other data than it has")
	}
	if m.memories == 0 {
		r.fail(refuse("build it with a memory of its own that it exports as `memory`", "the module has no memory"))
	}
	m.work(r)
}

func (m *Module) types(r *reader) {
	m.Types = make([]FuncType, r.count(MaxTypes, "types"))
	for i := range m.Types {
		if r.byte() != 0x60 {
			r.broken("a type is not one of a function")
		}
		m.Types[i] = FuncType{
			Params:  r.valueTypes(MaxParams, "parameters of one function"),
			Results: r.valueTypes(MaxResults, "results of one function"),
		}
		if !r.ok() {
			return
		}
	}
}

func (r *reader) valueTypes(most int, what string) []byte {
	types := r.take(uint32(r.count(most, what)))
	for _, t := range types {
		r.checkType(t)
	}
	return types
}

// checkType refuses what is no value type here.
func (r *reader) checkType(t byte) {
	switch t {
	case I32, I64, F32, F64, FuncRef, ExternRef:
	case 0x7b:
		r.vectors()
	default:
		r.broken("there is no such type of a value")
	}
}

func (r *reader) vectors() {
	r.fail(refuse("build it without SIMD (C and Rust: without the target feature simd128)", "the module uses vectors (SIMD), which handlers cannot"))
}

func (m *Module) imports(r *reader) {
	n := r.count(MaxImports, "imports")
	for range n {
		imp := Import{Module: r.name(), Name: r.name()}
		kind := r.byte()
		if !r.ok() {
			return
		}
		if kind == KindMemory {
			r.fail(refuse("let the module define and export its memory (AssemblyScript: without --importMemory; wasm-ld: without --import-memory)", "the module imports its memory"))
			return
		}
		if kind != KindFunc {
			r.fail(refuse("only functions can be imported", "the module imports %s, which is not a function", plain(imp.Module+"."+imp.Name)))
			return
		}
		imp.Type = r.index(len(m.Types), "type")
		m.Imports = append(m.Imports, imp)
	}
}

// index reads an index into something that has n.
func (r *reader) index(n int, what string) uint32 {
	v := r.u32()
	if r.bad == nil && uint64(v) >= uint64(n) {
		r.broken("it names a " + what + " that it does not have")
		return 0
	}
	return v
}

func (m *Module) functionTypes(r *reader) {
	m.Functions = make([]uint32, r.count(MaxFunctions, "functions"))
	for i := range m.Functions {
		m.Functions[i] = r.index(len(m.Types), "type")
	}
}

func (m *Module) tables(r *reader) {
	m.Tables = make([]Limits, r.count(MaxTables, "tables"))
	for i := range m.Tables {
		r.refType()
		m.Tables[i] = r.limits("a table")
		if l := m.Tables[i]; r.ok() && l.Min > MaxTable {
			r.fail(refuse("make it smaller", "table %d has %d elements; it may have %d", i, l.Min, MaxTable))
		}
	}
}

func (r *reader) refType() byte {
	t := r.byte()
	if r.bad == nil && t != FuncRef && t != ExternRef {
		r.broken("there is no such type of a reference")
	}
	return t
}

func (r *reader) limits(what string) Limits {
	flags := r.byte()
	if r.bad == nil && flags > 1 {
		r.fail(refuse("build it for wasm32 without threads", "%s of the module is shared or has 64-bit addresses", what))
	}
	l := Limits{Min: r.u32(), HasMax: flags == 1}
	if l.HasMax {
		l.Max = r.u32()
	}
	if r.bad == nil && l.HasMax && l.Max < l.Min {
		r.broken("the largest size of " + what + " is below the smallest")
	}
	return l
}

func (m *Module) memory(r *reader) {
	if m.memories = r.count(1, "memories"); m.memories == 1 {
		m.Memory = r.limits("the memory")
	}
}

func (m *Module) globals(r *reader) {
	m.Globals = make([]Global, 0, r.count(MaxGlobals, "globals"))
	for range cap(m.Globals) {
		g := Global{Type: r.byte()}
		r.checkType(g.Type)
		switch r.byte() {
		case 0:
		case 1:
			g.Mutable = true
		default:
			r.broken("a global neither changes nor stays")
		}
		if !r.ok() {
			return
		}
		g.Init = m.constant(r)
		m.Globals = append(m.Globals, g)
	}
}

// constant reads a constant expression: one instruction and `end`. Globals of
// other modules could stand there too; no module has any.
func (m *Module) constant(r *reader) []byte {
	start := r.i
	switch r.byte() {
	case opI32Const:
		r.signed(32)
	case opI64Const:
		r.signed(64)
	case opF32Const:
		r.take(4)
	case opF64Const:
		r.take(8)
	case opRefNull:
		r.refType()
	case OpRefFunc:
		r.index(int(m.functions()), "function")
	default:
		r.broken("a constant is computed by something else than one constant instruction")
	}
	if r.byte() != opEnd {
		r.broken("a constant is computed by more than one instruction")
	}
	if !r.ok() {
		return nil
	}
	return r.b[start:r.i]
}

// offset reads where a segment begins, and holds its end against a bound.
func (m *Module) offset(r *reader) (expr []byte, at uint32) {
	expr = m.constant(r)
	if r.ok() && expr[0] != opI32Const {
		r.broken("a segment does not begin at a constant place")
	}
	if !r.ok() {
		return nil, 0
	}
	c := reader{b: expr, i: 1}
	return expr, uint32(int32(c.signed(32)))
}

func (m *Module) exports(r *reader) {
	m.Exports = make([]Export, 0, r.count(MaxExports, "exports"))
	seen := make(map[string]bool, cap(m.Exports))
	for range cap(m.Exports) {
		e := Export{Name: r.name(), Kind: r.byte()}
		switch e.Kind {
		case KindFunc:
			e.Index = r.index(int(m.functions()), "function")
		case KindTable:
			e.Index = r.index(len(m.Tables), "table")
		case KindMemory:
			e.Index = r.index(m.memories, "memory")
		case KindGlobal:
			e.Index = r.index(len(m.Globals), "global")
		default:
			r.broken("there is no such kind of an export")
		}
		if r.ok() && seen[e.Name] {
			r.broken("it exports the same name twice")
		}
		if !r.ok() {
			return
		}
		seen[e.Name] = true
		m.Exports = append(m.Exports, e)
	}
}
