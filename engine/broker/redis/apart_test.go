package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// threeNodes is a cluster of three, a broker of it, and a client for the tests.
func threeNodes(t *testing.T, version string, options ...redistest.Option) ([]*redistest.Server, *redis.Broker, *goredis.ClusterClient) {
	t.Helper()
	nodes := redistest.StartCluster(t, version, 3, options...)
	c := goredis.NewClusterClient(&goredis.ClusterOptions{Addrs: []string{nodes[0].Addr}, Protocol: 2})
	t.Cleanup(func() { _ = c.Close() })
	return nodes, openWith(t, redis.Options{URL: nodes[0].URL(), Cluster: true}), c
}

// far are keys on the other two servers than that of stream, the second.
func far(t *testing.T) (string, string) {
	t.Helper()
	if slot := redis.Slot(stream); slot < 5461 || slot > 10922 {
		t.Fatalf("the slot of %s is %d", stream, slot)
	}
	return keyIn(0, 5460), keyIn(10923, 16383)
}

// Steps whose messages go to other servers are published there and acknowledged
// here; done again by somebody else, they add nothing where the server can tell.
func TestApart(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			_, b, c := threeNodes(t, version)
			one, other := far(t)
			ids := fill(t, b, 4)
			read(t, b, "c", 3)
			recorded(t, b, ids[:3])
			step := func(i int) broker.Step {
				text := field("n", fmt.Sprint(i))
				return broker.Step{ID: ids[i], Publish: []broker.Add{
					message(one, text), message(other, text), message(one, field("second", "x")), message("{"+stream+"}near", text),
				}}
			}
			s := &broker.Settlement{Owner: owner("c"), Acks: ids[:1], Forget: ids, Steps: []broker.Step{step(1), step(2), {ID: ids[3], Publish: step(3).Publish}}}
			r := settle(t, b, s)
			want(t, r, broker.Done, broker.Done, broker.NotOwned)
			if left := pendingOf(t, b); len(left) != 0 {
				t.Errorf("pending: %v", left)
			}
			wantRecords(t, b, ids[:3], false, false, false)
			lengths := func(when string, first, second int64) {
				t.Helper()
				if x, y := c.XLen(t.Context(), one).Val(), c.XLen(t.Context(), other).Val(); x != first || y != second {
					t.Errorf("%s: %d and %d messages, want %d and %d", when, x, y, first, second)
				}
			}
			lengths("done", 4, 2)
			// The same settlement again writes nothing.
			want(t, settle(t, b, s), broker.NotOwned, broker.NotOwned, broker.NotOwned)
			lengths("sent again", 4, 2)
			// A worker that died between publishing and acknowledging: another one is
			// given the entry and does it again.
			read(t, b, "dying", 1)
			dying := broker.Owner{Stream: stream, Group: group, Consumer: "dying"}
			want(t, settle(t, b, &broker.Settlement{Owner: dying, Steps: []broker.Step{step(3)}}), broker.Done)
			lengths("by the one that dies", 6, 3)
			unacknowledge(t, c, ids[3], "heir")
			heir := broker.Owner{Stream: stream, Group: group, Consumer: "heir"}
			want(t, settle(t, b, &broker.Settlement{Owner: heir, Steps: []broker.Step{step(3)}}), broker.Done)
			if version == "7.0" {
				lengths("below 8.6 at least once", 8, 4)
				return
			}
			lengths("done again", 6, 3)
			if got := duration(t, c, one); got != 86400 {
				t.Errorf("messages are recognised for %d s, want a day", got)
			}
		})
	}
}

// unacknowledge puts an entry back into the pending list, under a consumer.
func unacknowledge(t *testing.T, c *goredis.ClusterClient, id broker.ID, consumer string) {
	t.Helper()
	if err := c.Do(t.Context(), "XGROUP", "SETID", stream, group, id.Prev().String()).Err(); err != nil {
		t.Fatal(err)
	}
	read, err := c.XReadGroup(t.Context(), &goredis.XReadGroupArgs{Group: group, Consumer: consumer, Streams: []string{stream, ">"}, Count: 1}).Result()
	if err != nil || len(read) != 1 || read[0].Messages[0].ID != id.String() {
		t.Fatal(read, err)
	}
}

// duration is for how many seconds a stream recognises messages.
func duration(t *testing.T, c *goredis.ClusterClient, stream string) int64 {
	t.Helper()
	reply, err := c.Do(t.Context(), "XINFO", "STREAM", stream).Slice()
	if err != nil {
		t.Fatal(err)
	}
	for i := 0; i+1 < len(reply); i += 2 {
		if reply[i] == "idmp-duration" {
			return reply[i+1].(int64)
		}
	}
	t.Fatalf("no duration in %v", reply)
	return 0
}

func want(t *testing.T, r broker.SettleResult, statuses ...broker.Status) {
	t.Helper()
	for i, status := range statuses {
		if r.Steps[i].Status != status {
			t.Errorf("step %d: %+v, want %v", i, r.Steps[i], status)
		}
	}
}

// Limits are raised, never lowered: lowering one makes the server forget.
func TestApartRaisesLimitsOnly(t *testing.T) {
	t.Parallel()
	_, b, c := threeNodes(t, "8.6")
	one, _ := far(t)
	ids := fill(t, b, 3)
	read(t, b, "c", 3)
	for i, x := range []struct {
		repeat time.Duration
		want   int64
	}{{90 * time.Second, 100}, {1500 * time.Second, 1500}, {90*time.Second + 1, 1500}} {
		settle(t, b, &broker.Settlement{Owner: owner("c"), Repeat: x.repeat, Steps: []broker.Step{
			{ID: ids[i], Publish: []broker.Add{message(one, field("a", "b"))}},
		}})
		if got := duration(t, c, one); got != x.want {
			t.Errorf("after one of %v: %d s, want %d", x.repeat, got, x.want)
		}
	}
	if n := c.XLen(t.Context(), one).Val(); n != 3 {
		t.Errorf("%d messages", n)
	}
}

// Entries of two streams, or of two groups, may have one id and are not taken
// for each other.
func TestApartTellsEntriesApart(t *testing.T) {
	t.Parallel()
	_, b, c := threeNodes(t, "8.6")
	one, _ := far(t)
	owners := []broker.Owner{
		{Stream: stream, Group: group, Consumer: "c"}, {Stream: stream, Group: "2 x", Consumer: "c"},
		{Stream: "x " + stream, Group: "2", Consumer: "c"}, {Stream: stream, Group: "2", Consumer: "c"},
	}
	for _, o := range owners {
		if err := c.XAdd(t.Context(), &goredis.XAddArgs{Stream: o.Stream, ID: "7-0", Values: []string{"a", "b"}}).Err(); err != nil && !strings.Contains(err.Error(), "equal or smaller") {
			t.Fatal(err)
		}
		if _, err := b.CreateGroup(t.Context(), o.Stream, o.Group, "0"); err != nil {
			t.Fatal(err)
		}
		if d, err := b.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 1}); err != nil || len(d) != 1 {
			t.Fatal(d, err)
		}
		want(t, settle(t, b, &broker.Settlement{Owner: o, Steps: []broker.Step{
			{ID: broker.ID{Ms: 7}, Publish: []broker.Add{message(one, field("a", "b"))}},
		}}), broker.Done)
	}
	if n := c.XLen(t.Context(), one).Val(); n != int64(len(owners)) {
		t.Errorf("%d messages of %d entries", n, len(owners))
	}
}

// What is refused by one of the servers leaves its entry pending, and done again
// later adds only what is lacking.
func TestApartRefused(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			_, b, c := threeNodes(t, version)
			one, other := far(t)
			ids := fill(t, b, 3)
			read(t, b, "c", 3)
			if err := c.Set(t.Context(), other, "x", 0).Err(); err != nil {
				t.Fatal(err)
			}
			s := &broker.Settlement{Owner: owner("c"), Marks: broker.Marks{Set: "s", Window: time.Minute}, Steps: []broker.Step{
				{ID: ids[0], Publish: []broker.Add{message(one, field("a", "b")), message(other, field("a", "b"))}},
				{ID: ids[1], Publish: []broker.Add{message(one, field("a", "b"))}},
				{ID: ids[2], Publish: []broker.Add{message(one, field("a", "b"))}, Mark: "k"},
			}}
			r := settle(t, b, s)
			want(t, r, broker.Refused, broker.Done, broker.Refused)
			wantKind(t, r.Steps[0].Err, broker.ErrWrongType, other, "string")
			wantKind(t, r.Steps[2].Err, broker.ErrUnsupported, one, "{tag}", "idempotency")
			if left := pendingOf(t, b); len(left) != 2 {
				t.Errorf("pending: %v", left)
			}
			if n := c.XLen(t.Context(), one).Val(); n != 1 {
				t.Errorf("%d messages, want that of the step that was done", n)
			}
			c.Del(t.Context(), other)
			want(t, settle(t, b, s), broker.Done, broker.NotOwned)
			if x, y := c.XLen(t.Context(), one).Val(), c.XLen(t.Context(), other).Val(); x != 2 || y != 1 {
				t.Errorf("%d and %d messages", x, y)
			}
		})
	}
}

// A message of more fields than a script can pass on goes the same way, and so
// does that of an entry whose body was trimmed meanwhile.
func TestApartWideAndGone(t *testing.T) {
	t.Parallel()
	_, b, c := threeNodes(t, "8.6")
	one, _ := far(t)
	ids := fill(t, b, 2)
	read(t, b, "c", 2)
	var wide []broker.Field
	for range 6000 {
		wide = append(wide, field("a", "b"))
	}
	c.XDel(t.Context(), stream, ids[1].String())
	want(t, settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{
		{ID: ids[0], Publish: []broker.Add{{Stream: one, Fields: wide, MaxLen: 100}}},
		{ID: ids[1], Publish: []broker.Add{message(one, field("a", "b"))}},
	}}), broker.Done, broker.Done)
	if n := c.XLen(t.Context(), one).Val(); n != 2 {
		t.Errorf("%d messages", n)
	}
	if left := pendingOf(t, b); len(left) != 0 {
		t.Errorf("pending: %v", left)
	}
}
