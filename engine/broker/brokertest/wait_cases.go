package brokertest

import (
	"strings"
	"time"

	"pipeline/engine/broker"
)

var waitCases = []testCase{
	{"age the entry so that it is idle when due", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: 10 * time.Minute, MinIdle: minIdle}, broker.Done)
		p := k.pending()[id]
		k.near("idle", p.Idle, 50*time.Minute)
		equal(k, "deliveries", p.Deliveries, 1)
		equal(k, "owner", p.Consumer, "a")
	}},
	{"beyond the idle time start at zero", nil, func(k *kit) {
		id := k.redelivered(0)
		k.age(time.Hour, id)
		k.wait(broker.Wait{ID: id, Timed: true, After: 3 * time.Hour, MinIdle: minIdle}, broker.Done)
		k.near("idle", k.pending()[id].Idle, 0)
	}},
	{"that are due at once are idle at once", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, MinIdle: minIdle}, broker.Done)
		k.near("idle", k.pending()[id].Idle, minIdle)
	}},
	{"where nobody claims start at zero", nil, func(k *kit) {
		id := k.redelivered(0)
		k.age(time.Hour, id)
		k.wait(broker.Wait{ID: id, Timed: true, After: time.Minute}, broker.Done)
		k.near("idle", k.pending()[id].Idle, 0)
		equal(k, "due", k.record(id).Due.Sub(k.record(id).At), time.Minute)
	}},
	{"untimed start at zero and are due at once", nil, func(k *kit) {
		id := k.redelivered(0)
		k.age(time.Hour, id)
		k.wait(broker.Wait{ID: id, MinIdle: minIdle, Error: "e"}, broker.Done)
		k.near("idle", k.pending()[id].Idle, 0)
		equal(k, "due", k.record(id).Due.IsZero(), true)
	}},
	{"that carry nothing leave the record as it is", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id}, broker.Done)
		equal(k, "record", k.record(id), broker.Record{})
		k.wait(broker.Wait{ID: id, Error: "e"}, broker.Done)
		before := k.record(id)
		k.wait(broker.Wait{ID: id, Uncount: true}, broker.Done)
		equal(k, "record", k.record(id), before)
	}},
	{"write down when, why and who", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: 1500 * time.Millisecond, Asked: true, Error: "bank is closed"}, broker.Done)
		r := k.record(id)
		equal(k, "due after", r.Due.Sub(r.At), 1500*time.Millisecond)
		equal(k, "starts", r.Starts, 0)
		equal(k, "asked", r.Asked, 1)
		equal(k, "error", r.Error, "bank is closed")
		equal(k, "by", r.By, "a")
		equal(k, "at", r.At.IsZero(), false)
	}},
	{"round times up to milliseconds", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: 1500*time.Microsecond + 1}, broker.Done)
		equal(k, "due after", k.record(id).Due.Sub(k.record(id).At), 2*time.Millisecond)
	}},
	{"keep any bytes of an error", nil, func(k *kit) {
		id := k.redelivered(0)
		for _, text := range []string{"\x00\r\n\xff é", " 1 2 3 ", "%s %d", strings.Repeat("x", 100_000)} {
			k.wait(broker.Wait{ID: id, Error: text}, broker.Done)
			equal(k, "error", k.record(id).Error, text)
		}
	}},
	{"count asked retries and keep starts", nil, func(k *kit) {
		id := k.redelivered(2)
		k.begin("a", broker.Held, id)
		k.wait(broker.Wait{ID: id, Asked: true}, broker.Done)
		k.wait(broker.Wait{ID: id, Asked: true}, broker.Done)
		k.wait(broker.Wait{ID: id, Error: "failed"}, broker.Done)
		r := k.record(id)
		equal(k, "starts", r.Starts, 1)
		equal(k, "asked", r.Asked, 2)
		equal(k, "attempts", r.Attempts(2), 1)
	}},
	{"replace the due time", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: time.Hour}, broker.Done)
		k.wait(broker.Wait{ID: id, Timed: true, After: time.Minute}, broker.Done)
		equal(k, "due", k.record(id).Due.Sub(k.record(id).At), time.Minute)
		k.wait(broker.Wait{ID: id, Error: "e"}, broker.Done)
		equal(k, "due at once", k.record(id).Due.IsZero(), true)
	}},
	{"can take the delivery back", nil, func(k *kit) {
		id := k.redelivered(1)
		k.wait(broker.Wait{ID: id, Uncount: true}, broker.Done)
		equal(k, "deliveries", k.pending()[id].Deliveries, 1)
		k.wait(broker.Wait{ID: id, Uncount: true}, broker.Done)
		k.wait(broker.Wait{ID: id, Uncount: true}, broker.Done)
		equal(k, "deliveries", k.pending()[id].Deliveries, 0)
	}},
	{"of what is held by another do nothing", nil, func(k *kit) {
		id := k.redelivered(0)
		k.takeOver("b", "a", id)
		k.wait(broker.Wait{ID: id, Timed: true, After: time.Minute, MinIdle: minIdle, Error: "e"}, broker.NotOwned)
		p := k.pending()[id]
		equal(k, "owner", p.Consumer, "b")
		equal(k, "deliveries", p.Deliveries, 2)
		k.near("idle", p.Idle, 0)
		equal(k, "record", k.record(id), broker.Record{})
	}},
	{"of what is acknowledged do nothing", nil, func(k *kit) {
		id := k.redelivered(0)
		k.ack("a", id)
		k.wait(broker.Wait{ID: id, Error: "e"}, broker.NotOwned)
		equal(k, "record", k.record(id), broker.Record{})
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"of an entry without a body end it", needs(deletedIDs), func(k *kit) {
		id := k.redelivered(0)
		k.DeleteEntries(k.stream, id)
		k.wait(broker.Wait{ID: id, Error: "e"}, broker.Gone)
		equal(k, "record", k.record(id), broker.Record{})
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"bring the entry back when due, one delivery on", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: k.span(300 * time.Millisecond), MinIdle: minIdle}, broker.Done)
		k.came(k.claim("b", minIdle, 1), 0)
		k.Advance(k.span(350 * time.Millisecond))
		got := k.claim("b", minIdle, 1)
		k.came(got, 1, id)
		k.near("idle", got[0].Idle, minIdle)
		equal(k, "length", len(k.entries(k.stream)), 1)
	})},
	{"wake a reader that blocks afterwards", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: k.span(300 * time.Millisecond), MinIdle: minIdle}, broker.Done)
		c := k.block(k.Context(), k.claimingBlock("b", time.Minute))
		k.Advance(k.span(400 * time.Millisecond))
		k.brings(c, 1, id)
	})},
	{"in hundreds, some of them not owned", nil, func(k *kit) {
		ids := k.fill(600)
		k.deliver("a", ids)
		k.takeOver("b", "a", ids[100], ids[599])
		var waits []broker.Wait
		for _, id := range ids {
			waits = append(waits, broker.Wait{ID: id, Timed: true, After: 10 * time.Minute, MinIdle: minIdle, Error: "e"})
		}
		for i, got := range k.settle(&broker.Settlement{Owner: k.owner("a"), Waits: waits}).Waits {
			want := broker.Done
			if i == 100 || i == 599 {
				want = broker.NotOwned
			}
			equal(k, ids[i].String(), got, want)
		}
		k.near("idle", k.pending()[ids[300]].Idle, 50*time.Minute)
	}},
	{"sent again after a lost answer is written once", nil, func(k *kit) {
		id := k.redelivered(0)
		w := broker.Wait{ID: id, Timed: true, After: time.Minute, MinIdle: minIdle, Asked: true, Error: "later", Delivery: 1}
		k.wait(w, broker.Done)
		k.age(30*time.Minute, id)
		before := k.record(id)
		k.wait(w, broker.Done)
		equal(k, "record", k.record(id), before)
		k.near("idle", k.pending()[id].Idle, 30*time.Minute)
		k.takeOver("b", "a", id)
		k.wait(w, broker.Done) // though another has it by now
		equal(k, "record", k.record(id), before)
		equal(k, "owner", k.pending()[id].Consumer, "b")
	}},
	{"of another, or of another delivery, is not taken for it", nil, func(k *kit) {
		id := k.redelivered(0)
		w := broker.Wait{ID: id, Asked: true, Error: "later", Delivery: 1}
		k.wait(w, broker.Done)
		k.takeOver("b", "a", id)
		w.Delivery = 2
		got := k.settle(&broker.Settlement{Owner: k.owner("b"), Waits: []broker.Wait{w}})
		equal(k, "status", got.Waits[0], broker.Done)
		equal(k, "asked", k.record(id).Asked, 2)
		k.wait(w, broker.NotOwned)
		w.Delivery = 1
		k.wait(w, broker.NotOwned)
		equal(k, "asked", k.record(id).Asked, 2)
	}},
	{"takes the delivery back to what it was, however often it is sent", nil, func(k *kit) {
		id := k.redelivered(3)
		for range 3 {
			k.wait(broker.Wait{ID: id, Timed: true, After: time.Minute, Uncount: true, Delivery: 4}, broker.Done)
		}
		equal(k, "deliveries", k.pending()[id].Deliveries, 3)
		equal(k, "record", k.record(id).Delivery, 0)
	}},
}
