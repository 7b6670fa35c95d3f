package brokertest_test

import (
	"errors"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/broker/brokertest"
	"pipeline/engine/broker/memory"
	"pipeline/engine/broker/redis"
	"pipeline/engine/broker/redis/aging"
	"pipeline/engine/clock"
	"pipeline/tests/redistest"
)

var epoch = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

// inMemory makes a broker on a clock of its own that plays a version.
func inMemory(version string) brokertest.Factory {
	return func(t *testing.T) *brokertest.Env {
		t.Helper()
		redistest.Record(t, "memory as "+version)
		c := clock.NewVirtual(epoch)
		b := memory.New(c, memory.Options{Version: version})
		t.Cleanup(func() { _ = b.Close() })
		return &brokertest.Env{
			Broker: b, Server: "memory as " + version, Advance: c.Advance,
			Blocked: b.Blocked,
			SetIdle: func(stream, group string, idle time.Duration, ids ...broker.ID) {
				if n := b.SetIdle(stream, group, idle, ids...); n != len(ids) {
					t.Fatalf("aged %d entries of %d", n, len(ids))
				}
			},
			Delete:       func(stream string) { b.Delete(stream) },
			DestroyGroup: func(stream, group string) { b.DestroyGroup(stream, group) },
			DeleteEntries: func(stream string, ids ...broker.ID) {
				if n := b.DeleteEntries(stream, ids...); n != len(ids) {
					t.Fatalf("deleted %d entries of %d", n, len(ids))
				}
			},
			SetString: b.SetString, AddAs: b.AddAs, Flush: b.Flush, Now: c.Now,
		}
	}
}

// onRedis gives each case a database of a server of that version.
func onRedis(version string) brokertest.Factory {
	return func(t *testing.T) *brokertest.Env {
		t.Helper()
		s := redistest.Shared(t, version)
		b, err := redis.Open(redis.Options{URL: s.URL()})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = b.Close() })
		return behind(t, s, b, func(key string) string { return key })
	}
}

// aged gives each case keys of a server whose time is that of a clock, in a
// database of its own.
func aged(version string) brokertest.Factory {
	return func(t *testing.T) *brokertest.Env {
		t.Helper()
		s := redistest.Shared(t, version)
		server, err := aging.Open(t.Context(), s.URL(), clock.Real())
		if err != nil {
			t.Fatal(err)
		}
		now, err := server.Now(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		c := clock.NewVirtual(now)
		k, err := server.Keyspace(t.Context(), c)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := errors.Join(k.Close(), server.Close()); err != nil {
				t.Error(err)
			}
		})
		env := behind(t, s, k, k.Key)
		env.Advance, env.Now = c.Advance, c.Now
		env.Blocked = k.Blocked
		woken := func(do func(key string)) func(string) {
			return func(key string) {
				do(key)
				k.Wake()
			}
		}
		env.Delete, env.SetString = woken(env.Delete), woken(env.SetString)
		destroy, addAs, flush := env.DestroyGroup, env.AddAs, env.Flush
		env.SetIdle = func(stream, group string, idle time.Duration, ids ...broker.ID) {
			if n, err := k.SetIdle(t.Context(), stream, group, idle, ids...); err != nil || n != len(ids) {
				t.Fatalf("aged %d entries of %d: %v", n, len(ids), err)
			}
		}
		env.DestroyGroup = func(stream, group string) {
			destroy(stream, group)
			k.Wake()
		}
		env.AddAs = func(stream string, id broker.ID, fields []broker.Field) bool {
			defer k.Wake()
			return addAs(stream, id, fields)
		}
		env.Flush = func() {
			flush()
			k.Wake()
		}
		return env
	}
}

// behind is the environment of a broker on a server, whose keys have names there.
func behind(t *testing.T, s *redistest.Server, b broker.Broker, key func(string) string) *brokertest.Env {
	t.Helper()
	client := s.Client()
	do := func(arguments ...any) any {
		t.Helper()
		v, err := client.Do(t.Context(), arguments...).Result()
		if err != nil {
			t.Fatal(err)
		}
		return v
	}
	return &brokertest.Env{
		Broker: b, Server: s.FullVersion(), Advance: time.Sleep,
		Blocked: func() int { return blocked(t, s, client) },
		SetIdle: func(stream, group string, idle time.Duration, ids ...broker.ID) {
			age(t, client, key(stream), group, idle, ids)
		},
		Delete:       func(stream string) { do("DEL", key(stream)) },
		DestroyGroup: func(stream, group string) { do("XGROUP", "DESTROY", key(stream), group) },
		DeleteEntries: func(stream string, ids ...broker.ID) {
			t.Helper()
			arguments := []any{"XDEL", key(stream)}
			for _, id := range ids {
				arguments = append(arguments, id.String())
			}
			if n := do(arguments...); n != int64(len(ids)) {
				t.Fatalf("deleted %v entries of %d", n, len(ids))
			}
		},
		SetString: func(name string) { do("SET", key(name), "text") },
		AddAs: func(stream string, id broker.ID, fields []broker.Field) bool {
			return client.Do(t.Context(), addAs(key(stream), id, fields)...).Err() == nil
		},
		Flush: func() { do("FLUSHDB") },
	}
}

// addAs is XADD with an id.
func addAs(stream string, id broker.ID, fields []broker.Field) []any {
	list := []any{"XADD", stream, id.String()}
	for _, f := range fields {
		list = append(list, f.Name, f.Value)
	}
	return list
}

// age is XCLAIM … IDLE of each entry under the consumer that holds it.
func age(t *testing.T, client *goredis.Client, stream, group string, idle time.Duration, ids []broker.ID) {
	t.Helper()
	pipe := client.Pipeline()
	found := make([]*goredis.XPendingExtCmd, len(ids))
	for i, id := range ids {
		found[i] = pipe.XPendingExt(t.Context(), &goredis.XPendingExtArgs{Stream: stream, Group: group, Start: id.String(), End: id.String(), Count: 1})
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
	pipe = client.Pipeline()
	for i, id := range ids {
		if len(found[i].Val()) != 1 {
			t.Fatalf("%v is not pending", id)
		}
		pipe.Do(t.Context(), "XCLAIM", stream, group, found[i].Val()[0].Consumer, 0, id.String(), "IDLE", idle.Milliseconds(), "JUSTID")
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// blocked is how many clients of the test's database are blocked.
func blocked(t *testing.T, s *redistest.Server, client *goredis.Client) int {
	t.Helper()
	list, err := client.Do(t.Context(), "CLIENT", "LIST").Text()
	if err != nil {
		t.Fatal(err)
	}
	n := 0
	for line := range strings.Lines(list) {
		if strings.Contains(line, " flags=b ") && strings.Contains(line, fmt.Sprintf(" db=%d ", s.DB)) {
			n++
		}
	}
	return n
}

func TestMemory(t *testing.T) {
	for _, version := range []string{memory.DefaultVersion, "8.2.2", "7.0.15", "6.2.0"} {
		t.Run(version, func(t *testing.T) { brokertest.Run(t, inMemory(version)) })
	}
}

func TestRedis(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) { brokertest.Run(t, onRedis(version)) })
	}
}

// TestAged is about a server whose time is moved by hand.
func TestAged(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) { brokertest.Run(t, aged(version)) })
	}
}

// TestMemoryIsLikeRedis holds the broker in memory to what servers do. It goes
// on for as long as PIPELINE_COMPARE says ("10m"), with several pairs at once.
func TestMemoryIsLikeRedis(t *testing.T) {
	lasting, pairs := time.Duration(0), 1
	if text := os.Getenv("PIPELINE_COMPARE"); text != "" {
		var err error
		if lasting, err = time.ParseDuration(text); err != nil {
			t.Fatalf("PIPELINE_COMPARE: %v", err)
		}
		pairs = 4 // they mostly wait
	}
	for server, played := range map[string]string{"8.6": memory.DefaultVersion, "7.0": "7.0.15"} {
		for pair := range pairs {
			t.Run(fmt.Sprintf("%s/%d", server, pair), func(t *testing.T) {
				t.Parallel()
				brokertest.Compare(t, inMemory(played), onRedis(server), lasting)
			})
		}
	}
}
