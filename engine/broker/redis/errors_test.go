package redis_test

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func TestWrongType(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		s.Client().Set(t.Context(), stream, "x", 0)
		ctx, o := t.Context(), owner("c")
		id := []broker.ID{{Ms: 1}}
		for name, call := range map[string]func() error{
			"read": func() error {
				_, err := b.Read(ctx, broker.ReadRequest{Owner: o, Count: 1, Block: time.Second})
				return err
			},
			"create": func() error { _, err := b.CreateGroup(ctx, stream, group, "$"); return err },
			"add":    func() error { _, err := b.Add(ctx, []broker.Add{message(stream, field("a", "b"))}); return err },
			"addMany": func() error {
				_, err := b.Add(ctx, []broker.Add{message(stream, field("a", "b")), message(stream, field("a", "b"))})
				return err
			},
			"settle": func() error { _, err := b.Settle(ctx, &broker.Settlement{Owner: o, Acks: id}); return err },
			"steps": func() error {
				_, err := b.Settle(ctx, &broker.Settlement{Owner: o, Steps: []broker.Step{{ID: id[0]}}})
				return err
			},
			"waits": func() error {
				_, err := b.Settle(ctx, &broker.Settlement{Owner: o, Waits: []broker.Wait{{ID: id[0]}}})
				return err
			},
			"renew":    func() error { _, err := b.Renew(ctx, o, id); return err },
			"release":  func() error { return b.Release(ctx, o, id, 48*time.Hour) },
			"takeover": func() error { _, err := b.TakeOver(ctx, o, "d", id); return err },
			"claim":    func() error { _, err := b.AutoClaim(ctx, broker.AutoClaimRequest{Owner: o, Count: 1}); return err },
			"admit": func() error {
				_, err := b.Admit(ctx, broker.AdmitRequest{Owner: o, Entries: []broker.Redelivery{{ID: id[0]}}})
				return err
			},
			"range": func() error { _, err := b.Range(ctx, stream, broker.ID{}, broker.MaxID, 1); return err },
			"trim":  func() error { _, err := b.Trim(ctx, broker.TrimRequest{Stream: stream, MaxLen: 1}); return err },
			"protect": func() error {
				_, err := b.Trim(ctx, broker.TrimRequest{Stream: stream, MaxLen: 1, Protect: true})
				return err
			},
			"info":      func() error { _, err := b.StreamInfo(ctx, stream); return err },
			"groups":    func() error { _, err := b.GroupInfos(ctx, stream); return err },
			"consumers": func() error { _, err := b.ConsumerInfos(ctx, stream, group); return err },
			"pending":   func() error { _, err := b.Pending(ctx, stream, group, "", broker.ID{}, 1); return err },
			"floor":     func() error { return b.SaveFloor(ctx, stream, group) },
			"seek": func() error {
				_, err := b.Seek(ctx, broker.SeekRequest{Stream: stream, Group: group, Seen: broker.MaxID})
				return err
			},
			"restore": func() error { _, _, err := b.RestoreGroup(ctx, stream, group); return err },
			"remove":  func() error { _, err := b.RemoveConsumer(ctx, o); return err },
		} {
			t.Run(name, func(t *testing.T) { wantKind(t, call(), broker.ErrWrongType, stream, "WRONGTYPE") })
		}
	})
}

func TestCredentials(t *testing.T) {
	const secret = "s3cr3t-p4ss"
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Password(secret))
			good := openWith(t, redis.Options{URL: "redis://" + s.Addr, Password: secret})
			fill(t, good, 1)
			for name, o := range map[string]redis.Options{
				"none":  {URL: "redis://" + s.Addr},
				"wrong": {URL: "redis://:wrong-" + secret + "@" + s.Addr},
				"user":  {URL: "redis://" + s.Addr, Username: "nobody", Password: "wrong-" + secret},
			} {
				b := openWith(t, o)
				_, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Second})
				wantKind(t, err, broker.ErrAuth)
				_, probed := b.Probe(t.Context())
				wantKind(t, probed, broker.ErrAuth)
				_, settled := b.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Acks: []broker.ID{{Ms: 1}}, Waits: []broker.Wait{{}}})
				wantKind(t, settled, broker.ErrAuth)
				for _, err := range []error{err, probed, settled} {
					if !broker.Transient(err) || strings.Contains(err.Error(), secret) {
						t.Errorf("%s: %v", name, err)
					}
				}
			}
		})
	}
}

// A user with just some rights gets an error that names the rule it lacks.
func TestPermissions(t *testing.T) {
	for _, version := range slices.Concat(redistest.Versions, others) {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			admin := open(t, s)
			ids := fill(t, admin, 5)
			user := func(name string, rules ...any) *redis.Broker {
				t.Helper()
				acl := append([]any{"ACL", "SETUSER", name, "on", ">pw", "-@all"}, rules...)
				if err := s.Client().Do(t.Context(), acl...).Err(); err != nil {
					t.Fatal(err)
				}
				return openWith(t, redis.Options{URL: fmt.Sprintf("redis://%s:pw@%s", name, s.Addr)})
			}
			reader := user("reader", "~"+stream, "+xreadgroup", "+evalsha", "+eval", "+xpending", "+type", "+xadd")
			d, err := reader.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 3, Block: time.Second})
			if err != nil || len(d) != 3 {
				t.Fatal(d, err)
			}
			_, err = reader.Read(t.Context(), broker.ReadRequest{Owner: broker.Owner{Stream: "orders", Group: group, Consumer: "c"}, Count: 3})
			wantKind(t, err, broker.ErrNoPermission, "~orders")
			_, err = reader.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Acks: ids[:1]})
			wantKind(t, err, broker.ErrNoPermission, "+xack")
			_, err = reader.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{reply(ids[0])}})
			wantKind(t, err, broker.ErrNoPermission, "xack")
			_, err = reader.Renew(t.Context(), owner("c"), ids[:1])
			wantKind(t, err, broker.ErrNoPermission, "renew payments/ledger")

			// Without the right to publish, nothing is acknowledged.
			worker := user("worker", "~"+stream, "~{payments}:pipeline:*", "%R~"+replies, "+@stream", "+evalsha", "+eval", "+type")
			_, err = worker.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{reply(ids[0]), {ID: ids[1]}}})
			wantKind(t, err, broker.ErrNoPermission, "settle payments/ledger", "~"+replies)
			if left := pendingOf(t, admin); len(left) != 3 {
				t.Errorf("pending: %v", left)
			}

			server, err := worker.Probe(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			full, err := admin.Probe(t.Context())
			if full.Eviction == "" || server.Eviction != "" {
				t.Errorf("eviction seen with few rights: %q, with all: %q", server.Eviction, full.Eviction)
			}
			full.Eviction = "" // what a login may not see, nobody makes up
			if err != nil || server != full {
				t.Errorf("seen with few rights: %+v, with all: %+v, %v", server, full, err)
			}
		})
	}
}

func TestProbe(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		server, err := b.Probe(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		since84 := s.Version >= "8.4"
		want := broker.Server{Software: "redis", Version: server.Version, Features: broker.Features{
			ClaimingRead: since84, AutoClaim: true, DeletedIDs: true, TrimAcknowledged: since84, Lag: true, IdempotentAdd: s.Version >= "8.6",
		}, Eviction: "noeviction"}
		if server != want || !strings.HasPrefix(server.Version, s.Version) {
			t.Errorf("%+v", server)
		}
		if keys := s.Client().DBSize(t.Context()).Val(); keys != 0 {
			t.Errorf("the probe left %d keys", keys)
		}
	})
}

// The trials touch a real key only if somebody named one like it, and even then
// change nothing.
func TestProbeIsHarmless(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		const key = "pipeline:probe"
		for range 3 {
			s.Client().XAdd(t.Context(), &goredisXAddArgs{Stream: key, Values: []string{"a", "b"}})
		}
		s.Client().XGroupCreate(t.Context(), key, group, "0")
		before := s.Client().Dump(t.Context(), key).Val()
		if _, err := b.Probe(t.Context()); err != nil {
			t.Fatal(err)
		}
		if after := s.Client().Dump(t.Context(), key).Val(); after != before {
			t.Error("the probe changed the key")
		}
	})
}

func TestOptions(t *testing.T) {
	folder := t.TempDir()
	noPEM := filepath.Join(folder, "no.pem")
	if err := os.WriteFile(noPEM, []byte("x"), 0o600); err != nil {
		t.Fatal(err)
	}
	sentinel := func(master string, addresses ...string) *redis.Sentinel {
		return &redis.Sentinel{Master: master, Addresses: addresses}
	}
	const url = "redis://user:s3cr3t@localhost:6379/0"
	for _, c := range []struct {
		name string
		o    redis.Options
		want string // "" if it is valid
	}{
		{"plain", redis.Options{URL: url}, ""},
		{"tls", redis.Options{URL: "rediss://user:s3cr3t@localhost"}, ""},
		{"socket", redis.Options{URL: "unix://user:s3cr3t@/run/redis.sock?db=3"}, ""},
		{"cluster", redis.Options{URL: url, Cluster: true}, ""},
		{"sentinel", redis.Options{Sentinel: sentinel("m", "a:26379")}, ""},
		{"nothing", redis.Options{}, "url: is missing"},
		{"scheme", redis.Options{URL: "http://user:s3cr3t@localhost"}, "url: want redis://"},
		{"port", redis.Options{URL: "redis://user:s3cr3t@localhost:port"}, "url: want redis://"},
		{"database", redis.Options{URL: "redis://user:s3cr3t@localhost/x"}, "url: want redis://"},
		{"broken", redis.Options{URL: "redis://user:s3cr3t%zz@localhost"}, "url: want redis://"},
		{"parameter", redis.Options{URL: url + "?s3cr3t=1"}, "url: want redis://"},
		{"cluster with a database", redis.Options{URL: "redis://localhost/3", Cluster: true}, "cluster: a cluster has only database 0"},
		{"cluster on a socket", redis.Options{URL: "unix:///run/redis.sock", Cluster: true}, "cluster: "},
		{"cluster with sentinel", redis.Options{URL: url, Cluster: true, Sentinel: sentinel("m", "a:1")}, "cluster: "},
		{"no master", redis.Options{Sentinel: sentinel("", "a:1")}, "sentinel: master"},
		{"no sentinels", redis.Options{Sentinel: sentinel("m")}, "sentinel: addresses"},
		{"a url for a sentinel", redis.Options{Sentinel: sentinel("m", "user:s3cr3t@a:1")}, "sentinel: an address"},
		{"no such ca", redis.Options{URL: url, TLS: &redis.TLS{CA: filepath.Join(folder, "none")}}, "tls: ca: "},
		{"no PEM", redis.Options{URL: url, TLS: &redis.TLS{CA: noPEM}}, "tls: ca: "},
		{"cert alone", redis.Options{URL: url, TLS: &redis.TLS{Cert: noPEM}}, "tls: cert and key"},
		{"no pair", redis.Options{URL: url, TLS: &redis.TLS{Cert: noPEM, Key: noPEM}}, "tls: cert and key"},
		{"sentinel tls", redis.Options{Sentinel: &redis.Sentinel{Master: "m", Addresses: []string{"a:1"}, TLS: &redis.TLS{CA: noPEM}}}, "sentinel: tls: ca"},
		{"timeout", redis.Options{URL: url, Timeout: -1}, "timeout: "},
	} {
		t.Run(c.name, func(t *testing.T) {
			b, err := redis.Open(c.o)
			if err == nil {
				err = b.Close()
				if c.want != "" {
					t.Fatal("opened")
				}
			}
			if (err == nil) != (c.want == "") || err != nil && (!strings.Contains(err.Error(), c.want) || strings.Contains(err.Error(), "s3cr3t")) {
				t.Errorf("%v, want %q", err, c.want)
			}
		})
	}
}

func TestNobodyThere(t *testing.T) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	addr := l.Addr().String()
	if err := l.Close(); err != nil {
		t.Fatal(err)
	}
	b := openWith(t, redis.Options{URL: "redis://user:s3cr3t@" + addr, Timeout: time.Second})
	_, read := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Second})
	_, settled := b.Settle(t.Context(), &broker.Settlement{Owner: owner("c"), Acks: []broker.ID{{Ms: 1}}})
	for _, err := range []error{read, settled} {
		wantKind(t, err, broker.ErrUnavailable)
		if strings.Contains(err.Error(), "s3cr3t") {
			t.Error(err)
		}
	}
}

func TestClosed(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, _ *redis.Broker) {
		b, err := redis.Open(redis.Options{URL: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		fill(t, b, 0)
		ended := make(chan error)
		go func() {
			_, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Hour})
			ended <- err
		}()
		waitBlocked(t, s, 1)
		for range 2 {
			if err := b.Close(); err != nil {
				t.Error(err)
			}
		}
		select {
		case err := <-ended:
			if !errors.Is(err, broker.ErrClosed) && !errors.Is(err, broker.ErrUnavailable) {
				t.Error(err)
			}
		case <-time.After(soon):
			t.Fatal("a blocked read outlived its broker")
		}
		_, err = b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
		wantKind(t, err, broker.ErrClosed)
	})
}
