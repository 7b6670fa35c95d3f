package redis

import (
	"net"
	"time"
)

// unreached stands for a connection that could not be made: it does nothing but
// say why.
type unreached struct{ err error }

// Read implements net.Conn.
func (u unreached) Read([]byte) (int, error) { return 0, u.err }

// Write implements net.Conn.
func (u unreached) Write([]byte) (int, error) { return 0, u.err }

// Close implements net.Conn.
func (unreached) Close() error { return nil }

// LocalAddr implements net.Conn.
func (unreached) LocalAddr() net.Addr { return nowhere{} }

// RemoteAddr implements net.Conn.
func (unreached) RemoteAddr() net.Addr { return nowhere{} }

// SetDeadline implements net.Conn.
func (unreached) SetDeadline(time.Time) error { return nil }

// SetReadDeadline implements net.Conn.
func (unreached) SetReadDeadline(time.Time) error { return nil }

// SetWriteDeadline implements net.Conn.
func (unreached) SetWriteDeadline(time.Time) error { return nil }

// nowhere is the address of what is not connected.
type nowhere struct{}

// Network implements net.Addr.
func (nowhere) Network() string { return "none" }

func (nowhere) String() string { return "not connected" }
