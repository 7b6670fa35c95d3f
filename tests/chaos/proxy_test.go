package chaos

import (
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"pipeline/tests/redistest"
)

// proxy is the network between one process and its server.
type proxy struct {
	listener net.Listener
	server   string
	wg       sync.WaitGroup
	// accepted counts the connections that were asked for.
	accepted atomic.Int64

	mu    sync.Mutex
	links map[*link]struct{}
	// closed: nothing is let through any more.
	closed bool
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	// deaf: bytes are swallowed both ways, and nobody is told.
	deaf atomic.Bool
}

// through starts a proxy before the server, which ends with the test.
func through(t *testing.T, s *redistest.Server) *proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: s.Addr, links: map[*link]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.cut()
		p.wg.Wait()
	})
	return p
}

// url is where a process finds the server.
func (p *proxy) url() string { return "redis://" + p.listener.Addr().String() + "/0" }

// cut closes all connections; new ones are let through.
func (p *proxy) cut() {
	for _, l := range p.all() {
		l.close()
	}
}

// swallow makes all connections half-open: what is sent is lost, and neither side
// is told. New connections are let through.
func (p *proxy) swallow() {
	for _, l := range p.all() {
		l.deaf.Store(true)
	}
}

func (p *proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*link
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.accepted.Add(1)
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close() // the server is away
			continue
		}
		p.carry(&link{client: client, server: server})
	}
}

// carry lets a connection through until one of its ends closes.
func (p *proxy) carry(l *link) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		l.close()
		return
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.copy(l.server, l.client) })
	both.Go(func() { l.copy(l.client, l.server) })
	p.wg.Go(func() {
		both.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	})
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// copy passes bytes on, or swallows them, until the source ends.
func (l *link) copy(to, from net.Conn) {
	defer l.close()
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.deaf.Load() {
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
