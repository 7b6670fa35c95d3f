// Package wasm runs handlers that are WebAssembly modules, built from C, Rust,
// AssemblyScript, Go or whatever else writes core modules for wasm32.
//
// A module is read and held against bounds before any compiler sees it
// (internal/binary), rewritten so that it counts what it does (internal/fuel)
// and compiled once. Each instance is one instantiated module with its memory;
// a trap, a limit or an exit replaces it. Whatever a module does costs one
// failed call: it reaches nothing but its own memory and the few functions
// below, and no instruction of it runs without paying.
//
// # The interface: "pipeline 1"
//
// A module exports
//
//   - memory;
//   - pipeline_abi_1, a function that is never called and says which version
//     of the interface the module was built for;
//   - pipeline_alloc(size i32) -> i32, which returns the place of a buffer;
//   - NAME(place i32, length i32) -> i64 for each handler function;
//   - _initialize() where its language needs one; it runs once per instance.
//
// The input is a JSON object with the keys id, stream, group, subscription,
// key, headers, deliveries, attempt, max_attempts, idle_ms, now_ms and body;
// with `input = "raw"` it is the body's bytes. The host writes it into a buffer
// from pipeline_alloc, which belongs to the module and has to stay where it is
// until the next pipeline_alloc; the host asks for another only when an input
// is larger.
//
// The result is a word. If its high half is zero, the low half is a code: 0
// ack, 1 retry, 2 dead, 3 drop. Otherwise the high half is the place and the
// low half the length of a JSON object {"action", "after_ms", "reason",
// "replies": [{"to", "body", "key", "headers"}]}, which is copied at once and
// read strictly. Bytes travel as body_base64.
//
// A module may import
//
//   - pipeline.log(level, text, length, fields, length of fields), with the
//     grant "log"; fields is a JSON object or empty;
//   - pipeline.now() -> i64, the time of the delivery in milliseconds;
//   - pipeline.random(place, length), seeded from handler, stream and entry;
//   - pipeline.meta(name, length, place, capacity) -> i32, which writes what
//     the envelope calls that and returns its length, or -1: for raw input;
//   - env.abort, which AssemblyScript calls;
//   - of WASI preview 1 what the libraries of C, Rust and Go need to start: see
//     wasi.go. Standard output and error are log lines where "log" is granted.
//
// Anything else is refused when the module is loaded.
package wasm

import "time"

const (
	// loadFuel and loadTime bound _initialize, so that a module that never gets
	// ready is found in the time of a validation.
	loadFuel = 200_000_000
	loadTime = time.Second
	// firstBuffer is the least size of an input buffer.
	firstBuffer = 1 << 10
	// maxResult is the longest result in bytes.
	maxResult = 16 << 20
	// bytesPerValue is what each value of a result is charged to the memory
	// limit.
	bytesPerValue = 64
)
