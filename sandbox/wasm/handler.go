package wasm

import (
	"context"
	"errors"
	"math"
	"sync"

	"github.com/tetratelabs/wazero"

	"pipeline/sandbox"
	"pipeline/sandbox/wasm/internal/binary"
)

// handler is one compiled handler function.
type handler struct {
	spec   sandbox.Spec
	limits sandbox.Limits
	grants map[string]sandbox.Grant
	hash   string

	// module is what messages need of the module as it was.
	module   *binary.Module
	cache    wazero.CompilationCache
	runtime  wazero.Runtime
	compiled wazero.CompiledModule

	// spare is the guest that Compile made to see that the module starts; the
	// first instance takes it.
	mu    sync.Mutex
	spare *guest
}

// NewInstance implements sandbox.Handler.
func (h *handler) NewInstance(ctx context.Context) (sandbox.Instance, error) {
	in := newInstance(h)
	h.mu.Lock()
	in.guest, h.spare = h.spare, nil
	h.mu.Unlock()
	if in.guest == nil {
		g, err := in.instantiate(ctx)
		if err != nil {
			return nil, err
		}
		in.guest = g
	}
	return in, nil
}

// Hash implements sandbox.Handler.
func (h *handler) Hash() string { return h.hash }

// Close implements sandbox.Handler.
func (h *handler) Close() error {
	h.mu.Lock()
	h.spare = nil
	h.mu.Unlock()
	ctx := context.Background()
	var errs []error
	if h.runtime != nil {
		errs = append(errs, h.runtime.Close(ctx))
	}
	if h.cache != nil {
		errs = append(errs, h.cache.Close(ctx))
	}
	return errors.Join(errs...)
}

func (h *handler) granted(kind string) bool {
	_, ok := h.grants[kind]
	return ok
}

// pages is the memory limit in pages: what a module can have is a whole number
// of them, and below the 4 GiB that the engine can tell the size of.
func (h *handler) pages() uint32 {
	return uint32(min(max(h.limits.Memory/binary.PageSize, 1), math.MaxUint16))
}
