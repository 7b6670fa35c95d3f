package redistest

import (
	"net"
	"strings"
	"time"
)

// Follow makes the server a replica of the one at the address and waits until
// it holds what that one holds.
func (s *Server) Follow(addr string) {
	s.t.Helper()
	host, port, _ := net.SplitHostPort(addr)
	if err := s.Client().Do(s.t.Context(), "REPLICAOF", host, port).Err(); err != nil {
		s.t.Fatal(err)
	}
	s.await("the replica is in step with its primary", func() bool {
		return strings.Contains(s.Client().Info(s.t.Context(), "replication").Val(), "master_link_status:up")
	})
}

// Promote makes a replica a primary.
func (s *Server) Promote() {
	s.t.Helper()
	if err := s.Client().Do(s.t.Context(), "REPLICAOF", "NO", "ONE").Err(); err != nil {
		s.t.Fatal(err)
	}
}

// Replicated waits until a replica has acknowledged all that was written so far,
// by whomever. WAIT asks about what its own connection wrote, so it writes
// something last: a key that is gone at once.
func (s *Server) Replicated() {
	s.t.Helper()
	s.ReplicatedBeside("")
}

// ReplicatedBeside is Replicated for a server of a cluster that has the hash slot of a
// tag.
func (s *Server) ReplicatedBeside(tag string) {
	s.t.Helper()
	key := "redistest:replicated"
	if tag != "" {
		key = "{" + tag + "}:" + key
	}
	conn := s.Client().Conn()
	defer func() { _ = conn.Close() }()
	if err := conn.Set(s.t.Context(), key, "", time.Millisecond).Err(); err != nil {
		s.t.Fatal(err)
	}
	n, err := conn.Wait(s.t.Context(), 1, startTimeout).Result()
	if err != nil || n < 1 {
		s.t.Fatalf("%d replicas have what was written: %v", n, err)
	}
}

// await waits until a condition on the server holds.
func (s *Server) await(what string, holds func() bool) {
	s.t.Helper()
	for deadline := time.Now().Add(startTimeout); time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		if holds() {
			return
		}
	}
	s.t.Fatalf("never: %s (%s)", what, s)
}
