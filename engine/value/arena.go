package value

// Arena hands out slices of values from large blocks, so that decoding a body
// allocates nothing of its own. Everything taken from an arena is valid until
// Reset. An Arena is not safe for concurrent use; the zero Arena is ready.
type Arena struct {
	block []Value
	used  int
}

const (
	minBlock = 256
	maxBlock = 1 << 16
)

// Take returns n null values, which the caller fills in.
func (a *Arena) Take(n int) []Value {
	if len(a.block)-a.used < n {
		// The old block stays alive through the values that point into it.
		a.block = make([]Value, max(n, minBlock, min(2*len(a.block), maxBlock)))
		a.used = 0
	}
	s := a.block[a.used : a.used+n : a.used+n]
	a.used += n
	return s
}

// Reset makes the arena's current block free again. Values taken before must
// no longer be in use.
func (a *Arena) Reset() {
	clear(a.block[:a.used])
	a.used = 0
}
