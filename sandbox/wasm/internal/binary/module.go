package binary

import (
	"fmt"
	"strings"
)

// Module is a module that has passed. Its slices point into the bytes that it
// was read from.
type Module struct {
	Types   []FuncType
	Imports []Import
	// Functions are the types of the module's own functions, whose indices
	// come after those of the imports.
	Functions []uint32
	Tables    []Limits
	Memory    Limits
	Globals   []Global
	Exports   []Export
	Elements  []Element
	Bodies    []Body
	// Table, MemorySection, Data and DataCount are whole sections, which no
	// index of a function stands in.
	TableSection, MemorySection, Data, DataCount []byte

	names     map[uint32]string
	memories  int
	dataCount uint32
	hasCount  bool
	segments  uint32
}

// FuncType is the type of a function.
type FuncType struct{ Params, Results []byte }

// String is the type as messages show it: "(i32, i32) -> i64".
func (t FuncType) String() string {
	text := "(" + typeNames(t.Params) + ")"
	switch len(t.Results) {
	case 0:
		return text
	case 1:
		return text + " -> " + typeNames(t.Results)
	}
	return text + " -> (" + typeNames(t.Results) + ")"
}

func typeNames(types []byte) string {
	names := make([]string, len(types))
	for i, t := range types {
		names[i] = typeName(t)
	}
	return strings.Join(names, ", ")
}

func typeName(t byte) string {
	switch t {
	case I32:
		return "i32"
	case I64:
		return "i64"
	case F32:
		return "f32"
	case F64:
		return "f64"
	case FuncRef:
		return "funcref"
	}
	return "externref"
}

// Import is a function that the module wants from its host.
type Import struct {
	Module, Name string
	Type         uint32
}

// Limits are the sizes of a memory in pages or of a table in elements.
type Limits struct {
	Min, Max uint32
	HasMax   bool
}

// Global is a global of the module. Init is its constant expression.
type Global struct {
	Type    byte
	Mutable bool
	Init    []byte
}

// Export is something that the module shows to its host.
type Export struct {
	Name  string
	Kind  byte
	Index uint32
}

// Element is a segment of a table. Head and Kind are the bytes before and
// after the offset; what it holds is either Functions or Exprs.
type Element struct {
	Flags     uint32
	Table     uint32
	Offset    []byte
	Type      byte
	Functions []uint32
	Exprs     [][]byte
}

// Body is the code of a function.
type Body struct {
	// Locals are the bytes of the declarations, Count how many locals they are.
	Locals []byte
	Count  uint32
	// Groups is how many declarations there are.
	Groups uint32
	// Code begins after the declarations and ends with the last `end`.
	Code []byte
	// Instructions, Calls and Bulk are how many there are; a call is one of a
	// function of the module, direct or through a table.
	Instructions, Calls, Bulk, Loops uint32
	// Paths is about how many stretches of code without a branch the compiler
	// has to tell apart.
	Paths uint32
}

// TypeOf is the type of a function by its index.
func (m *Module) TypeOf(function uint32) FuncType {
	if int(function) < len(m.Imports) {
		return m.Types[m.Imports[function].Type]
	}
	return m.Types[m.Functions[int(function)-len(m.Imports)]]
}

// FunctionName is how messages name a function: by the name that the module
// gives it, if it does, and its index.
func (m *Module) FunctionName(function uint32) string {
	if int(function) < len(m.Imports) {
		return m.Imports[function].Module + "." + m.Imports[function].Name
	}
	name := m.names[function]
	if name == "" {
		for _, e := range m.Exports {
			if e.Kind == KindFunc && e.Index == function {
				name = e.Name
				break
			}
		}
	}
	if name == "" {
		return fmt.Sprintf("number %d", function)
	}
	return plain(name)
}

// maxShown is how much of a name messages show.
const maxShown = 100

// plain makes a name of the module's fit for a message.
func plain(s string) string {
	s = strings.Map(func(r rune) rune {
		if r < ' ' || r == 0x7f || r == '\u2028' || r == '\u2029' {
			return ' '
		}
		return r
	}, strings.ToValidUTF8(s, "?"))
	if len(s) > maxShown {
		s = strings.ToValidUTF8(s[:maxShown], "") + "…"
	}
	return s
}

func (m *Module) functions() uint32 { return uint32(len(m.Imports) + len(m.Functions)) }
