package redis_test

import (
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// A connection that the server closed while it lay idle is not used again: that
// another one is needed is no failure of the server.
func TestAConnectionThatWasClosedWhileIdleIsNoFailure(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			survivesClosing(t, s, open(t, s))
		})
		t.Run(version+" by TLS", func(t *testing.T) {
			t.Parallel()
			ca := redistest.NewAuthority(t, "ca")
			s := redistest.Start(t, version, redistest.TLS(ca, ca.Issue("redis.test", redistest.ForLoopback)))
			worker := ca.Issue("worker")
			survivesClosing(t, s, openWith(t, redis.Options{URL: "rediss://" + s.Addr, TLS: &redis.TLS{CA: ca.CA, Cert: worker.Cert, Key: worker.Key}}))
		})
	}
}

func survivesClosing(t *testing.T, s *redistest.Server, b *redis.Broker) {
	t.Helper()
	ask := func() {
		t.Helper()
		if _, _, err := b.Floor(t.Context(), stream, group); err != nil {
			t.Fatal(err)
		}
		fill(t, b, 1)
	}
	ask()
	s.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
	waitAlone(t, s)
	ask()
}

// A connection on which reads block waits outside of the library's pools between two
// reads. When another connection was found closed, it is not used again: the server was
// restarted, and the first read after that is no second failure.
func TestAReadAfterARestartIsNoSecondFailure(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		fill(t, b, 2)
		if _, err := b.CreateGroup(t.Context(), "empty", group, "0"); err != nil {
			t.Fatal(err)
		}
		blocking := func() ([]broker.Delivery, error) {
			return b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: 10 * time.Millisecond})
		}
		// The command that finds the server away has to be under way when it goes, on a
		// connection of its own.
		waits := make(chan error)
		go func() {
			other := broker.Owner{Stream: "empty", Group: group, Consumer: "c"}
			_, err := b.Read(t.Context(), broker.ReadRequest{Owner: other, Count: 1, Block: soon})
			waits <- err
		}()
		waitBlocked(t, s, 1)
		if first, err := blocking(); err != nil || len(first) != 1 {
			t.Fatal(first, err)
		}
		s.CLI("CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes")
		wantKind(t, <-waits, broker.ErrUnavailable)
		if second, err := blocking(); err != nil || len(second) != 1 {
			t.Error(second, err)
		}
	})
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
