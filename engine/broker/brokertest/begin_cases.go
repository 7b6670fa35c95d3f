package brokertest

import (
	"time"

	"pipeline/engine/broker"
)

// begin asserts that the consumer still holds an entry that is about to run, or
// what else.
func (k *kit) begin(consumer string, want broker.Holding, id broker.ID) {
	k.Helper()
	held, err := k.Broker.Begin(k.Context(), k.owner(consumer), []broker.ID{id})
	k.ok(err)
	if len(held) != 1 || held[0] != want {
		k.Fatalf("began: %v, want %v", held, want)
	}
}

var beginCases = []testCase{
	{"records the start from the third delivery on", nil, func(k *kit) {
		id := k.redelivered(1)
		k.begin("a", broker.Held, id)
		equal(k, "record", k.record(id), broker.Record{})
		k.takeOver("a", "a", id)
		k.begin("a", broker.Held, id)
		equal(k, "record", k.record(id), broker.Record{Starts: 1, Delivery: 3})
		k.takeOver("a", "a", id)
		k.begin("a", broker.Held, id)
		equal(k, "record", k.record(id), broker.Record{Starts: 2, Delivery: 4})
	}},
	{"records it once for each delivery, however often it is told", nil, func(k *kit) {
		id := k.redelivered(2)
		for range 3 {
			k.begin("a", broker.Held, id)
		}
		equal(k, "record", k.record(id), broker.Record{Starts: 1, Delivery: 3})
		k.takeOver("b", "a", id)
		for range 2 {
			k.begin("b", broker.Held, id)
		}
		equal(k, "record", k.record(id), broker.Record{Starts: 2, Delivery: 4})
	}},
	{"renews", nil, func(k *kit) {
		for _, before := range []int{1, 2} {
			id := k.redelivered(before)
			k.age(30*time.Minute, id)
			k.begin("a", broker.Held, id)
			k.near("idle", k.pending()[id].Idle, 0)
			equal(k, "deliveries", k.pending()[id].Deliveries, int64(before+1))
			k.ack("a", id)
		}
	}},
	{"of what is held by another, or settled, nothing is written", nil, func(k *kit) {
		id := k.redelivered(2)
		k.takeOver("b", "a", id)
		k.age(time.Minute, id)
		k.begin("a", broker.HeldByOther, id)
		equal(k, "record", k.record(id), broker.Record{})
		equal(k, "owner", k.pending()[id].Consumer, "b")
		k.near("idle", k.pending()[id].Idle, time.Minute)
		k.ack("b", id)
		k.begin("b", broker.HeldByOther, id)
		equal(k, "record", k.record(id), broker.Record{})
	}},
	{"of what has no body is told and no longer pending", needs(deletedIDs), func(k *kit) {
		id := k.redelivered(2)
		k.DeleteEntries(k.stream, id)
		k.begin("a", broker.BodyGone, id)
		equal(k, "record", k.record(id), broker.Record{})
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"keeps the rest of the record", nil, func(k *kit) {
		id := k.redelivered(2)
		k.wait(broker.Wait{ID: id, Asked: true, Error: "bank\x00 \r\n \x1fe9 9 says no "}, broker.Done)
		before := k.record(id)
		equal(k, "ended", before.Ended, true)
		equal(k, "ended delivery", before.Delivery, 3)
		k.takeOver("a", "a", id)
		k.begin("a", broker.Held, id)
		before.Starts, before.Delivery, before.Ended = 1, 4, false
		equal(k, "record", k.record(id), before)
	}},
	{"an end after it is on record, with the first delivery", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Error: "one", Delivery: 1, Ago: 10 * time.Second}, broker.Done)
		first := k.record(id)
		equal(k, "first delivery before it failed", first.At.Sub(first.First), 10*time.Second)
		equal(k, "the first delivery is settled", first.Unsettled(1), false)
		equal(k, "the second is not", first.Unsettled(2), true)
		k.takeOver("b", "a", id)
		k.takeOver("b", "b", id)
		k.begin("b", broker.Held, id)
		equal(k, "the third is not", k.record(id).Unsettled(3), true)
		wait := broker.Wait{ID: id, Error: "three", Delivery: 3, Ago: time.Second}
		k.settle(&broker.Settlement{Owner: k.owner("b"), Waits: []broker.Wait{wait}})
		r := k.record(id)
		equal(k, "first delivery", r.First, first.First)
		equal(k, "the third is settled", r.Unsettled(3), false)
		equal(k, "starts", r.Starts, 1)
		equal(k, "by", r.By, "b")
	}},
	{"the first delivery is not known if it came to no outcome", nil, func(k *kit) {
		id := k.redelivered(1)
		k.wait(broker.Wait{ID: id, Error: "two", Delivery: 2, Ago: time.Second}, broker.Done)
		r := k.record(id)
		equal(k, "first delivery", r.First.IsZero(), true)
		equal(k, "delivery", r.Delivery, 2)
	}},
	{"answers many in their order", nil, func(k *kit) {
		ids := k.fill(600)
		k.deliver("a", ids)
		k.takeOver("a", "a", ids...)
		k.takeOver("a", "a", ids...)
		k.ack("a", ids[5], ids[400])
		held, err := k.Broker.Begin(k.Context(), k.owner("a"), ids)
		k.ok(err)
		equal(k, "answers", len(held), 600)
		for i, h := range held {
			if want := i == 5 || i == 400; (h == broker.HeldByOther) != want {
				k.Fatalf("entry %d: %v", i, h)
			}
		}
	}},
}
