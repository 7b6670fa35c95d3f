package work

import "unsafe"

// slabSize is how many bytes one block of texts holds.
const slabSize = 32 << 10

// slab turns bytes into strings from large blocks that are never written to
// again, so that a text costs a copy and no allocation of its own.
type slab struct{ block []byte }

// text returns b as a string.
func (s *slab) text(b []byte) string {
	if len(b) == 0 {
		return ""
	}
	if cap(s.block)-len(s.block) < len(b) {
		s.block = make([]byte, 0, max(slabSize, len(b)))
	}
	from := len(s.block)
	s.block = append(s.block, b...)
	part := s.block[from:]
	return unsafe.String(unsafe.SliceData(part), len(part))
}

// chunks hands out short slices from large ones.
type chunks[T any] struct{ free []T }

// chunk is how many elements are made at once.
const chunk = 512

// take returns a slice of n zero elements that cannot grow into the next one.
func (c *chunks[T]) take(n int) []T {
	if len(c.free) < n {
		c.free = make([]T, max(n, chunk))
	}
	part := c.free[:n:n]
	c.free = c.free[n:]
	return part
}
