package redis_test

import (
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
