package redis_test

import (
	"bufio"
	"crypto/rand"
	"net"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"pipeline/tests/redistest"
)

// command is one that a server was given, or that a script of it called.
type command struct {
	// from is the client's address, or "lua".
	from string
	args []string
}

func (c command) name() string { return strings.ToUpper(c.args[0]) }

// monitor collects all that a server of the test's own is given.
type monitor struct {
	t      *testing.T
	server *redistest.Server

	mu   sync.Mutex
	seen []command
}

// watch has the server tell all that it is given from now on, until the test ends.
func watch(t *testing.T, s *redistest.Server) *monitor {
	t.Helper()
	conn, err := net.Dial("tcp", s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	lines := bufio.NewReaderSize(conn, 1<<20)
	if _, err := conn.Write([]byte("MONITOR\r\n")); err != nil {
		t.Fatal(err)
	}
	if line, err := lines.ReadString('\n'); err != nil || line != "+OK\r\n" {
		t.Fatalf("monitor: %v, %q", err, line)
	}
	m := &monitor{t: t, server: s}
	var reading sync.WaitGroup
	reading.Go(func() {
		for {
			line, err := lines.ReadString('\n')
			if err != nil {
				return
			}
			c, ok := parseMonitored(line)
			if !ok {
				t.Errorf("what MONITOR said is not understood: %.200q", line)
				return
			}
			m.mu.Lock()
			m.seen = append(m.seen, c)
			m.mu.Unlock()
		}
	})
	t.Cleanup(func() {
		_ = conn.Close()
		reading.Wait()
	})
	return m
}

// parseMonitored reads a line such as +1700000000.1 [0 127.0.0.1:5] "get" "a\x00".
func parseMonitored(line string) (c command, ok bool) {
	_, line, _ = strings.Cut(line, "[")
	origin, rest, found := strings.Cut(line, "] ")
	_, c.from, _ = strings.Cut(origin, " ")
	for rest = strings.TrimRight(rest, "\r\n"); found && rest != ""; rest = strings.TrimPrefix(rest, " ") {
		quoted, err := strconv.QuotedPrefix(rest)
		if err != nil {
			return c, false
		}
		arg, err := strconv.Unquote(quoted)
		if err != nil {
			return c, false
		}
		c.args, rest = append(c.args, arg), rest[len(quoted):]
	}
	return c, len(c.args) > 0
}

// all is what the server was given until now.
func (m *monitor) all() []command {
	m.t.Helper()
	now := rand.Text()
	m.server.Client().Echo(m.t.Context(), now)
	var all []command
	eventually(m.t, "MONITOR shows what the server was given", func() bool {
		m.mu.Lock()
		defer m.mu.Unlock()
		all = slices.Clone(m.seen)
		return slices.ContainsFunc(all, func(c command) bool { return slices.Contains(c.args, now) })
	})
	return all
}

// script is a call of one, and what it called itself. A server that is full shows
// no call that it refused.
type script struct {
	command

	calls []command
}

// scripts are the calls of scripts so far, in their order.
func (m *monitor) scripts() []script {
	var all []script
	for _, c := range m.all() {
		switch {
		case c.from != "lua" && (c.name() == "EVALSHA" || c.name() == "EVAL"):
			all = append(all, script{command: c})
		case c.from == "lua" && len(all) > 0:
			all[len(all)-1].calls = append(all[len(all)-1].calls, c)
		}
	}
	return all
}

// settles are the scripts that settle: they look at the type of what they publish to.
func (m *monitor) settles() []script {
	return slices.DeleteFunc(m.scripts(), func(s script) bool { return s.called("TYPE") == nil })
}

// called are the calls of a command.
func (s script) called(name string) (all []command) {
	for _, c := range s.calls {
		if c.name() == name {
			all = append(all, c)
		}
	}
	return all
}

// bytes is the size of all that the script was given.
func (s script) bytes() (n int) {
	for _, a := range s.args {
		n += len(a)
	}
	return n
}

// entries are the ids of the entries that the script acknowledged, in its order.
func (s script) entries() (ids []string) {
	for _, c := range s.called("XACK") {
		ids = append(ids, c.args[3:]...)
	}
	return ids
}
