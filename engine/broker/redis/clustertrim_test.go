package redis_test

import (
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// In a cluster streams of every node are kept within their bounds, with and without
// protection.
func TestTrimInACluster(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, "8.6", 2)
	b := openWith(t, redis.Options{URL: nodes[0].URL(), Cluster: true})
	for _, key := range []string{keyIn(0, 8191), keyIn(8192, 16383), "{}" + keyIn(0, 8191), keyIn(0, 8191) + "{x}y"} {
		o := broker.Owner{Stream: key, Group: group, Consumer: "c"}
		if _, err := b.CreateGroup(t.Context(), key, group, "0"); err != nil {
			t.Fatal(err)
		}
		add := func(n int) (ids []broker.ID) {
			t.Helper()
			for range n {
				id, err := b.Add(t.Context(), []broker.Add{message(key, field("a", "1"))})
				if err != nil {
					t.Fatal(err)
				}
				ids = append(ids, id...)
			}
			return ids
		}
		trim := func(what string, r broker.TrimRequest, want int64) {
			t.Helper()
			r.Stream = key
			var removed int64
			for {
				n, err := b.Trim(t.Context(), r)
				if err != nil {
					t.Fatalf("%s of %s: %v", what, key, err)
				}
				if removed += n; n == 0 {
					break
				}
			}
			if removed != want {
				t.Errorf("%s of %s removed %d, want %d", what, key, removed, want)
			}
		}
		ids := add(10)
		d, err := b.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 8, Block: time.Second})
		if err != nil || len(d) != 8 {
			t.Fatal(d, err)
		}
		// The first, third and fourth of ten are acknowledged; the last two were not read.
		settle(t, b, &broker.Settlement{Owner: o, Acks: []broker.ID{ids[0], ids[2], ids[3]}})
		trim("to a day", broker.TrimRequest{MaxAge: 24 * time.Hour, Protect: true}, 0)
		now, err := nodes[0].Client().Time(t.Context()).Result()
		if err != nil {
			t.Fatal(err)
		}
		for last := int64(ids[9].Ms); now.UnixMilli() <= last+1; { //nolint:gosec // a time of this century
			if now, err = nodes[0].Client().Time(t.Context()).Result(); err != nil {
				t.Fatal(err)
			}
		}
		trim("to a moment, protected,", broker.TrimRequest{MaxAge: time.Millisecond, Protect: true}, 3)
		trim("to a length, protected,", broker.TrimRequest{MaxLen: 1, Protect: true}, 0)
		trim("to a length", broker.TrimRequest{MaxLen: 5}, 2)
		trim("to a moment", broker.TrimRequest{MaxAge: time.Millisecond}, 5)
		trim("of nothing", broker.TrimRequest{MaxAge: time.Millisecond, MaxLen: 1, Protect: true}, 0)
	}
}
