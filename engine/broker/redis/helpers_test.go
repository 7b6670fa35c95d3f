package redis_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"
	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func TestMain(m *testing.M) {
	goleak.VerifyTestMain(m)
}

// open returns a broker on the server, closed with the test.
func open(t testing.TB, s *redistest.Server) *redis.Broker {
	t.Helper()
	// A server of a busy machine answers late; what a broker does then has tests of its own.
	return openWith(t, redis.Options{URL: s.URL(), Timeout: time.Minute})
}

func openWith(t testing.TB, o redis.Options) *redis.Broker {
	t.Helper()
	b, err := redis.Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := b.Close(); err != nil {
			t.Error(err)
		}
	})
	return b
}

// everyVersion runs a test on an empty database of each server version.
func everyVersion(t *testing.T, test func(t *testing.T, s *redistest.Server, b *redis.Broker)) {
	t.Helper()
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, version)
			test(t, s, open(t, s))
		})
	}
}

const (
	stream = "payments"
	group  = "ledger"
)

func owner(consumer string) broker.Owner {
	return broker.Owner{Stream: stream, Group: group, Consumer: consumer}
}

func field(name, value string) broker.Field { return broker.Field{Name: name, Value: value} }

func message(to string, fields ...broker.Field) broker.Add {
	return broker.Add{Stream: to, Fields: fields}
}

// fill creates the group and adds n entries with a number each.
func fill(t testing.TB, b *redis.Broker, n int) []broker.ID {
	t.Helper()
	if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
		t.Fatal(err)
	}
	adds := make([]broker.Add, n)
	for i := range adds {
		adds[i] = message(stream, field("n", fmt.Sprint(i)))
	}
	ids, err := b.Add(t.Context(), adds)
	if err != nil || len(ids) != n {
		t.Fatalf("added %d of %d: %v", len(ids), n, err)
	}
	return ids
}

// read reads up to count new entries without waiting.
func read(t testing.TB, b *redis.Broker, consumer string, count int) []broker.Delivery {
	t.Helper()
	d, err := b.Read(t.Context(), broker.ReadRequest{Owner: owner(consumer), Count: count})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

func idsOf(deliveries []broker.Delivery) []broker.ID {
	ids := make([]broker.ID, len(deliveries))
	for i := range deliveries {
		ids[i] = deliveries[i].ID
	}
	return ids
}

// pendingOf is everything pending in the group, by id.
func pendingOf(t testing.TB, b *redis.Broker) map[broker.ID]broker.Pending {
	t.Helper()
	list, err := b.Pending(context.WithoutCancel(t.Context()), stream, group, "", broker.ID{}, 100000)
	if err != nil {
		t.Fatal(err)
	}
	m := make(map[broker.ID]broker.Pending, len(list))
	for _, p := range list {
		m[p.ID] = p
	}
	return m
}

func lengthOf(t testing.TB, b *redis.Broker, stream string) int64 {
	t.Helper()
	info, err := b.StreamInfo(t.Context(), stream)
	if err != nil {
		t.Fatal(err)
	}
	return info.Length
}

func settle(t testing.TB, b *redis.Broker, s *broker.Settlement) broker.SettleResult {
	t.Helper()
	r, err := b.Settle(t.Context(), s)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// wantKind fails the test unless err is of the kind and its text holds words.
func wantKind(t testing.TB, err, kind error, words ...string) {
	t.Helper()
	known, ok := errors.AsType[*broker.Error](err)
	if !ok {
		t.Fatalf("error is a %T: %v", err, err)
	}
	if known.Kind != kind { //nolint:errorlint // kinds are not wrapped
		t.Fatalf("error is %v, want %v", err, kind)
	}
	for _, w := range words {
		if !strings.Contains(err.Error(), w) {
			t.Fatalf("error %q does not say %q", err, w)
		}
	}
}

// soon is a deadline for what has to happen; tests never wait that long.
const soon = 30 * time.Second

var (
	splitLines = strings.Lines
	contains   = strings.Contains
)

type (
	goredisXAddArgs        = goredis.XAddArgs
	goredisXPendingExtArgs = goredis.XPendingExtArgs
)
