package lua

import (
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"fmt"
	"slices"
	"sync"

	"pipeline/sandbox"
	"pipeline/sandbox/capability"
)

// handler is one compiled handler function.
type handler struct {
	spec     sandbox.Spec
	limits   sandbox.Limits
	programs []*program // modules, then the script
	hash     string
	granted  map[string]sandbox.Grant
	// records are the tables that the function returns, when nothing but the
	// engine sees them.
	records []record

	// spare is the state that Compile loaded to see that the script loads; the
	// first instance takes it.
	mu    sync.Mutex
	spare *vm
}

// Compile parses, rewrites and compiles a script with its modules and loads it
// once, so that a handler that compiles also starts. Errors in the user's
// files are *sandbox.LoadError; others are about the grants.
func Compile(spec sandbox.Spec) (sandbox.Handler, error) {
	h, err := newHandler(spec)
	if err != nil {
		return nil, err
	}
	h.hash = hash(&spec)
	if err := h.compile(); err != nil {
		return nil, err
	}
	in := newInstance(h)
	defer in.Close()
	v, err := in.bound(context.Background())
	if err != nil {
		return nil, err
	}
	h.spare = v
	return h, nil
}

// newHandler checks what a handler is made of besides its code.
func newHandler(spec sandbox.Spec) (*handler, error) {
	h := &handler{spec: spec, limits: spec.Limits.WithDefaults(), granted: map[string]sandbox.Grant{}}
	if spec.RawInput {
		return nil, fmt.Errorf("handler %q: input = \"raw\" is for WASM modules; a Lua handler of a text or bytes stream gets the bytes anyway", spec.Label)
	}
	h.spec.Function = cmp.Or(spec.Function, "handle")
	for _, g := range spec.Grants {
		g, err := capability.Resolve(g)
		if err != nil {
			return nil, fmt.Errorf("handler %q: %w", spec.Label, err)
		}
		h.granted[g.Kind] = g
	}
	return h, nil
}

// compile compiles the modules, then the script.
func (h *handler) compile() error {
	sources := append(slices.Clone(h.spec.Modules), h.spec.Source)
	// A name that stands only where it is defined is called by nobody else.
	named := 0
	for _, src := range sources {
		named += mentions(src, h.spec.Function)
	}
	var r *recorder
	if named == 1 {
		r = &recorder{function: h.spec.Function}
	}
	for _, src := range sources {
		p, err := compileSource(src, r)
		if err != nil {
			return err
		}
		h.programs = append(h.programs, p)
	}
	if r != nil {
		h.records = r.records
	}
	return nil
}

// NewInstance implements sandbox.Handler.
func (h *handler) NewInstance(ctx context.Context) (sandbox.Instance, error) {
	in := newInstance(h)
	h.mu.Lock()
	in.vm, h.spare = h.spare, nil
	h.mu.Unlock()
	if in.vm != nil {
		in.vm.adopt(in.meter)
		return in, nil
	}
	v, err := in.bound(ctx)
	if err != nil {
		in.Close()
		return nil, err
	}
	in.vm = v
	return in, nil
}

// Hash implements sandbox.Handler.
func (h *handler) Hash() string { return h.hash }

// Close implements sandbox.Handler.
func (h *handler) Close() error {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.spare.close()
	h.spare = nil
	return nil
}

// script is the handler's own program, which comes after the modules.
func (h *handler) script() *program { return h.programs[len(h.programs)-1] }

// hash tells code apart by all that decides what it does.
func hash(spec *sandbox.Spec) string {
	sum := sha256.New()
	part := func(b []byte) {
		sum.Write(binary.BigEndian.AppendUint64(nil, uint64(len(b))))
		sum.Write(b)
	}
	part([]byte(spec.Function))
	for _, src := range append(slices.Clone(spec.Modules), spec.Source) {
		part([]byte(src.Name))
		part(src.Code)
	}
	return hex.EncodeToString(sum.Sum(nil)[:12])
}
