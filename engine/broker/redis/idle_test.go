package redis_test

import (
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// A connection that the server closed while it lay idle is not used again: that
// another one is needed is no failure of the server.
func TestAConnectionThatWasClosedWhileIdleIsNoFailure(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			s := redistest.Start(t, version)
			b := open(t, s)
			ask := func(b *redis.Broker) {
				t.Helper()
				if _, _, err := b.Floor(t.Context(), stream, group); err != nil {
					t.Fatal(err)
				}
				fill(t, b, 1)
			}
			ask(b)
			s.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
			waitAlone(t, s)
			ask(b)
		})
	}
}

// waitAlone waits until the only client of the server is the one that asks.
func waitAlone(t *testing.T, s *redistest.Server) {
	t.Helper()
	for deadline := time.Now().Add(soon); time.Now().Before(deadline); {
		if strings.Count(s.CLI("CLIENT", "LIST"), "id=") == 1 {
			return
		}
	}
	t.Fatal("the server keeps clients that were killed")
}
