package build

import (
	"os"
	"path"
	"path/filepath"
	"sync"

	"pipeline/engine/spec"
	"pipeline/lang"
	"pipeline/sandbox"
	"pipeline/sandbox/lua"
	"pipeline/sandbox/wasm"
)

// isModule reports whether a file is a WASM module.
func isModule(name string) bool { return path.Ext(name) == ".wasm" }

// modules compiles WASM modules. Compiled code is kept in a private folder of
// the user's cache, since compiling a large module takes a second and more;
// where there can be no such folder, every start compiles anew.
var modules = sync.OnceValue(func() wasm.Compiler {
	base, err := os.UserCacheDir()
	if err != nil {
		return wasm.Compiler{}
	}
	dir := filepath.Join(base, "pipeline", "wasm")
	if wasm.PrivateDir(dir) != nil {
		return wasm.Compiler{}
	}
	return wasm.Compiler{CacheDir: dir}
})

// compile picks the engine by the name of the file.
func compile(s sandbox.Spec) (sandbox.Handler, error) {
	if isModule(s.Source.Name) {
		return modules().Compile(s)
	}
	return lua.Compile(s)
}

// checkModule compiles a module as a run does; nothing in it can go wrong later
// that could be told before.
func checkModule(h *spec.Handler, s sandbox.Spec) []lang.Problem {
	code, err := compile(s)
	if err == nil {
		err = code.Close()
	}
	if err != nil {
		return []lang.Problem{problem(h, err)}
	}
	return nil
}
