package brokertest

import (
	"slices"
	"time"

	"pipeline/engine/broker"
)

// sweep is a request for what is idle for a minute.
func (k *kit) sweep(consumer string, count int) broker.AutoClaimRequest {
	return broker.AutoClaimRequest{Owner: k.owner(consumer), MinIdle: time.Minute, Count: count}
}

var autoClaimCases = []testCase{
	{"takes idle entries over by id", needs(autoClaim), func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids)
		k.age(2*time.Hour, ids[3])
		k.age(time.Hour, ids[0], ids[1])
		all, _ := k.autoClaim(k.sweep("b", 10))
		k.came(all.Deliveries, 1, ids[0], ids[1], ids[3])
		p := k.pending()
		equal(k, "owner", p[ids[0]].Consumer, "b")
		equal(k, "deliveries", p[ids[0]].Deliveries, 2)
		k.near("idle", p[ids[0]].Idle, 0)
		equal(k, "owner of the live entry", p[ids[2]].Consumer, "a")
	}},
	{"brings the body and the deliveries before this one", needs(autoClaim), func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		for before := int64(1); before <= 3; before++ {
			k.age(time.Hour, ids[0])
			all, _ := k.autoClaim(k.sweep("b", 1))
			k.came(all.Deliveries, before, ids[0])
			equal(k, "field", all.Deliveries[0].Fields[0], broker.Field{Name: "n", Value: "0"})
		}
	}},
	{"takes a consumer's own entries", needs(autoClaim), func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.age(time.Hour, ids[0])
		all, _ := k.autoClaim(k.sweep("a", 1))
		k.came(all.Deliveries, 1, ids[0])
	}},
	{"goes on from its cursor", needs(autoClaim), func(k *kit) {
		ids := k.fill(25)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		all, pages := k.autoClaim(k.sweep("b", 10))
		k.came(all.Deliveries, 1, ids...)
		equal(k, "pages", pages, 3)
	}},
	{"an empty page is not the end", needs(autoClaim), func(k *kit) {
		ids := k.fill(120)
		k.deliver("a", ids)
		k.age(time.Hour, ids[119])
		page, err := k.Broker.AutoClaim(k.Context(), k.sweep("b", 5))
		k.ok(err)
		k.came(page.Deliveries, 0)
		equal(k, "cursor after 50 entries", page.Next, ids[50])
		all, _ := k.autoClaim(k.sweep("b", 5))
		k.came(all.Deliveries, 1, ids[119])
	}},
	{"finds nothing where nothing is idle", needs(autoClaim), func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		all, pages := k.autoClaim(k.sweep("b", 10))
		k.came(all.Deliveries, 0)
		equal(k, "pages", pages, 1)
		equal(k, "owner", k.pending()[ids[0]].Consumer, "a")
	}},
	{"drops and names entries without a body", needs(deletedIDs), func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		k.DeleteEntries(k.stream, ids[1], ids[3])
		all, _ := k.autoClaim(k.sweep("b", 10))
		k.came(all.Deliveries, 1, ids[0], ids[2])
		k.same(all.Deleted, []broker.ID{ids[1], ids[3]})
		equal(k, "pending", len(k.pending()), 2)
	}},
	{"does not touch what is not idle long enough, with or without a body", needs(autoClaim), func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids)
		k.age(time.Hour, ids[2:]...)
		k.DeleteEntries(k.stream, ids[0], ids[2])
		before := k.pending()
		for _, just := range []bool{true, false} {
			r := k.sweep("b", 10)
			r.JustDeleted = just
			all, _ := k.autoClaim(r)
			if just {
				k.same(all.Deleted, ids[2:3])
			} else {
				k.came(all.Deliveries, 1, ids[3])
			}
			after := k.pending()
			for _, id := range ids[:2] {
				equal(k, "owner", after[id].Consumer, "a")
				equal(k, "deliveries", after[id].Deliveries, before[id].Deliveries)
			}
		}
		k.renew(ids[1])
		equal(k, "still a's", k.pending()[ids[1]].Consumer, "a")
	}},
	{"never gives an entry without a body", needs(autoClaim), func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		k.DeleteEntries(k.stream, ids[1])
		all, _ := k.autoClaim(k.sweep("b", 10))
		k.came(all.Deliveries, 1, ids[0], ids[2])
	}},
	{"the janitor drops only what has no body", needs(deletedIDs), func(k *kit) {
		ids := k.fill(30)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		k.DeleteEntries(k.stream, ids[4], ids[5], ids[28])
		before := k.pending()
		all, _ := k.autoClaim(broker.AutoClaimRequest{Owner: k.owner("janitor"), Count: 10, JustDeleted: true})
		k.came(all.Deliveries, 0)
		k.same(all.Deleted, []broker.ID{ids[4], ids[5], ids[28]})
		after := k.pending()
		equal(k, "pending", len(after), 27)
		for id, p := range after {
			if q := before[id]; p.Consumer != q.Consumer || p.Deliveries != q.Deliveries || p.Idle < q.Idle {
				k.Fatalf("the janitor touched %+v, which was %+v", p, q)
			}
		}
	}},
	{"the janitor takes nothing over however long it is idle", needs(autoClaim), func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.ok(k.Broker.Release(k.Context(), k.owner("a"), ids, longIdle))
		all, _ := k.autoClaim(broker.AutoClaimRequest{Owner: k.owner("janitor"), Count: 10, JustDeleted: true})
		k.came(all.Deliveries, 0)
		equal(k, "owner", k.pending()[ids[0]].Consumer, "a")
	}},
	{"needs a count", needs(autoClaim), func(k *kit) {
		k.fill(1)
		_, err := k.Broker.AutoClaim(k.Context(), k.sweep("a", 0))
		k.fails(err, nil, "count")
	}},
}

var takeOverCases = []testCase{
	{"moves entries with their body and counts a delivery", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("old", ids)
		k.age(time.Hour, ids...)
		took := k.takeOver("new", "old", ids[:2]...)
		k.came(took.Deliveries, 1, ids[:2]...)
		p := k.pending()
		equal(k, "owner", p[ids[0]].Consumer, "new")
		equal(k, "deliveries", p[ids[0]].Deliveries, 2)
		k.near("idle", p[ids[0]].Idle, 0)
		equal(k, "owner of the other", p[ids[2]].Consumer, "old")
	}},
	{"takes only what is pending under the old name", nil, func(k *kit) {
		ids := k.fill(4)
		k.deliver("old", ids[:2])
		k.deliver("live", ids[2:3])
		k.ack("old", ids[0])
		took := k.takeOver("new", "old", ids...)
		k.came(took.Deliveries, 1, ids[1])
		k.same(took.Deleted, nil)
		p := k.pending()[ids[2]]
		equal(k, "owner of the live entry", p.Consumer, "live")
		equal(k, "deliveries of the live entry", p.Deliveries, 1)
	}},
	{"does so once for two at a time", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("old", ids)
		k.came(k.takeOver("first", "old", ids...).Deliveries, 1, ids...)
		k.came(k.takeOver("second", "old", ids...).Deliveries, 0)
	}},
	{"from a consumer to itself", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.came(k.takeOver("a", "a", ids...).Deliveries, 1, ids...)
		k.came(k.takeOver("a", "a", ids[0]).Deliveries, 2, ids[0])
		equal(k, "deliveries", k.pending()[ids[0]].Deliveries, 3)
	}},
	{"takes what was released, its count restored", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("old", ids)
		k.ok(k.Broker.Release(k.Context(), k.owner("old"), ids, longIdle))
		k.came(k.takeOver("new", "old", ids...).Deliveries, 0, ids...)
	}},
	{"drops and names entries without a body", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("old", ids)
		k.DeleteEntries(k.stream, ids[1])
		took := k.takeOver("new", "old", ids...)
		k.came(took.Deliveries, 1, ids[0], ids[2])
		k.same(took.Deleted, ids[1:2])
		equal(k, "pending", len(k.pending()), 2)
	}},
	{"of nothing is nothing", nil, func(k *kit) {
		k.fill(1)
		took := k.takeOver("new", "old")
		k.came(took.Deliveries, 0)
	}},
	{"takes more than a script holds", nil, func(k *kit) {
		ids := k.fill(700)
		k.deliver("old", ids)
		k.came(k.takeOver("new", "old", ids...).Deliveries, 1, ids...)
	}},
	{"takes some of many others", nil, func(k *kit) {
		ids := k.fill(60)
		k.deliver("old", ids)
		some := []broker.ID{ids[0], ids[30], ids[59]}
		k.came(k.takeOver("new", "old", some...).Deliveries, 1, some...)
		equal(k, "left", len(k.pendingOf("old")), 57)
	}},
}

// pendingOf are the ids pending under a consumer.
func (k *kit) pendingOf(consumer string) []broker.ID {
	k.Helper()
	list, err := k.Broker.Pending(k.Context(), k.stream, k.group, consumer, broker.ID{}, 100_000)
	k.ok(err)
	ids := make([]broker.ID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	return ids
}

var renewCases = []testCase{
	{"resets the idle time and counts nothing", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		equal(k, "held", k.renew(ids[0])[0], broker.Held)
		p := k.pending()
		k.near("idle", p[ids[0]].Idle, 0)
		equal(k, "deliveries", p[ids[0]].Deliveries, 1)
		k.near("idle time of the other", p[ids[1]].Idle, time.Hour)
	}},
	{"never steals", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[1])
		k.ack("a", ids[2])
		got := k.renew(ids...)
		if !slices.Equal(got, []broker.Holding{broker.Held, broker.HeldByOther, broker.HeldByOther}) {
			k.Fatalf("the holdings are %v", got)
		}
		equal(k, "owner", k.pending()[ids[1]].Consumer, "b")
		equal(k, "pending", len(k.pending()), 2)
	}},
	{"does not know what was never delivered", nil, func(k *kit) {
		ids := k.fill(1)
		equal(k, "held", k.renew(ids[0])[0], broker.HeldByOther)
		k.deliver("a", ids)
	}},
	{"says that a body is gone and drops the entry", needs(deletedIDs), func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.DeleteEntries(k.stream, ids[0])
		got := k.renew(ids...)
		if !slices.Equal(got, []broker.Holding{broker.BodyGone, broker.Held}) {
			k.Fatalf("the holdings are %v", got)
		}
		equal(k, "pending", len(k.pending()), 1)
		equal(k, "held afterwards", k.renew(ids[0])[0], broker.HeldByOther)
	}},
	{"renews an entry that was released", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.ok(k.Broker.Release(k.Context(), k.owner("a"), ids, longIdle))
		equal(k, "held", k.renew(ids[0])[0], broker.Held)
		k.near("idle", k.pending()[ids[0]].Idle, 0)
	}},
	{"answers in the order of the ids", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.ack("a", ids[1])
		got := k.renew(ids[2], ids[1], ids[0])
		if !slices.Equal(got, []broker.Holding{broker.Held, broker.HeldByOther, broker.Held}) {
			k.Fatalf("the holdings are %v", got)
		}
	}},
	{"renews more than a script holds", nil, func(k *kit) {
		ids := k.fill(700)
		k.deliver("a", ids)
		k.age(time.Hour, ids...)
		for i, h := range k.renew(ids...) {
			equal(k, ids[i].String(), h, broker.Held)
		}
		for _, p := range k.pending() {
			k.near(p.ID.String(), p.Idle, 0)
		}
	}},
	{"of nothing is nothing", nil, func(k *kit) {
		k.fill(1)
		equal(k, "holdings", len(k.renew()), 0)
	}},
}

// longIdle is more than anything claims with in these cases.
const longIdle = 48 * time.Hour

func (k *kit) release(consumer string, ids ...broker.ID) {
	k.Helper()
	k.ok(k.Broker.Release(k.Context(), k.owner(consumer), ids, longIdle))
}

var releaseCases = []testCase{
	{"can be claimed at once, the delivery not counted", needs(claimingRead), func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.release("a", ids...)
		k.came(k.claim("b", 24*time.Hour, 10), 0, ids...)
	}},
	{"looks idle for as long as it was told to", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.ok(k.Broker.Release(k.Context(), k.owner("a"), ids[:1], time.Minute))
		if idle := k.pending()[ids[0]].Idle; idle < 59*time.Second || idle > time.Minute+slack { // of two clocks
			k.Fatalf("idle is %v, want a minute", idle)
		}
		k.ok(k.Broker.Release(k.Context(), k.owner("a"), ids[1:], 0))
		k.near("idle", k.pending()[ids[1]].Idle, 0)
		equal(k, "deliveries", k.pending()[ids[1]].Deliveries, 0)
	}},
	{"can be swept at once", needs(autoClaim), func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.release("a", ids...)
		all, _ := k.autoClaim(k.sweep("b", 10))
		k.came(all.Deliveries, 0, ids...)
	}},
	{"keeps owner and place", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.release("a", ids...)
		p := k.pending()[ids[0]]
		equal(k, "owner", p.Consumer, "a")
		equal(k, "deliveries", p.Deliveries, 0)
		if p.Idle < 24*time.Hour {
			k.Fatalf("idle for %v", p.Idle)
		}
	}},
	{"takes one delivery back, not all", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[0])
		k.takeOver("c", "b", ids[0])
		k.release("c", ids[0])
		equal(k, "deliveries", k.pending()[ids[0]].Deliveries, 2)
	}},
	{"twice does not count below zero", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.release("a", ids...)
		k.release("a", ids...)
		equal(k, "deliveries", k.pending()[ids[0]].Deliveries, 0)
	}},
	{"leaves what is pending under another", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[0])
		k.release("a", ids...)
		p := k.pending()
		equal(k, "owner", p[ids[0]].Consumer, "b")
		equal(k, "deliveries", p[ids[0]].Deliveries, 2)
		k.near("idle", p[ids[0]].Idle, 0)
		equal(k, "deliveries of its own", p[ids[1]].Deliveries, 0)
	}},
	{"of what is acknowledged is nothing", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.ack("a", ids...)
		k.release("a", ids...)
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"of more than a script holds", nil, func(k *kit) {
		ids := k.fill(700)
		k.deliver("a", ids)
		k.release("a", ids...)
		for _, p := range k.pending() {
			equal(k, p.ID.String(), p.Deliveries, 0)
		}
	}},
}
