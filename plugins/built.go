package plugins

import "embed"

// Built are the built modules, each language in a folder: c/payments.wasm and so
// on.
//
//go:embed c/payments.wasm rust/payments.wasm assemblyscript/payments.wasm go/payments.wasm
var Built embed.FS
