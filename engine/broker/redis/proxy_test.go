package redis_test

import (
	"bytes"
	"net"
	"sync"
	"sync/atomic"
	"testing"

	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// proxy stands between a broker and a server and fails as networks do.
type proxy struct {
	listener net.Listener
	server   string
	// mode is what becomes of the server's answers.
	mode atomic.Int32
	// swallowed counts answers that did not pass.
	swallowed chan struct{}
	// word: the answer to a request that holds it is lost, and the connection with
	// it; nil for none.
	word atomic.Pointer[string]
	// hook is called once, when all that comes before its word was passed on.
	hook atomic.Pointer[hook]

	mu    sync.Mutex
	conns []net.Conn
	wg    sync.WaitGroup
}

type hook struct {
	word string
	do   func()
}

const (
	pass  = iota
	cut   // the answer is lost and the connection with it
	stall // the answer is lost and the connection stays open, as with a half-open socket
)

// openThrough returns a broker that reaches the server through a proxy.
func openThrough(t *testing.T, s *redistest.Server) (*redis.Broker, *proxy) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &proxy{listener: l, server: s.Addr, swallowed: make(chan struct{}, 1000)}
	p.wg.Go(p.accept)
	t.Cleanup(func() {
		_ = l.Close()
		p.mu.Lock()
		for _, c := range p.conns {
			_ = c.Close()
		}
		p.mu.Unlock()
		p.wg.Wait()
	})
	return openWith(t, redis.Options{URL: "redis://" + l.Addr().String() + "/" + itoa(s.DB)}), p
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		p.mu.Lock()
		p.conns = append(p.conns, client, server)
		p.mu.Unlock()
		var doomed atomic.Bool
		p.wg.Go(func() { p.requests(client, server, &doomed) })
		p.wg.Go(func() { p.answers(client, server, &doomed) })
	}
}

// requests passes on what the client sends. A connection over which the word goes
// is doomed before the server sees it.
func (p *proxy) requests(client, server net.Conn, doomed *atomic.Bool) {
	defer server.Close()
	var seen []byte
	buf := make([]byte, 1<<16)
	for {
		n, err := client.Read(buf)
		if word := p.word.Load(); word != nil {
			seen = append(seen, buf[:n]...)
			if bytes.Contains(seen, []byte(*word)) {
				doomed.Store(true)
			}
		}
		rest := buf[:n]
		if h := p.hook.Load(); h != nil {
			if at := bytes.Index(rest, []byte(h.word)); at >= 0 && p.hook.CompareAndSwap(h, nil) {
				if _, err := server.Write(rest[:at]); err != nil {
					return
				}
				rest = rest[at:]
				h.do()
			}
		}
		if len(rest) > 0 {
			if _, err := server.Write(rest); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}

func (p *proxy) answers(client, server net.Conn, doomed *atomic.Bool) {
	defer client.Close()
	buf := make([]byte, 1<<16)
	for {
		n, err := server.Read(buf)
		if err != nil {
			return
		}
		mode := p.mode.Load()
		if doomed.Load() {
			mode = cut
		}
		switch mode {
		case cut:
			p.swallowed <- struct{}{}
			return
		case stall:
			p.swallowed <- struct{}{}
			continue
		}
		if _, err := client.Write(buf[:n]); err != nil {
			return
		}
	}
}
