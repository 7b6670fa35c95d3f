package binary

import "unicode/utf8"

// reader reads a part of a module from its start to its end. The first thing
// that is wrong sticks, and everything read after it is zero, so that loops
// over counts need to look at ok only.
type reader struct {
	b []byte
	i int
	// base is where b stands in the module, for messages.
	base int
	bad  *RefusedError
}

func (r *reader) ok() bool { return r.bad == nil }

func (r *reader) more() bool { return r.bad == nil && r.i < len(r.b) }

// fail keeps the first problem.
func (r *reader) fail(p *RefusedError) {
	if r.bad == nil {
		r.bad = p
	}
}

// broken is the problem of bytes that are no module.
func (r *reader) broken(what string) {
	r.fail(refuse("build it again; the file may be cut short or not be a WASM module", "the module is damaged at byte %d: %s", r.base+r.i, what))
}

func (r *reader) byte() byte {
	if r.bad != nil {
		return 0
	}
	if r.i >= len(r.b) {
		r.broken("it ends too early")
		return 0
	}
	c := r.b[r.i]
	r.i++
	return c
}

// u32 reads an unsigned LEB128 number of at most 32 bits.
func (r *reader) u32() uint32 {
	var v uint64
	for shift := uint(0); ; shift += 7 {
		c := r.byte()
		v |= uint64(c&0x7f) << shift
		if r.bad != nil {
			return 0
		}
		if c&0x80 == 0 {
			break
		}
		if shift == 28 {
			r.broken("a number is too long")
			return 0
		}
	}
	if v > 1<<32-1 {
		r.broken("a number is too large")
		return 0
	}
	return uint32(v)
}

// signed skips a signed LEB128 number of at most that many bits and returns
// its low 64.
func (r *reader) signed(bits uint) int64 {
	var v int64
	for shift := uint(0); shift < bits; shift += 7 {
		c := r.byte()
		v |= int64(c&0x7f) << shift
		if r.bad != nil {
			return 0
		}
		if c&0x80 == 0 {
			if shift+7 < 64 && c&0x40 != 0 {
				v |= -1 << (shift + 7)
			}
			return v
		}
	}
	r.broken("a number is too long")
	return 0
}

// take returns the next n bytes.
func (r *reader) take(n uint32) []byte {
	if r.bad != nil {
		return nil
	}
	if uint64(n) > uint64(len(r.b)-r.i) {
		r.broken("it ends too early")
		return nil
	}
	out := r.b[r.i : r.i+int(n) : r.i+int(n)]
	r.i += int(n)
	return out
}

// part returns a reader of the next n bytes.
func (r *reader) part(n uint32) *reader {
	base := r.base + r.i
	return &reader{b: r.take(n), base: base, bad: r.bad}
}

// name reads a name, which is UTF-8.
func (r *reader) name() string {
	b := r.take(r.u32())
	if r.bad == nil && !utf8.Valid(b) {
		r.broken("a name is not UTF-8")
		return ""
	}
	return string(b)
}

// count reads how many things follow and holds it against a bound.
func (r *reader) count(most int, what string) int {
	n := r.u32()
	if r.bad == nil && uint64(n) > uint64(most) {
		r.fail(refuse("leave out what the handler does not need", "the module has %d %s; a handler's module may have %d", n, what, most))
		return 0
	}
	return int(n)
}

// end finds what is left over at the end of a part.
func (r *reader) end() {
	if r.bad == nil && r.i != len(r.b) {
		r.broken("a section is longer than what it holds")
	}
}
