// Package plugins holds what handlers in other languages than Lua are written
// with: for each language an SDK of one file, the payments screen handler of
// the worked example written with it, the script that builds it, and the
// module that it builds.
package plugins

import "embed"

// Files are the SDK files, sources, scripts and built modules, each language
// in a folder: c, rust, assemblyscript, go.
//
//go:embed c/* rust/* assemblyscript/* go/*
var Files embed.FS

// Languages are the folders of Files.
var Languages = []string{"c", "rust", "assemblyscript", "go"}
