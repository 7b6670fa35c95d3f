package value

// Arena hands out slices of values from large blocks, so that decoding a body
// allocates nothing of its own. Everything taken from an arena is valid until
// Reset. An Arena is not safe for concurrent use; the zero Arena is ready.
type Arena struct {
	block []Value
	used  int
	// stack holds the elements of containers whose end is not parsed yet.
	stack []Value
	// high is how much of stack may hold values.
	high int
	// names is the table in which the member names of a large object meet.
	names []uint32
}

const (
	minBlock = 256
	// maxBlock is the largest block that Reset keeps.
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
// no longer be in use. The memory that one unusually large body needed is
// given back.
func (a *Arena) Reset() {
	if len(a.block) > maxBlock || cap(a.stack) > maxBlock {
		*a = Arena{}
		return
	}
	clear(a.block[:a.used])
	a.used = 0
	clear(a.stack[:a.high])
	a.high = 0
}

// close moves the stack's values from base on into a slice of their own.
func (a *Arena) close(base int) []Value {
	open := a.stack[base:]
	if len(open) == 0 {
		return nil
	}
	a.high = max(a.high, len(a.stack))
	kids := a.Take(len(open))
	copy(kids, open)
	a.stack = a.stack[:base]
	return kids
}
