//go:build unix

package wasm

import (
	"syscall"

	"github.com/tetratelabs/wazero/experimental"
)

// allocate reserves addresses for the largest size of a memory and uses as
// many as the module has grown to. So a memory grows without being copied, is
// given back the moment that its instance ends, and does not count as heap of
// the process, which other handlers are held against.
func allocate(_, most uint64) experimental.LinearMemory {
	if most == 0 || most > 1<<32 {
		return &onHeap{}
	}
	all, err := syscall.Mmap(-1, 0, int(most), syscall.PROT_READ|syscall.PROT_WRITE, syscall.MAP_ANON|syscall.MAP_PRIVATE)
	if err != nil {
		return &onHeap{}
	}
	return &mapped{all}
}

// mapped is a memory outside the heap.
type mapped struct{ all []byte }

// Reallocate implements experimental.LinearMemory.
func (m *mapped) Reallocate(size uint64) []byte {
	if size > uint64(len(m.all)) {
		return nil
	}
	return m.all[:size:size]
}

// Free implements experimental.LinearMemory.
func (m *mapped) Free() {
	if m.all != nil {
		_ = syscall.Munmap(m.all)
		m.all = nil
	}
}
