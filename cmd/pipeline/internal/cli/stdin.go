package cli

import (
	"context"
	"io"
)

// interruptible reads from a stream whose reads cannot be interrupted, such as
// a terminal, and gives up when ctx is done.
type interruptible struct {
	ctx    context.Context
	chunks chan chunk
	rest   []byte
	err    error
}

type chunk struct {
	data []byte
	err  error
}

const chunkSize = 64 << 10

// newInterruptible begins to read. Its goroutine ends when the stream does, or
// with the first read that returns after ctx is done: a read of a terminal
// that never returns can only be left behind.
func newInterruptible(ctx context.Context, r io.Reader) *interruptible {
	i := &interruptible{ctx: ctx, chunks: make(chan chunk)}
	go func() {
		for {
			buf := make([]byte, chunkSize)
			n, err := r.Read(buf)
			select {
			case i.chunks <- chunk{buf[:n], err}:
			case <-ctx.Done():
				return
			}
			if err != nil {
				return
			}
		}
	}()
	return i
}

// Read returns what has arrived, or ctx's error.
func (i *interruptible) Read(p []byte) (int, error) {
	for len(i.rest) == 0 {
		if i.err != nil {
			return 0, i.err
		}
		select {
		case c := <-i.chunks:
			i.rest, i.err = c.data, c.err
		case <-i.ctx.Done():
			i.err = i.ctx.Err()
		}
	}
	n := copy(p, i.rest)
	i.rest = i.rest[n:]
	return n, nil
}
