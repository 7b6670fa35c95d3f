package wasm

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"

	"github.com/tetratelabs/wazero"
	"github.com/tetratelabs/wazero/api"

	"pipeline/sandbox"
	"pipeline/sandbox/capability"
	module "pipeline/sandbox/wasm/internal/binary"
	"pipeline/sandbox/wasm/internal/fuel"
)

// features are what modules may use: WebAssembly 2.0 without vectors.
const features = api.CoreFeaturesV2 &^ api.CoreFeatureSIMD

// Compiler compiles modules. The zero value is ready and keeps nothing; a
// Compiler is safe for concurrent use.
type Compiler struct {
	// CacheDir is where compiled code is kept from one run to the next, a
	// directory that PrivateDir has made; "" is nowhere. Whoever can write to
	// it can run code as this user.
	CacheDir string
}

// Compile compiles a module without keeping anything: Compiler{}.Compile.
func Compile(spec sandbox.Spec) (sandbox.Handler, error) { return Compiler{}.Compile(spec) }

// Compile checks, rewrites and compiles a module and instantiates it once, so
// that a handler that compiles also starts. Problems of the module are
// *sandbox.LoadError; others are about the handler's settings.
func (c Compiler) Compile(spec sandbox.Spec) (sandbox.Handler, error) {
	h, err := newHandler(spec)
	if err != nil {
		return nil, err
	}
	m, err := module.Parse(spec.Source.Code)
	if err != nil {
		return nil, h.loadError(err)
	}
	h.module = m
	if err := (contract{h, m}).check(); err != nil {
		return nil, err
	}
	if err := h.compileCached(c.CacheDir, fuel.Rewrite(m, h.pages())); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	// Messages need the names of functions; the code itself is compiled.
	m.Bodies, m.Elements, m.Data = nil, nil, nil
	if err := h.start(); err != nil {
		return nil, errors.Join(err, h.Close())
	}
	return h, nil
}

// newHandler checks what a handler is made of besides its code.
func newHandler(spec sandbox.Spec) (*handler, error) {
	h := &handler{spec: spec, limits: spec.Limits.WithDefaults(), grants: map[string]sandbox.Grant{}, hash: hash(&spec)}
	if len(spec.Modules) > 0 {
		return nil, fmt.Errorf("handler %q: modules are Lua files; a WASM module contains all it needs", spec.Label)
	}
	h.spec.Function = cmp.Or(spec.Function, "handle")
	for _, g := range spec.Grants {
		if err := capability.Check(g); err != nil {
			return nil, fmt.Errorf("handler %q: %w", spec.Label, err)
		}
		h.grants[g.Kind] = g
	}
	return h, nil
}

// compileCached compiles with a cache, and without it when that fails: a full
// disk or a damaged file must not keep a handler from running.
func (h *handler) compileCached(dir string, code []byte) error {
	err := h.compile(dir, code)
	if err == nil || dir == "" {
		return err
	}
	_ = h.Close() // it has compiled nothing
	h.runtime, h.cache = nil, nil
	return h.compile("", code)
}

// compile makes the runtime and compiles the rewritten module in it.
func (h *handler) compile(dir string, code []byte) (err error) {
	ctx := context.Background()
	config := wazero.NewRuntimeConfig().WithCoreFeatures(features).WithMemoryLimitPages(h.pages()).WithDebugInfoEnabled(false)
	if dir != "" {
		if h.cache, err = wazero.NewCompilationCacheWithDir(dir); err != nil {
			return fmt.Errorf("compilation cache: %w", err)
		}
		config = config.WithCompilationCache(h.cache)
	}
	h.runtime = wazero.NewRuntimeWithConfig(ctx, config)
	if err := offer(ctx, h.runtime); err != nil {
		return fmt.Errorf("handler %q: %w", h.spec.Label, err)
	}
	// The compiler is not ours; whatever it does with a hostile module must
	// not pass.
	defer func() {
		if v := recover(); v != nil {
			err = h.loadError(&module.RefusedError{Text: "the module cannot be compiled"})
		}
	}()
	if h.compiled, err = h.runtime.CompileModule(ctx, code); err != nil {
		return h.loadError(&module.RefusedError{Text: "the module is not valid: " + shown(err.Error()), Remedy: "build it again"})
	}
	return nil
}

// start makes the first instance's guest.
func (h *handler) start() error {
	in := newInstance(h)
	g, err := in.instantiate(context.Background())
	if err != nil {
		return err
	}
	h.spare = g
	return nil
}

// loadError gives a problem of the module the name of its file.
func (h *handler) loadError(err error) error {
	out := &sandbox.LoadError{Source: h.spec.Source.Name, Problem: err.Error()}
	if p, ok := errors.AsType[*module.RefusedError](err); ok {
		out.Problem, out.Remedy = p.Text, p.Remedy
	}
	return out
}

// hash tells code apart by all that decides what it does.
func hash(spec *sandbox.Spec) string {
	sum := sha256.New()
	part := func(b []byte) {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		sum.Write(b)
	}
	part([]byte(spec.Function))
	part(fmt.Append(nil, spec.RawInput))
	part([]byte(spec.Source.Name))
	part(spec.Source.Code)
	return hex.EncodeToString(sum.Sum(nil)[:12])
}
