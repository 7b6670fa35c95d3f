package redis

import (
	"bufio"
	"io"
	"strings"
)

// reply takes up a reply as the client reads it and gives it as one string that
// was neither cleared beforehand nor copied afterwards. The client's own way
// grows a buffer from nothing for each reply, which costs a reader of large
// batches a fifth of its time.
type reply struct {
	text strings.Builder
	// room is how large the reply is expected to be, in bytes: a guess.
	room int
}

// Write implements io.Writer.
func (r *reply) Write(p []byte) (int, error) {
	switch have := r.text.Len(); {
	case have == 0 && !nothing(p):
		r.text.Grow(max(r.room, len(p)))
	case r.text.Cap()-have < len(p):
		// Left to itself it grows by quarters: a reply six times as large as expected
		// would leave three times its size to the garbage collector. This doubles.
		r.text.Grow(len(p))
	}
	return r.text.Write(p)
}

// nothing reports whether a reply that begins so has nothing in it.
func nothing(p []byte) bool { return len(p) > 1 && (p[0] == '_' || p[1] == '-') }

// ReadFrom implements io.ReaderFrom: io.Copy would make a buffer for every
// string of the reply. What the client has buffered is taken from there.
func (r *reply) ReadFrom(from io.Reader) (n int64, err error) {
	limited, _ := from.(*io.LimitedReader)
	var buffered *bufio.Reader
	if limited != nil {
		buffered, _ = limited.R.(*bufio.Reader)
	}
	if buffered == nil {
		return io.Copy(struct{ io.Writer }{r}, from)
	}
	for limited.N > 0 && err == nil {
		if _, err = buffered.Peek(1); err != nil {
			return n, err
		}
		part, _ := buffered.Peek(int(min(limited.N, int64(buffered.Buffered()))))
		_, _ = r.Write(part) // of a string builder: never fails
		_, err = buffered.Discard(len(part))
		limited.N -= int64(len(part))
		n += int64(len(part))
	}
	return n, err
}

// roomAfter is the room for the reply after one of n bytes for which there was so
// much room. It fades with replies that need less, and not at once: a read of new
// entries, which finds none or a few, comes between two that claim a thousand. A
// little more than was needed is cheaper than to begin again for the last entry.
func roomAfter(room, n int) int { return max(n+n/16, room-room/4) }
