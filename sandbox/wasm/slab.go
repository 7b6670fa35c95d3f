package wasm

import "strings"

// slab makes strings out of results, many in one allocation. A string keeps what it
// lies in, so that what is long gets an allocation of its own.
type slab struct{ b strings.Builder }

const (
	slabSize  = 4 << 10
	maxInSlab = slabSize / 8
)

func (s *slab) text(view []byte) string {
	if len(view) > maxInSlab {
		return string(view)
	}
	at := s.b.Len()
	if s.b.Cap()-at < len(view) {
		s.b.Reset()
		s.b.Grow(slabSize)
		at = 0
	}
	_, _ = s.b.Write(view) // it never fails
	return s.b.String()[at:]
}
