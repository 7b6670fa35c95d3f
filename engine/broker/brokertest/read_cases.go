package brokertest

import (
	"context"
	"slices"
	"time"

	"pipeline/engine/broker"
)

var readCases = []testCase{
	{"gives new entries by id", nil, func(k *kit) {
		ids := k.fill(5)
		k.came(k.read("a", 3), 0, ids[:3]...)
		k.came(k.read("a", 3), 0, ids[3:]...)
		k.came(k.read("a", 3), 0)
	}},
	{"shares entries among consumers", nil, func(k *kit) {
		ids := k.fill(4)
		k.came(k.read("a", 2), 0, ids[:2]...)
		k.came(k.read("b", 2), 0, ids[2:]...)
	}},
	{"says nothing of idle time and deliveries of a new entry", nil, func(k *kit) {
		k.fill(1)
		d := k.read("a", 1)
		equal(k, "idle", d[0].Idle, 0)
		equal(k, "deliveries", d[0].Deliveries, 0)
	}},
	{"makes what it gives pending", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids[:1])
		k.deliver("b", ids[1:])
		p := k.pending()
		equal(k, "pending", len(p), 2)
		equal(k, "consumer", p[ids[1]].Consumer, "b")
		equal(k, "deliveries", p[ids[1]].Deliveries, 1)
		k.near("idle", p[ids[1]].Idle, 0)
	}},
	{"gives fields byte for byte, in order, with duplicates", nil, func(k *kit) {
		k.create("0")
		want := awkward()
		_, err := k.Broker.Add(k.Context(), []broker.Add{{Stream: k.stream, Fields: want}})
		k.ok(err)
		if got := k.read("a", 1); len(got) != 1 || !slices.Equal(got[0].Fields, want) {
			k.Fatalf("got %v, want %q", got, want)
		}
	}},
	{"does not give a deleted entry", nil, func(k *kit) {
		ids := k.fill(3)
		k.DeleteEntries(k.stream, ids[1])
		k.came(k.read("a", 10), 0, ids[0], ids[2])
	}},
	{"does not wait without a block", nil, func(k *kit) {
		k.create("0")
		k.came(k.read("a", 1), 0)
	}},
	{"never gives pending entries without claiming", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		k.came(k.read("a", 10), 0)
		k.came(k.read("b", 10), 0)
	}},
	{"needs a count", nil, func(k *kit) {
		k.fill(1)
		_, err := k.Broker.Read(k.Context(), broker.ReadRequest{Owner: k.owner("a")})
		k.fails(err, nil, "count")
	}},
	{"reads many at once", nil, func(k *kit) {
		ids := k.fill(5000)
		k.came(k.read("a", 10_000), 0, ids...)
	}},
	{"a canceled context reads nothing", nil, func(k *kit) {
		ids := k.fill(1)
		ctx, cancel := context.WithCancel(k.Context())
		cancel()
		_, err := k.Broker.Read(ctx, broker.ReadRequest{Owner: k.owner("a"), Count: 1})
		k.fails(err, broker.ErrUnavailable)
		k.deliver("a", ids)
	}},
}

// awkward are fields that a careless broker would change.
func awkward() []broker.Field {
	every := make([]byte, 256)
	for i := range every {
		every[i] = byte(i)
	}
	return fields("a", "1", "b", "", "a", "2", "", "empty name", string(every), "\x00\r\n\xff", "a", "1", "z", string(every), "b", "x")
}

var claimingCases = []testCase{
	{"gives idle entries before new ones", needs(claimingRead), func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids[:2])
		k.age(time.Hour, ids[1])
		got := k.claim("b", time.Minute, 10)
		k.same(idsOf(got), []broker.ID{ids[1], ids[2], ids[3]})
		equal(k, "deliveries of the claimed entry", got[0].Deliveries, 1)
		equal(k, "deliveries of a new entry", got[1].Deliveries, 0)
		k.near("idle time of the claimed entry", got[0].Idle, time.Hour)
		equal(k, "idle time of a new entry", got[1].Idle, 0)
	}},
	{"gives the oldest delivery first, not the lowest id", needs(claimingRead), func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids)
		k.age(2*time.Hour, ids[2])
		k.age(3*time.Hour, ids[3])
		k.age(time.Hour, ids[0])
		k.age(time.Hour, ids[1])
		k.came(k.claim("b", time.Minute, 2), 1, ids[3], ids[2])
		k.came(k.claim("b", time.Minute, 5), 1, ids[0], ids[1])
	}},
	{"leaves what is not idle long enough", needs(claimingRead), func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.age(59*time.Minute, ids[0])
		k.came(k.claim("b", time.Hour, 10), 0)
		equal(k, "owner", k.pending()[ids[0]].Consumer, "a")
	}},
	{"moves what it claims and counts a delivery", needs(claimingRead), func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		for before := int64(1); before <= 3; before++ {
			k.age(time.Hour, ids[0])
			k.came(k.claim("b", time.Minute, 1), before, ids[0])
			p := k.pending()[ids[0]]
			equal(k, "consumer", p.Consumer, "b")
			equal(k, "deliveries", p.Deliveries, before+1)
			k.near("idle", p.Idle, 0)
		}
	}},
	{"gives a consumer its own entries back", needs(claimingRead), func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.age(time.Hour, ids[0])
		k.came(k.claim("a", time.Minute, 1), 1, ids[0])
		k.came(k.claim("a", time.Minute, 1), 0)
	}},
	{"shares its count between idle and new entries", needs(claimingRead), func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:2])
		k.age(time.Hour, ids[:2]...)
		k.same(idsOf(k.claim("b", time.Minute, 3)), ids[:3])
		k.came(k.read("b", 10), 0, ids[3:]...)
	}},
	{"a plain read after claims takes new entries", needs(claimingRead), func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids[:2])
		k.age(time.Hour, ids[:2]...)
		k.came(k.claim("b", time.Minute, 2), 1, ids[:2]...)
		k.came(k.read("b", 2), 0, ids[2])
	}},
	{"passes over entries without a body and leaves them", needs(claimingRead), func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		k.DeleteEntries(k.stream, ids[0], ids[2])
		for range 2 {
			k.age(time.Hour, ids[1], ids[3])
			k.same(idsOf(k.claim("b", time.Minute, 2)), []broker.ID{ids[1], ids[3]})
		}
		p := k.pending()
		equal(k, "pending", len(p), 4)
		equal(k, "owner of an entry without a body", p[ids[0]].Consumer, "a")
	}},
	{"does not take a renewed entry", needs(claimingRead), func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		k.renew(ids[0])
		k.came(k.claim("b", time.Minute, 10), 1, ids[1])
	}},
	{"does not take an acknowledged entry", needs(claimingRead), func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		k.ack("a", ids[0])
		k.came(k.claim("b", time.Minute, 10), 1, ids[1])
	}},
	{"takes what became idle by itself", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.Advance(k.span(150 * time.Millisecond))
		got := k.claim("b", k.span(100*time.Millisecond), 1)
		k.came(got, 1, ids[0])
		k.near("idle", got[0].Idle, k.span(150*time.Millisecond))
	})},
	{"every idle entry goes to one of many at once", needs(claimingRead), func(k *kit) {
		ids := k.fill(200)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		answers := make([]<-chan answer, 10)
		for i := range answers {
			answers[i] = k.start(k.Context(), broker.ReadRequest{Owner: k.owner("c" + string(rune('0'+i))), Count: 20, MinIdle: time.Minute})
		}
		var all []broker.ID
		for _, c := range answers {
			a := k.finish(c)
			k.ok(a.err)
			all = append(all, idsOf(a.deliveries)...)
		}
		slices.SortFunc(all, broker.ID.Compare)
		k.same(all, ids)
	}},
}

// blocking is a request that waits.
func (k *kit) blocking(consumer string, block time.Duration) broker.ReadRequest {
	return broker.ReadRequest{Owner: k.owner(consumer), Count: 10, Block: block}
}

// claimingBlock is a claiming request that waits, for entries idle for minIdle.
func (k *kit) claimingBlock(consumer string, block time.Duration) broker.ReadRequest {
	r := k.blocking(consumer, block)
	r.MinIdle = minIdle
	return r
}

// brings asserts that a blocked read came back with these entries.
func (k *kit) brings(c <-chan answer, deliveries int64, want ...broker.ID) {
	k.Helper()
	a := k.finish(c)
	k.ok(a.err)
	k.came(a.deliveries, deliveries, want...)
}

var blockingCases = []testCase{
	{"returns what is there at once", nil, func(k *kit) {
		ids := k.fill(2)
		k.came(k.request(k.blocking("a", time.Minute)), 0, ids...)
	}},
	{"wakes when an entry is added", nil, func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.blocking("a", time.Minute))
		k.brings(c, 0, k.add(k.stream, 1)...)
	}},
	{"wakes with all that is added at once", nil, func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.blocking("a", time.Minute))
		k.brings(c, 0, k.add(k.stream, 3)...)
	}},
	{"wakes when a step publishes", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		out := k.key("replies")
		_, err := k.Broker.CreateGroup(k.Context(), out, k.group, "0")
		k.ok(err)
		r := k.blocking("x", time.Minute)
		r.Stream = out
		c := k.block(k.Context(), r)
		k.settle(&broker.Settlement{Owner: k.owner("a"), Steps: []broker.Step{{ID: ids[0], Publish: []broker.Add{message(out, "r", "1")}}}})
		a := k.finish(c)
		k.ok(a.err)
		equal(k, "entries", len(a.deliveries), 1)
	}},
	{"ends with nothing and no error", nil, inTime(50*time.Millisecond, func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.blocking("a", k.span(200*time.Millisecond)))
		k.Advance(k.span(300 * time.Millisecond))
		k.brings(c, 0)
	})},
	{"a canceled context ends it at once", nil, func(k *kit) {
		k.create("0")
		ctx, cancel := context.WithCancel(k.Context())
		c := k.block(ctx, k.blocking("a", time.Minute))
		cancel()
		k.brings(c, 0)
		k.awaitBlocked(0, nil)
		ids := k.add(k.stream, 1)
		k.deliver("b", ids)
	}},
	{"one entry wakes one of two", nil, func(k *kit) {
		k.create("0")
		c1 := k.start(k.Context(), k.blocking("a", time.Minute))
		c2 := k.start(k.Context(), k.blocking("b", time.Minute))
		k.awaitBlocked(2, nil)
		first := k.add(k.stream, 1)
		k.awaitBlocked(1, nil)
		second := k.add(k.stream, 1)
		got := append(idsOf(k.finish(c1).deliveries), idsOf(k.finish(c2).deliveries)...)
		slices.SortFunc(got, broker.ID.Compare)
		k.same(got, []broker.ID{first[0], second[0]})
	}},
	{"one entry wakes both of two groups", nil, func(k *kit) {
		k.create("0")
		_, err := k.Broker.CreateGroup(k.Context(), k.stream, "risk", "0")
		k.ok(err)
		other := k.blocking("a", time.Minute)
		other.Group = "risk"
		c1 := k.start(k.Context(), k.blocking("a", time.Minute))
		c2 := k.start(k.Context(), other)
		k.awaitBlocked(2, nil)
		ids := k.add(k.stream, 1)
		k.brings(c1, 0, ids...)
		k.brings(c2, 0, ids...)
	}},
	{"an entry of another stream does not wake it", nil, inTime(50*time.Millisecond, func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.blocking("a", k.span(300*time.Millisecond)))
		k.add(k.key("other"), 1)
		k.Advance(k.span(400 * time.Millisecond))
		k.brings(c, 0)
	})},
	{"a claiming one wakes when an entry is added", needs(claimingRead), func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.claimingBlock("a", time.Minute))
		k.brings(c, 0, k.add(k.stream, 1)...)
	}},
	{"a claiming one wakes when an entry has become idle", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.age(time.Hour-k.span(300*time.Millisecond), ids[0])
		c := k.block(k.Context(), k.claimingBlock("b", time.Minute))
		k.Advance(k.span(400 * time.Millisecond))
		k.brings(c, 1, ids[0])
	})},
	{"a claiming one wakes for its own entry", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.age(time.Hour-k.span(300*time.Millisecond), ids[0])
		c := k.block(k.Context(), k.claimingBlock("a", time.Minute))
		k.Advance(k.span(400 * time.Millisecond))
		k.brings(c, 1, ids[0])
	})},
	{"a claiming one does not wake for an entry renewed meanwhile", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.age(time.Hour-k.span(300*time.Millisecond), ids[0])
		c := k.block(k.Context(), k.claimingBlock("b", k.span(600*time.Millisecond)))
		k.renew(ids[0])
		k.Advance(k.span(700 * time.Millisecond))
		k.brings(c, 0)
		equal(k, "owner", k.pending()[ids[0]].Consumer, "a")
	})},
	{"a claiming one does not wake for an entry aged meanwhile", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		c := k.block(k.Context(), k.claimingBlock("b", k.span(400*time.Millisecond)))
		k.age(2*time.Hour, ids[0])
		k.Advance(k.span(500 * time.Millisecond))
		k.brings(c, 0)
		k.came(k.claim("b", time.Hour, 1), 1, ids[0])
	})},
	{"a claiming one goes past an entry without a body", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.age(2*time.Hour, ids[0])
		k.age(time.Hour-k.span(300*time.Millisecond), ids[1])
		k.DeleteEntries(k.stream, ids[0])
		c := k.block(k.Context(), k.claimingBlock("b", time.Minute))
		k.Advance(k.span(400 * time.Millisecond))
		k.brings(c, 1, ids[1])
	})},
	{"ends when its group is destroyed", nil, func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.blocking("a", time.Minute))
		k.DestroyGroup(k.stream, k.group)
		k.fails(k.finish(c).err, broker.ErrNoGroup)
	}},
	{"ends when its stream is deleted", nil, func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.blocking("a", time.Minute))
		k.Delete(k.stream)
		k.fails(k.finish(c).err, broker.ErrNoGroup)
	}},
	{"goes on when another group is destroyed", nil, func(k *kit) {
		k.create("0")
		_, err := k.Broker.CreateGroup(k.Context(), k.stream, "risk", "0")
		k.ok(err)
		c := k.block(k.Context(), k.blocking("a", time.Minute))
		k.DestroyGroup(k.stream, "risk")
		k.brings(c, 0, k.add(k.stream, 1)...)
	}},
}
