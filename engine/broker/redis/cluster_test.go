package redis_test

import (
	"net"
	"strconv"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// In a cluster too, nothing is sent twice after an answer was lost.
func TestClusterSendsOnce(t *testing.T) {
	t.Parallel()
	s := singleNode(t, "8.6")
	_, p := openThrough(t, s)
	_, port, _ := net.SplitHostPort(p.listener.Addr().String())
	if err := s.Client().ConfigSet(t.Context(), "cluster-announce-port", port).Err(); err != nil {
		t.Fatal(err)
	}
	b := openWith(t, redis.Options{URL: "redis://" + p.listener.Addr().String(), Cluster: true})
	ids := fill(t, b, 5)
	read(t, b, "c", 2)
	settle(t, b, &broker.Settlement{Owner: owner("c")})
	p.mode.Store(cut)
	_, err := b.Add(t.Context(), []broker.Add{message(stream, field("a", "b"))})
	wantKind(t, err, broker.ErrUnavailable)
	if n := s.Client().XLen(t.Context(), stream).Val(); n != 6 {
		t.Errorf("added %d times", n-5)
	}
	p.mode.Store(pass)
	// After a failure each client asks first who has the slot; the answer that is to be
	// lost is the one after that.
	if _, err := b.StreamInfo(t.Context(), stream); err != nil {
		t.Fatal(err)
	}
	read(t, b, "c", 1)
	p.mode.Store(cut)
	_, err = b.Read(t.Context(), broker.ReadRequest{Owner: owner("c"), Count: 1, Block: time.Second})
	wantKind(t, err, broker.ErrUnavailable)
	p.mode.Store(pass)
	if left := pendingOf(t, b); len(left) != 4 {
		t.Errorf("%d pending of %d", len(left), len(ids))
	}
}

// keyIn is a stream key of the slot range.
func keyIn(first, last int) string {
	for n := 0; ; n++ {
		if key := "s" + strconv.Itoa(n); redis.Slot(key) >= first && redis.Slot(key) <= last {
			return key
		}
	}
}

func TestClusterOfTwo(t *testing.T) {
	t.Parallel()
	nodes := redistest.StartCluster(t, "8.6", 2)
	low, high := nodes[0], nodes[1]
	b := openWith(t, redis.Options{URL: low.URL(), Cluster: true})
	if server, err := b.Probe(t.Context()); err != nil || !server.Features.ClaimingRead || server.Software != "redis" {
		t.Errorf("%+v, %v", server, err)
	}
	near, far := keyIn(0, 8191), keyIn(8192, 16383)
	for _, key := range []string{near, far} {
		o := broker.Owner{Stream: key, Group: group, Consumer: "c"}
		if _, err := b.CreateGroup(t.Context(), key, group, "0"); err != nil {
			t.Fatal(err)
		}
		if _, err := b.Add(t.Context(), []broker.Add{message(near, field("a", "1")), message(far, field("a", "1")), message(far, field("a", "2"))}); err != nil {
			t.Fatal(err)
		}
		d, err := b.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 1, Block: time.Second})
		if err != nil || len(d) != 1 {
			t.Fatal(d, err)
		}
		if r := settle(t, b, &broker.Settlement{Owner: o, Steps: []broker.Step{{ID: d[0].ID, Publish: []broker.Add{message(key, field("x", "y"))}}}}); r.Steps[0].Status != broker.Done {
			t.Errorf("%+v", r)
		}
	}
	// The slot of near moves to the other node while the client still knows the old place.
	slot := redis.Slot(near)
	id := func(s *redistest.Server) string { return s.Client().Do(t.Context(), "CLUSTER", "MYID").Val().(string) }
	move := func(s *redistest.Server, what ...any) {
		t.Helper()
		if err := s.Client().Do(t.Context(), append([]any{"CLUSTER", "SETSLOT", slot}, what...)...).Err(); err != nil {
			t.Fatal(err)
		}
	}
	move(high, "IMPORTING", id(low))
	move(low, "MIGRATING", id(high))
	host, port, _ := net.SplitHostPort(high.Addr)
	keys := low.Client().ClusterGetKeysInSlot(t.Context(), slot, 100).Val()
	migrate := []any{"MIGRATE", host, port, "", 0, 5000, "KEYS"}
	for _, key := range keys {
		migrate = append(migrate, key)
	}
	if err := low.Client().Do(t.Context(), migrate...).Err(); err != nil {
		t.Fatal(err)
	}
	use := func(when string) broker.Delivery {
		t.Helper()
		o := broker.Owner{Stream: near, Group: group, Consumer: "c"}
		if _, err := b.Add(t.Context(), []broker.Add{message(near, field("when", when))}); err != nil {
			t.Fatalf("%s: %v", when, err)
		}
		d, err := b.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 1, Block: time.Second})
		if err != nil || len(d) != 1 {
			t.Fatalf("%s: %v, %v", when, d, err)
		}
		return d[0]
	}
	settlement := func(d broker.Delivery) *broker.Settlement {
		return &broker.Settlement{
			Owner: broker.Owner{Stream: near, Group: group, Consumer: "c"}, Acks: []broker.ID{{Ms: 1}},
			Steps: []broker.Step{{ID: d.ID, Publish: []broker.Add{message(near, field("x", "y"))}}},
		}
	}
	d := use("while its keys are at the other node (ASK)")
	// A script's keys count as split while one of them does not exist: TRYAGAIN, and again later.
	_, err := b.Settle(t.Context(), settlement(d))
	wantKind(t, err, broker.ErrUnavailable, "TRYAGAIN")
	move(high, "NODE", id(high))
	move(low, "NODE", id(high))
	for _, d := range []broker.Delivery{d, use("after the slot moved (MOVED)")} {
		if r := settle(t, b, settlement(d)); r.Steps[0].Status != broker.Done {
			t.Errorf("%+v", r)
		}
	}
}
