// Package plugins holds what handlers in other languages than Lua are written
// with: for each language an SDK of one file, the payments screen handler of
// the worked example written with it, the script that builds it, and the
// module that it builds.
package plugins

import "embed"

// SDK are the SDK files and the build scripts, each language in a folder. The
// scripts build payments.wasm of the source of that name.
//
//go:embed c/pipeline.h c/build.sh rust/pipeline.rs rust/build.sh assemblyscript/pipeline.ts assemblyscript/build.sh go/pipeline.go go/build.sh
var SDK embed.FS

// Languages are the folders.
var Languages = []string{"c", "rust", "assemblyscript", "go"}
