package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"syscall"
)

// sockets are the open connections, so that all can be dropped at once: after
// a READONLY answer they lead to a server that is no longer the master.
type sockets struct {
	mu   sync.Mutex
	open map[*socket]struct{}
}

// socket is a connection that leaves the set when it is closed.
type socket struct {
	net.Conn
	set *sockets
}

type dialer = func(ctx context.Context, network, addr string) (net.Conn, error)

// dialer puts what next opens into the set. A server that cannot be reached shows
// with the first bytes and not here: of dials that fail, the library keeps count for
// as long as it lives, and from as many on as its pool is large it dials by itself,
// once a second without jitter, and tells callers an old error meanwhile.
func (s *sockets) dialer(next dialer) dialer {
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		conn, err := next(ctx, network, addr)
		if err != nil {
			if _, ok := errors.AsType[*net.OpError](err); !ok { // that one names the address itself
				err = fmt.Errorf("connect to %s: %w", addr, err)
			}
			// Joined, because the library takes off one layer of what it wraps.
			return unreached{err: errors.Join(err)}, nil
		}
		c := &socket{Conn: conn, set: s}
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open == nil {
			s.open = map[*socket]struct{}{}
		}
		s.open[c] = struct{}{}
		if plain, ok := conn.(syscall.Conn); ok {
			return &checkedSocket{socket: c, plain: plain}, nil
		}
		return c, nil
	}
}

// drop closes every connection. What is under way on them ends as a lost
// answer.
func (s *sockets) drop() {
	s.mu.Lock()
	open := s.open
	s.open = nil
	s.mu.Unlock()
	for c := range open {
		_ = c.Conn.Close()
	}
}

// Close closes the connection and forgets it.
func (c *socket) Close() error {
	c.set.mu.Lock()
	delete(c.set.open, c)
	c.set.mu.Unlock()
	return c.Conn.Close()
}

// checkedSocket keeps the file descriptor in reach, by which the client sees
// that an idle connection was closed by the other side. TLS has none to show.
type checkedSocket struct {
	*socket
	plain syscall.Conn
}

// SyscallConn implements syscall.Conn.
func (c *checkedSocket) SyscallConn() (syscall.RawConn, error) { return c.plain.SyscallConn() }
