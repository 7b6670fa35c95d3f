package redis_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// sentinel answers the few questions that a client asks a sentinel.
type sentinel struct {
	listener net.Listener
	password string
	wg       sync.WaitGroup

	mu     sync.Mutex
	master string
	conns  []net.Conn
}

func startSentinel(t *testing.T, master, password string) *sentinel {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s := &sentinel{listener: l, master: master, password: password}
	s.wg.Go(func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			s.mu.Lock()
			s.conns = append(s.conns, c)
			s.mu.Unlock()
			s.wg.Go(func() { s.serve(c) })
		}
	})
	t.Cleanup(func() {
		_ = l.Close()
		s.mu.Lock()
		for _, c := range s.conns {
			_ = c.Close()
		}
		s.mu.Unlock()
		s.wg.Wait()
	})
	return s
}

func (s *sentinel) moveTo(master string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.master = master
}

func (s *sentinel) serve(c net.Conn) {
	r := bufio.NewReader(c)
	known := false
	for {
		words, err := readCommand(r)
		if err != nil {
			return
		}
		line := strings.ToLower(strings.Join(words, " "))
		known = known || strings.Contains(line, "auth default "+s.password)
		answer := "+OK\r\n"
		switch {
		case !known:
			answer = "-NOAUTH Authentication required.\r\n"
		case strings.HasPrefix(line, "hello"):
			answer = "*2\r\n$6\r\nserver\r\n$5\r\nredis\r\n"
		case strings.HasPrefix(line, "sentinel get-master-addr-by-name the-master"):
			s.mu.Lock()
			host, port, _ := net.SplitHostPort(s.master)
			s.mu.Unlock()
			answer = fmt.Sprintf("*2\r\n$%d\r\n%s\r\n$%d\r\n%s\r\n", len(host), host, len(port), port)
		case strings.HasPrefix(line, "sentinel"):
			answer = "*0\r\n"
		case strings.HasPrefix(line, "subscribe"):
			answer = ""
			for i, channel := range words[1:] {
				answer += fmt.Sprintf("*3\r\n$9\r\nsubscribe\r\n$%d\r\n%s\r\n:%d\r\n", len(channel), channel, i+1)
			}
		}
		if _, err := io.WriteString(c, answer); err != nil {
			return
		}
	}
}

// readCommand reads an array of strings.
func readCommand(r *bufio.Reader) ([]string, error) {
	length := func() (int, error) {
		line, err := r.ReadString('\n')
		if err != nil || len(line) < 3 {
			return 0, io.ErrUnexpectedEOF
		}
		return strconv.Atoi(strings.TrimSpace(line[1:]))
	}
	n, err := length()
	if err != nil {
		return nil, err
	}
	words := make([]string, n)
	for i := range words {
		size, err := length()
		if err != nil {
			return nil, err
		}
		word := make([]byte, size+2)
		if _, err := io.ReadFull(r, word); err != nil {
			return nil, err
		}
		words[i] = string(word[:size])
	}
	return words, nil
}

// After a failover the old master, now a replica, answers READONLY; the next
// attempt finds the new one.
func TestSentinel(t *testing.T) {
	t.Parallel()
	old, next := redistest.Start(t, "8.6", redistest.Password("data-pw")), redistest.Start(t, "8.6", redistest.Password("data-pw"))
	s := startSentinel(t, old.Addr, "sentinel-pw")
	b := openWith(t, redis.Options{Password: "data-pw", Sentinel: &redis.Sentinel{
		Master: "the-master", Addresses: []string{s.listener.Addr().String()}, Username: "default", Password: "sentinel-pw",
	}})
	ids := fill(t, b, 3)
	request := broker.ReadRequest{Owner: owner("c"), Count: 3, Block: time.Second}
	if d, err := b.Read(t.Context(), request); err != nil || len(d) != 3 {
		t.Fatal(d, err)
	}
	s.moveTo(next.Addr)
	host, port, _ := net.SplitHostPort(next.Addr)
	if err := old.Client().Do(t.Context(), "REPLICAOF", host, port).Err(); err != nil {
		t.Fatal(err)
	}
	_, err := b.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Acks: ids[:1]})
	wantKind(t, err, broker.ErrUnavailable, "READONLY")
	if created, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil || !created {
		t.Fatalf("on the new master: %v, %v", created, err)
	}
	for { // a reader's connection may have to fail first
		if _, err := b.Read(t.Context(), request); err == nil {
			break
		}
		if t.Context().Err() != nil {
			t.Fatal("reads do not follow")
		}
	}
	if n := next.Client().Exists(t.Context(), stream).Val(); n != 1 {
		t.Error("the group was created elsewhere")
	}
}
