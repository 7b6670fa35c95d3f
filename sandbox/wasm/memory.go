package wasm

// onHeap is a memory that is copied when it grows.
type onHeap struct{ b []byte }

// Reallocate implements experimental.LinearMemory.
func (m *onHeap) Reallocate(size uint64) []byte {
	if size > uint64(cap(m.b)) {
		m.b = append(m.b, make([]byte, size-uint64(len(m.b)))...)
	}
	m.b = m.b[:size]
	return m.b
}

// Free implements experimental.LinearMemory.
func (m *onHeap) Free() { m.b = nil }
