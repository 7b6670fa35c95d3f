// Package lua runs handlers that are written in Lua 5.1.
//
// A script is parsed, rewritten and compiled once, and loaded into one Lua
// state per instance. Whatever the script does costs one failed call: every
// instruction and every library function is charged to a meter, operations
// that could allocate without bound are replaced by bounded ones, nothing of
// the host is reachable, and a state that has been broken is thrown away.
//
// The rewriting replaces the operators whose native form is unbounded or
// inexact by calls of guards (see rewrite.go); the libraries are written new,
// none of the engine's own is opened.
package lua

import glua "github.com/yuin/gopher-lua"

// maxArrayIndex bounds the array part of a table. The engine fills an array up
// to the largest integer key below this limit, so a key such as an order id
// would otherwise allocate gigabytes in one instruction. Keys above it live in
// the table's hash part.
const maxArrayIndex = 1 << 17

// maxList is how many items a list may hold: the length of a longer one would
// be wrong, since items beyond the array part are not counted.
const maxList = maxArrayIndex - 2

// maxSafe is the largest integer that a plain Lua number, a double, holds
// without a gap below it.
const maxSafe = 1 << 53

func init() { glua.MaxArrayIndex = maxArrayIndex }
