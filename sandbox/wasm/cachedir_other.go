//go:build !unix

package wasm

import "io/fs"

// Where there are no modes, the user's own folders are closed to others by
// what they inherit.
func ownedByUs(fs.FileInfo) bool      { return true }
func closedToOthers(fs.FileInfo) bool { return true }
