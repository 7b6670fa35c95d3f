package redis

import (
	"io"
	"syscall"
)

// SyscallConn implements syscall.Conn, for the client's look at an idle connection
// alone: nothing can be read by it. Where what is below TLS is none of the system's, it
// always looks well.
func (c *guided) SyscallConn() (syscall.RawConn, error) {
	if c.plain == nil {
		return hangup{}, nil
	}
	raw, err := c.plain.SyscallConn()
	if err != nil {
		return nil, err
	}
	return hangup{raw}, nil
}

// hangup tells whether the other side has closed a connection.
type hangup struct{ syscall.RawConn }

// Read reports io.EOF where the connection is closed, whatever waits to be read before
// that, and does not call what would read it.
func (h hangup) Read(func(fd uintptr) bool) error {
	if h.RawConn == nil {
		return nil
	}
	closed := false
	if err := h.Control(func(fd uintptr) { closed = hungUp(fd) }); err != nil {
		return err
	}
	if closed {
		return io.EOF
	}
	return nil
}
