package redistest

import (
	"io"
	"net"
	"sync"
	"testing"
)

// Link is a network between clients and a server, with an address of its own that
// outlives the server: what a virtual address or a name is in production. Its
// methods may be called from several goroutines.
type Link struct {
	listener net.Listener
	wg       sync.WaitGroup

	mu     sync.Mutex
	server string
	down   bool
	ended  bool
	conns  map[net.Conn]struct{}
}

// NewLink opens a link to the server's address, which ends with the test.
func NewLink(t testing.TB, server string) *Link {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	l := &Link{listener: listener, server: server, conns: map[net.Conn]struct{}{}}
	l.wg.Go(l.accept)
	t.Cleanup(func() {
		_ = listener.Close()
		l.mu.Lock()
		l.ended = true
		l.mu.Unlock()
		l.Down()
		l.wg.Wait()
	})
	return l
}

// Addr is the address that clients connect to, HOST:PORT.
func (l *Link) Addr() string { return l.listener.Addr().String() }

// Point leads connections that are made from now on to another server; those
// that stand stay.
func (l *Link) Point(server string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.server = server
}

// Down cuts all connections and lets no new one through until Up. What was sent
// and has not passed is lost.
func (l *Link) Down() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = true
	for c := range l.conns {
		_ = c.Close()
	}
}

// Up lets connections through again.
func (l *Link) Up() {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.down = false
}

func (l *Link) accept() {
	for {
		client, err := l.listener.Accept()
		if err != nil {
			return
		}
		l.mu.Lock()
		target, down := l.server, l.down
		l.mu.Unlock()
		server, err := net.Dial("tcp", target)
		if err != nil {
			_ = client.Close()
			continue
		}
		if down || !l.keep(client, server) {
			_, _ = client.Close(), server.Close()
			continue
		}
		l.wg.Go(func() { l.pass(client, server) })
		l.wg.Go(func() { l.pass(server, client) })
	}
}

// keep remembers a connection unless the link went down meanwhile.
func (l *Link) keep(client, server net.Conn) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.down || l.ended {
		return false
	}
	l.conns[client], l.conns[server] = struct{}{}, struct{}{}
	return true
}

// pass copies one way until either side is closed, and then closes both.
func (l *Link) pass(to, from net.Conn) {
	_, _ = io.Copy(to, from)
	_, _ = to.Close(), from.Close()
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.conns, to)
	delete(l.conns, from)
}
