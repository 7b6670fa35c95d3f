package redistest

import (
	"context"
	"fmt"
	"os"
	"sync"
	"testing"
)

// databases is how many a server of ours has: more than tests of one package run at once, so that one that
// was just left is not given away again at once.
const databases = 256

// pools holds the shared servers of this test binary, by version.
var pools struct {
	mu       sync.Mutex
	versions map[string]*pool
}

// pool is a shared server and the numbers of its free databases, the longest unused first.
type pool struct {
	process *process
	err     error // why there is none; a second start would fail as the first did
	free    chan int
}

// sharedPool starts the version's server at the first call. Nobody stops it: its guard does when the test
// binary ends.
func sharedPool(version, path string) *pool {
	pools.mu.Lock()
	defer pools.mu.Unlock()
	if p := pools.versions[version]; p != nil {
		return p
	}
	p := &pool{free: make(chan int, databases)}
	p.process, p.err = startProcess(path, newSettings(nil))
	for db := range databases {
		p.free <- db
	}
	if pools.versions == nil {
		pools.versions = map[string]*pool{}
	}
	pools.versions[version] = p
	return p
}

// Shared gives the test an empty database of a server that all tests of this binary share. It is emptied
// when the test ends. What reaches beyond a database (FLUSHALL, CONFIG SET, CLIENT KILL of others, scripts
// being flushed) belongs into a server of [Start].
func Shared(t testing.TB, version string) *Server {
	t.Helper()
	if os.Getenv(addressVariable(version)) != "" {
		return external(t, version)
	}
	path := launcher("redis-server", version)
	if path == "" {
		missing(t, version)
	}
	p := sharedPool(version, path)
	if p.err != nil {
		t.Fatalf("start Redis %s: %v", version, p.err)
	}
	s := newServer(t, version, p.process)
	s.shared = true
	select {
	case s.DB = <-p.free:
	case <-t.Context().Done():
		t.Fatalf("shared Redis %s: all %d databases are in use", version, databases)
	}
	t.Cleanup(func() { p.free <- s.DB })
	s.prepare()
	return s
}

// prepare empties the database now and again at the end of the test, and records the case.
func (s *Server) prepare() {
	s.t.Helper()
	client := s.Client()
	empty := func() error {
		ctx, cancel := context.WithTimeout(context.Background(), startTimeout)
		defer cancel()
		return client.FlushDB(ctx).Err()
	}
	if err := empty(); err != nil {
		s.t.Fatalf("empty database %d of Redis %s: %v", s.DB, s.Version, err)
	}
	s.t.Cleanup(func() {
		if err := empty(); err != nil {
			s.t.Errorf("empty database %d of Redis %s: %v", s.DB, s.Version, err)
		}
	})
	s.identify()
	Record(s.t, s.full)
}

// String names the server in messages, without its password.
func (s *Server) String() string { return fmt.Sprintf("%s at %s/%d", s.full, s.Addr, s.DB) }
