// Package binary reads WebAssembly modules before anything else does.
//
// The compiler that runs them cannot be stopped: a module of a hundred bytes
// that declares four billion locals, or one jump table with a million targets,
// takes the process down or keeps it busy for minutes. So every count is held
// against a bound here first, every index is held against what it points into,
// and what handlers do not need is refused. What passes is small enough to be
// compiled in bounded time; whether its types fit is for the compiler to say.
//
// The format is that of the WebAssembly core specification 2.0 without vectors.
package binary

import "fmt"

// RefusedError says why a module is refused.
type RefusedError struct {
	// Text says what is wrong and where; Remedy, when not empty, what to change.
	Text, Remedy string
	// placed: Text says in which function.
	placed bool
}

// Error is both on one line.
func (p *RefusedError) Error() string {
	if p.Remedy == "" {
		return p.Text
	}
	return p.Text + "; " + p.Remedy
}

// Bounds of a module. They are far above what compilers of C, Rust,
// AssemblyScript and Go write, and low enough that a module that reaches one is
// compiled in about a second.
const (
	MaxModule    = 16 << 20
	MaxTypes     = 10_000
	MaxParams    = 1_000
	MaxResults   = 16
	MaxImports   = 1_000
	MaxFunctions = 20_000
	MaxTables    = 4
	MaxTable     = 100_000
	MaxGlobals   = 1_000
	MaxExports   = 10_000
	MaxSegments  = 100_000
	// MaxInstructions is of all functions together.
	MaxInstructions = 3_000_000
	// PageSize is the unit of a memory, in bytes.
	PageSize = 64 << 10
)

// Bounds of one function.
const (
	MaxLocals     = 5_000
	MaxBody       = 512 << 10
	MaxBodyLength = 100_000 // in instructions
	MaxNesting    = 1_000
	MaxTargets    = 10_000
	MaxBulk       = 256
)

// Bounds of products: the compiler takes time or memory in proportion to them.
// The first is of one function, the second of the whole module.
const (
	// Paths times paths: a function of 16,384 paths is compiled in 0.8 s, one of
	// twice as many in four times that. A Go program with encoding/json and
	// regexp has one of 4,097 and 1e8 in all.
	MaxPaths       = 1 << 14
	MaxPathsSquare = 600_000_000
	// Loops times locals: each loop has a place for each local.
	MaxLoopLocals    = 200_000
	MaxAllLoopLocals = 1_000_000
	// Calls times globals that change: each call loads each anew.
	MaxReloads    = 500_000
	MaxAllReloads = 2_000_000
)

// Value types as the format writes them.
const (
	I32       byte = 0x7f
	I64       byte = 0x7e
	F32       byte = 0x7d
	F64       byte = 0x7c
	FuncRef   byte = 0x70
	ExternRef byte = 0x6f
	// empty is the type of a block without a result.
	empty byte = 0x40
)

// Kinds of imports and exports.
const (
	KindFunc byte = iota
	KindTable
	KindMemory
	KindGlobal
)

// Sections by their numbers.
const (
	SectionCustom byte = iota
	SectionType
	SectionImport
	SectionFunction
	SectionTable
	SectionMemory
	SectionGlobal
	SectionExport
	SectionStart
	SectionElement
	SectionCode
	SectionData
	SectionDataCount
)

func refuse(remedy, format string, args ...any) *RefusedError {
	return &RefusedError{Text: fmt.Sprintf(format, args...), Remedy: remedy}
}
