package redis

import (
	"errors"
	"io"
	"net"
	"syscall"
)

// unguarded is a connection without TLS. A server that speaks it at this port takes the
// first command for no handshake: it closes the connection, with or without an alert.
type unguarded struct {
	net.Conn
	plain syscall.Conn
	guide guide
	addr  string
	// answered: something was read.
	answered bool
}

// SyscallConn implements syscall.Conn: by the file descriptor the client sees that an
// idle connection was closed by the other side, and takes another one.
func (c *unguarded) SyscallConn() (syscall.RawConn, error) { return c.plain.SyscallConn() }

// errAlert is what a server says that speaks TLS.
var errAlert = errors.New("the server answered by TLS")

// An alert of TLS begins with its type and the major version of the protocol (RFC
// 8446, section 5.1). No reply of a server does.
const (
	alertType    = 0x15
	alertVersion = 0x03
)

// Read implements net.Conn.
func (c *unguarded) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	switch {
	case c.answered:
	case n > 0 && p[0] == alertType && (n == 1 || p[1] == alertVersion):
		return 0, c.explain(errAlert, "connect by rediss://, or set "+c.guide.block+" with the ca of its certificate")
	case n > 0:
		c.answered = true
	case broken(err) || errors.Is(err, io.EOF):
		err = c.explain(err, "the connection was closed before a first answer: if the server speaks TLS at this port, connect by rediss://, or set "+
			c.guide.block+" with the ca of its certificate")
	}
	return n, err
}

func (c *unguarded) explain(err error, remedy string) error {
	return explained(&tlsError{addr: c.addr, remedy: remedy, err: err})
}
