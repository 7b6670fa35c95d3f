package redistest

import (
	"bytes"
	"net"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"
)

// Proxy is the network between clients and a server. Its methods are safe for
// concurrent use.
type Proxy struct {
	listener net.Listener
	server   *Server
	wg       sync.WaitGroup
	// deaf: new connections are swallowed, too.
	deaf atomic.Bool
	// word: the answer to the next request that holds it is lost; nil for none.
	word atomic.Pointer[string]
	lost atomic.Int64

	mu    sync.Mutex
	links map[*link]struct{}
	// asked is when connections were asked for.
	asked []time.Time
	// closed: nothing is let through any more.
	closed bool
}

// Through starts a proxy before the server, which ends with the test.
func Through(t testing.TB, s *Server) *Proxy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{listener: l, server: s, links: map[*link]struct{}{}}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		p.closed = true
		p.mu.Unlock()
		p.Cut()
		p.wg.Wait()
	})
	return p
}

// URL is the server's URL by way of the proxy. It holds the password of the login.
func (p *Proxy) URL() string { return p.server.urlAt(p.listener.Addr().String()) }

// Cut closes all connections; new ones are let through. While the server is away
// they are closed at once.
func (p *Proxy) Cut() {
	for _, l := range p.all() {
		l.close()
	}
}

// Swallow makes all connections half-open: what is sent is lost, and neither side
// is told. New connections are let through.
func (p *Proxy) Swallow() {
	for _, l := range p.all() {
		l.deaf.Store(true)
	}
}

// Hang swallows what is sent over all connections, new ones too, until Heal.
func (p *Proxy) Hang() {
	p.deaf.Store(true)
	p.Swallow()
}

// Heal lets new connections through again. Those that were half-open stay so.
func (p *Proxy) Heal() { p.deaf.Store(false) }

// Lose loses the answer to the next request that holds the word: the server does
// what it was asked for, and the connection breaks.
func (p *Proxy) Lose(word string) { p.word.Store(&word) }

// Lost is how many answers were lost by Lose.
func (p *Proxy) Lost() int { return int(p.lost.Load()) }

// Asked is when connections were asked for.
func (p *Proxy) Asked() []time.Time {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.asked)
}

func (p *Proxy) all() []*link {
	p.mu.Lock()
	defer p.mu.Unlock()
	var all []*link
	for l := range p.links {
		all = append(all, l)
	}
	return all
}

func (p *Proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		p.mu.Lock()
		p.asked = append(p.asked, time.Now())
		p.mu.Unlock()
		server, err := net.Dial("tcp", p.server.Addr)
		if err != nil {
			_ = client.Close() // the server is away
			continue
		}
		l := &link{client: client, server: server}
		l.deaf.Store(p.deaf.Load())
		p.carry(l)
	}
}

// carry lets a connection through until one of its ends closes.
func (p *Proxy) carry(l *link) {
	p.mu.Lock()
	if p.closed {
		p.mu.Unlock()
		l.close()
		return
	}
	p.links[l] = struct{}{}
	p.mu.Unlock()
	var both sync.WaitGroup
	both.Go(func() { l.copy(l.server, l.client, p.doom(l)) })
	both.Go(func() { l.copy(l.client, l.server, func([]byte) bool { return !l.doomed.Load() }) })
	p.wg.Go(func() {
		both.Wait()
		p.mu.Lock()
		defer p.mu.Unlock()
		delete(p.links, l)
	})
}

// doom looks for the word in what a client sends, which may come in parts, and has
// the answer not pass.
func (p *Proxy) doom(l *link) func([]byte) bool {
	var before []byte // may be the beginning of the word
	return func(b []byte) bool {
		word := p.word.Load()
		if word == nil {
			before = nil
			return true
		}
		seen := append(before, b...)
		if bytes.Contains(seen, []byte(*word)) && p.word.CompareAndSwap(word, nil) {
			l.doomed.Store(true)
			p.lost.Add(1)
		}
		before = bytes.Clone(seen[max(0, len(seen)-len(*word)+1):])
		return true
	}
}

// link is one connection through the proxy.
type link struct {
	client, server net.Conn
	// deaf: bytes are swallowed both ways, and nobody is told.
	deaf atomic.Bool
	// doomed: the next answer does not pass, and the connection breaks.
	doomed atomic.Bool
}

func (l *link) close() {
	_ = l.client.Close()
	_ = l.server.Close()
}

// copy passes bytes on, or swallows them, until the source ends or they do not pass.
func (l *link) copy(to, from net.Conn, pass func([]byte) bool) {
	defer l.close()
	buffer := make([]byte, 1<<15)
	for {
		n, err := from.Read(buffer)
		if n > 0 && !l.deaf.Load() {
			if !pass(buffer[:n]) {
				return
			}
			if _, err := to.Write(buffer[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
