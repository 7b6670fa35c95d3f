package redis_test

import (
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// trickle passes on what a server says at no more than so many bytes a beat, and
// what it is told at once.
func trickle(t *testing.T, s *redistest.Server, bytes int, beat time.Duration) (address string) {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	var all sync.WaitGroup
	t.Cleanup(func() {
		close(ended)
		_ = listener.Close()
		all.Wait()
	})
	all.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", s.Client().Options().Addr)
			if err != nil {
				_ = client.Close()
				continue
			}
			all.Go(func() { // until the client closes
				_, _ = io.Copy(server, client)
				_ = server.Close()
			})
			all.Go(func() {
				defer client.Close()
				beats := time.NewTicker(beat)
				defer beats.Stop()
				for part := make([]byte, bytes); ; {
					n, err := server.Read(part)
					if _, failed := client.Write(part[:n]); err != nil || failed != nil {
						return
					}
					if n <= 1000 { // what is short needs no time
						continue
					}
					select {
					case <-beats.C:
					case <-ended:
						return
					}
				}
			})
		}
	})
	return listener.Addr().String()
}

// TestALongAnswerOverASlowNetworkArrives: what takes longer to arrive than a
// silence may last is read all the same, by a reader and by one that looks.
func TestALongAnswerOverASlowNetworkArrives(t *testing.T) {
	t.Parallel()
	s := redistest.Start(t, "8.6")
	near := open(t, s)
	if _, err := near.CreateGroup(t.Context(), stream, group, "0"); err != nil {
		t.Fatal(err)
	}
	const entries, size = 40, 100_000
	body := strings.Repeat("x", size)
	for range entries {
		if _, err := near.Add(t.Context(), []broker.Add{message(stream, field("_payload", body))}); err != nil {
			t.Fatal(err)
		}
	}
	// 4 MB at no more than 250 kB a beat of half a second are eight seconds; silence may
	// last 4, which is eight beats: one may be late on a machine that is busy.
	far, err := redis.Open(redis.Options{URL: "redis://" + trickle(t, s, 250_000, 500*time.Millisecond), Timeout: 4 * time.Second})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = far.Close() })
	began := time.Now()
	ds, err := far.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: entries, Block: time.Second})
	if err != nil || len(ds) != entries || ds[entries-1].Fields[0].Value != body {
		t.Fatalf("%d entries after %v, %v", len(ds), time.Since(began), err)
	}
	page, err := far.Range(t.Context(), stream, broker.ID{}, broker.MaxID, entries)
	if err != nil || len(page) != entries {
		t.Errorf("%d entries, %v", len(page), err)
	}
	t.Logf("a read of %d bytes took %v", entries*size, time.Since(began))
}
