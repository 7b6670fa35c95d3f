package redis_test

import (
	"bytes"
	"net"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"pipeline/tests/redistest"
)

// lossy stands between an engine and its server and loses an answer when it is
// told to: the server has done what it was asked for, and the connection breaks.
type lossy struct {
	listener net.Listener
	server   string
	db       int
	// word: the answer to the next request that holds it is lost; nil for none.
	word atomic.Pointer[string]
	lost atomic.Int64

	wg    sync.WaitGroup
	mu    sync.Mutex
	conns []net.Conn
}

func through(t *testing.T, s *redistest.Server) *lossy {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	p := &lossy{listener: l, server: s.Addr, db: s.DB}
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
	return p
}

// url is where an engine finds the server.
func (p *lossy) url() string {
	return "redis://" + p.listener.Addr().String() + "/" + strconv.Itoa(p.db)
}

// lose loses the answer to the next request that holds the word.
func (p *lossy) lose(word string) { p.word.Store(&word) }

func (p *lossy) accept() {
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
		p.wg.Go(func() {
			defer server.Close()
			carry(server, client, func(b []byte) bool { p.doom(b, &doomed); return true })
		})
		p.wg.Go(func() {
			defer client.Close()
			carry(client, server, func([]byte) bool { return !doomed.Load() })
		})
	}
}

// doom looks for the word in a request.
func (p *lossy) doom(request []byte, doomed *atomic.Bool) {
	word := p.word.Load()
	if word != nil && bytes.Contains(request, []byte(*word)) && p.word.CompareAndSwap(word, nil) {
		doomed.Store(true)
		p.lost.Add(1)
	}
}

// carry passes bytes on for as long as they pass.
func carry(to, from net.Conn, pass func([]byte) bool) {
	buf := make([]byte, 1<<16)
	for {
		n, err := from.Read(buf)
		if n > 0 {
			if !pass(buf[:n]) {
				return
			}
			if _, err := to.Write(buf[:n]); err != nil {
				return
			}
		}
		if err != nil {
			return
		}
	}
}
