package redis_test

import (
	"net"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func TestTLS(t *testing.T) {
	t.Parallel()
	ca, other := redistest.NewAuthority(t, "ca"), redistest.NewAuthority(t, "other")
	server, worker := ca.Issue("redis.test", redistest.ForLoopback), ca.Issue("worker")
	addr := redistest.Start(t, "8.6", redistest.TLS(ca, server)).Addr
	whole := redis.TLS{CA: ca.CA, Cert: worker.Cert, Key: worker.Key}
	named := whole
	named.ServerName = "redis.test"
	for _, o := range []redis.Options{{URL: "rediss://" + addr, TLS: &whole}, {URL: "redis://" + addr, TLS: &named}} {
		b := openWith(t, o)
		if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Millisecond}); err != nil {
			t.Fatal(err)
		}
	}
	foreign, wrongName, noCert := whole, whole, whole
	foreign.CA = other.CA
	wrongName.ServerName = "elsewhere.test"
	noCert.Cert, noCert.Key = "", ""
	strange := whole
	stranger := other.Issue("stranger")
	strange.Cert, strange.Key = stranger.Cert, stranger.Key
	plain := redistest.Shared(t, "8.6").Addr
	for _, c := range []struct {
		addr  string
		tls   redis.TLS
		wants []string
	}{
		{addr, foreign, []string{"unknown authority", "set ca in the tls block"}},
		{addr, wrongName, []string{"elsewhere.test", "set server_name in the tls block"}},
		{addr, noCert, []string{"set cert and key in the tls block"}}, // the server's reason may be lost with the connection
		{addr, strange, []string{"unknown certificate authority", "the server refuses the client certificate"}},
		{plain, whole, []string{"if the server does not speak TLS at this port, name its tls-port"}},
	} {
		b := openWith(t, redis.Options{URL: "rediss://" + c.addr, TLS: &c.tls})
		_, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
		wantKind(t, err, broker.ErrUnavailable, "connect to "+c.addr)
		for _, want := range c.wants {
			wantKind(t, err, broker.ErrUnavailable, want)
		}
	}
}

// A server that speaks TLS where none is spoken to it: what happened, where, and what
// to do.
func TestAServerThatSpeaksTLSIsNamedWhereNoneIsSpoken(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ca := redistest.NewAuthority(t, "ca")
			addr := redistest.Start(t, version, redistest.TLS(ca, ca.Issue("redis.test", redistest.ForLoopback))).Addr
			b := openWith(t, redis.Options{URL: "redis://" + addr})
			_, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
			for _, want := range []string{
				"connect to " + addr + ":", "closed before a first answer", "if the server speaks TLS at this port", "rediss://", "set the tls block",
			} {
				wantKind(t, err, broker.ErrUnavailable, want)
			}
		})
	}
	t.Run("with an alert", func(t *testing.T) {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			t.Fatal(err)
		}
		defer l.Close()
		go func() {
			for {
				conn, err := l.Accept()
				if err != nil {
					return
				}
				_, _ = conn.Read(make([]byte, 100))
				_, _ = conn.Write([]byte{0x15, 3, 1, 0, 2, 2, 70}) // protocol_version
				_ = conn.Close()
			}
		}()
		b := openWith(t, redis.Options{URL: "redis://" + l.Addr().String()})
		_, err = b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
		wantKind(t, err, broker.ErrUnavailable, "connect to "+l.Addr().String()+": the server answered by TLS; connect by rediss://")
	})
}

// A client certificate is read again for each connection. While its files are of no
// use the last one goes on being shown, and that is told once.
func TestARenewedClientCertificateIsShown(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			ca := redistest.NewAuthority(t, "ca")
			s := redistest.Start(t, version, redistest.TLS(ca, ca.Issue("redis.test", redistest.ForLoopback)))
			worker := ca.Issue("worker")
			var told atomic.Int32
			var last atomic.Value
			b := openWith(t, redis.Options{
				URL: "rediss://" + s.Addr, TLS: &redis.TLS{CA: ca.CA, Cert: worker.Cert, Key: worker.Key},
				Warn: func(err error) { told.Add(1); last.Store(err.Error()) },
			})
			// Both clients of the broker connect anew, and say how that goes.
			again := func() error {
				t.Helper()
				_ = s.Client().ClientKillByFilter(t.Context(), "TYPE", "normal", "SKIPME", "yes").Err()
				var err error
				for range 20 { // connections that were killed show as that once each
					if _, err = b.CreateGroup(t.Context(), stream, group, "0"); err == nil {
						_, err = b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Millisecond})
					}
					if err == nil {
						return nil
					}
				}
				return err
			}
			works := func(what string, tellings int32) {
				t.Helper()
				if err := again(); err != nil {
					t.Errorf("%s: %v", what, err)
				}
				if n := told.Load(); n != tellings {
					t.Errorf("%s: told %d times, want %d: %v", what, n, tellings, last.Load())
				}
			}
			works("the first certificate", 0)
			cert, err := os.ReadFile(worker.Cert)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(worker.Cert, cert[:len(cert)/2], 0o600); err != nil {
				t.Fatal(err)
			}
			works("half a file", 1)
			works("half a file still", 1)
			for _, want := range []string{"tls: cert and key: " + worker.Cert, "goes on being shown"} {
				if text, _ := last.Load().(string); !contains(text, want) {
					t.Errorf("told %q, want %q", text, want)
				}
			}
			ca.Issue("worker", redistest.Expired)
			err = again()
			wantKind(t, err, broker.ErrUnavailable, "expired certificate", "the server refuses the client certificate")
			ca.Issue("worker")
			works("a renewed certificate", 1)
			if err := os.Remove(worker.Key); err != nil {
				t.Fatal(err)
			}
			works("a key that is gone", 2)
		})
	}
}
