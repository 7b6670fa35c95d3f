package redis

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/clock"
)

// sockets are the open connections, so that all can be dropped at once: after
// a READONLY answer they lead to a server that is no longer the master.
type sockets struct {
	clock clock.Clock
	mu    sync.Mutex
	open  map[*socket]struct{}
	// failures counts the commands that no server of a cluster answered: see
	// whereabouts.
	failures atomic.Uint64
	// broken counts the connections that were found to be closed by the other side.
	broken atomic.Uint64
	// shown is what of the servers' certificates ends first.
	shown atomic.Pointer[Certificate]
}

// socket is a connection that leaves the set when it is closed.
type socket struct {
	net.Conn
	set      *sockets
	dropped  atomic.Bool
	patience patience
}

// errUnsent: the connection had been dropped when a command was to be sent on it,
// so that nothing of the command was.
var errUnsent = errors.New("the connection was dropped before the command was sent")

// SetWriteDeadline implements net.Conn. The library sets it before each command.
func (c *socket) SetWriteDeadline(t time.Time) error {
	if c.dropped.Load() {
		return errUnsent
	}
	return c.Conn.SetWriteDeadline(t)
}

// SetDeadline implements net.Conn.
func (c *socket) SetDeadline(t time.Time) error {
	c.patience.set(t)
	return c.Conn.SetDeadline(t)
}

// SetReadDeadline implements net.Conn.
func (c *socket) SetReadDeadline(t time.Time) error {
	c.patience.set(t)
	return c.Conn.SetReadDeadline(t)
}

// Read implements net.Conn.
func (c *socket) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if err != nil && !errors.Is(err, os.ErrDeadlineExceeded) && !errors.Is(err, net.ErrClosed) {
		c.set.broken.Add(1)
	}
	if later, ok := c.patience.came(n); ok && err == nil {
		err = c.Conn.SetReadDeadline(later)
	}
	return n, err
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
			_, operation := errors.AsType[*net.OpError](err)
			_, explained := errors.AsType[*tlsError](err)
			if !operation && !explained { // these name the address themselves
				err = fmt.Errorf("connect to %s: %w", addr, err)
			}
			// Joined, because the library takes off one layer of what it wraps.
			return unreached{err: errors.Join(err)}, nil
		}
		c := &socket{Conn: conn, set: s, patience: patience{clock: s.clock}}
		s.mu.Lock()
		defer s.mu.Unlock()
		if secure, ok := conn.(*guided); ok {
			s.shown.Store(endsFirst(s.shown.Load(), secure.certificates()))
		}
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
		c.dropped.Store(true)
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

// unsent sends commands on another connection when the one they were to go on had
// been dropped while it lay idle: nothing of them was sent, so that this repeats
// nothing, and that a new connection is needed is no failure of the server.
type unsent struct{}

// maxUnsent bounds the attempts: each takes one dropped connection out of a pool.
const maxUnsent = maxReaders

func (unsent) DialHook(next redis.DialHook) redis.DialHook { return next }

func (unsent) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		err := next(ctx, cmd)
		for n := 0; errors.Is(err, errUnsent) && ctx.Err() == nil && n < maxUnsent; n++ {
			cmd.SetErr(nil)
			err = next(ctx, cmd)
		}
		return err
	}
}

func (unsent) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		err := next(ctx, cmds)
		for n := 0; ctx.Err() == nil && n < maxUnsent && allUnsent(cmds); n++ {
			for _, cmd := range cmds {
				cmd.SetErr(nil)
			}
			err = next(ctx, cmds)
		}
		return err
	}
}

// allUnsent reports whether nothing of a pipeline was sent. In a cluster a part
// of it may have been, which is then an error like any other.
func allUnsent(cmds []redis.Cmder) bool {
	for _, cmd := range cmds {
		if !errors.Is(cmd.Err(), errUnsent) {
			return false
		}
	}
	return len(cmds) > 0
}
