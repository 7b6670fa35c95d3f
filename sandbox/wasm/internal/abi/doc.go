// Package abi is what crosses between the host and a module: "pipeline 1".
//
// A module exports its `memory`, exactly one marker `pipeline_abi_1`, a
// function `pipeline_alloc` and one function for each handler, and imports
// nothing but what is offered. The marker names the version: within a version
// new keys may appear in the input, and imports and the keys of a result never
// change. The runner takes its own version and the one before.
package abi

import "fmt"

// Versions of the interface that this runner takes.
const (
	Newest = 1
	Oldest = 1
)

// Names that a module exports.
const (
	Memory       = "memory"
	Alloc        = "pipeline_alloc"
	Initialize   = "_initialize"
	MarkerPrefix = "pipeline_abi_"
)

// Marker is the export that says which version a module was built for.
func Marker(version int) string { return fmt.Sprintf("%s%d", MarkerPrefix, version) }

// Names that a module may import from.
const (
	ModulePipeline = "pipeline"
	ModuleWASI     = "wasi_snapshot_preview1"
	ModuleEnv      = "env"
)

// Codes of a result whose high word is zero.
const (
	CodeAck uint32 = iota
	CodeRetry
	CodeDead
	CodeDrop
)
