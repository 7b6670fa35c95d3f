package brokertest

import (
	"slices"
	"time"

	"pipeline/engine/broker"
)

// twiceCases are lists that name an entry twice: what is done to it is done
// once.
var twiceCases = []testCase{
	{"renewed", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		got := k.renew(ids[0], ids[0], ids[1])
		if !slices.Equal(got, []broker.Holding{broker.Held, broker.Held, broker.Held}) {
			k.Fatalf("got %v", got)
		}
	}},
	{"renewed without a body", needs(deletedIDs), func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.DeleteEntries(k.stream, ids...)
		got := k.renew(ids[0], ids[0])
		if !slices.Equal(got, []broker.Holding{broker.BodyGone, broker.BodyGone}) {
			k.Fatalf("got %v", got)
		}
	}},
	{"released", nil, func(k *kit) {
		id := k.redelivered(2)
		k.release("a", id, id)
		equal(k, "deliveries", k.pending()[id].Deliveries, 2)
	}},
	{"taken over", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		for i, from := range []string{"a", "b"} {
			got := k.takeOver("b", from, ids[0], ids[0])
			k.came(got.Deliveries, int64(1+i), ids...)
			equal(k, "deliveries", k.pending()[ids[0]].Deliveries, int64(2+i))
		}
	}},
	{"taken over without a body", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.DeleteEntries(k.stream, ids...)
		k.same(k.takeOver("b", "a", ids[0], ids[0]).Deleted, ids)
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"admitted", nil, func(k *kit) {
		id := k.redelivered(3)
		twice := []broker.Redelivery{{ID: id, Deliveries: 3}, {ID: id, Deliveries: 3}}
		got, err := k.Broker.Admit(k.Context(), broker.AdmitRequest{Owner: k.owner("a"), MinIdle: minIdle, MaxAttempts: attempts, Entries: twice})
		k.ok(err)
		if len(got) != 2 || got[0] != got[1] {
			k.Fatalf("got %+v", got)
		}
		k.verdict(got[0], broker.Run)
	}},
	{"begun", nil, func(k *kit) {
		id := k.redelivered(3)
		held, err := k.Broker.Begin(k.Context(), k.owner("a"), []broker.ID{id, id})
		k.ok(err)
		if len(held) != 2 || held[0] != broker.Held || held[1] != broker.Held {
			k.Fatalf("got %v", held)
		}
		equal(k, "starts", k.record(id).Starts, 1)
	}},
	{"not due", nil, func(k *kit) {
		id := k.redelivered(2)
		k.wait(broker.Wait{ID: id, Timed: true, After: minIdle}, broker.Done)
		twice := []broker.Redelivery{{ID: id, Deliveries: 2}, {ID: id, Deliveries: 2}}
		got, err := k.Broker.Admit(k.Context(), broker.AdmitRequest{Owner: k.owner("a"), MinIdle: minIdle, MaxAttempts: attempts, Entries: twice})
		k.ok(err)
		k.verdict(got[0], broker.NotDue)
		k.verdict(got[1], broker.NotDue)
		equal(k, "deliveries", k.pending()[id].Deliveries, 2)
	}},
	{"put back", nil, func(k *kit) {
		id := k.redelivered(2)
		w := broker.Wait{ID: id, Asked: true, Uncount: true}
		got := k.settle(&broker.Settlement{Owner: k.owner("a"), Waits: []broker.Wait{w, w}}).Waits
		if !slices.Equal(got, []broker.Status{broker.Done, broker.NotOwned}) {
			k.Fatalf("got %v", got)
		}
		equal(k, "asked retries", k.record(id).Asked, 1)
		equal(k, "deliveries", k.pending()[id].Deliveries, 2)
	}},
	{"published", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		to := k.key("replies")
		step := broker.Step{ID: ids[0], Publish: []broker.Add{message(to, "e", "0")}}
		got := k.steps("a", step, step)
		k.status(got[0], broker.Done)
		k.status(got[1], broker.NotOwned)
		equal(k, "replies", len(k.entries(to)), 1)
	}},
	{"published after it was refused", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		to := k.key("text")
		k.SetString(to)
		got := k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(to, "e", "0")}}, broker.Step{ID: ids[0]})
		k.status(got[0], broker.Refused)
		k.status(got[1], broker.NotOwned)
		k.same(k.pendingOf("a"), ids)
	}},
}

// edgeCases are the ends of what ids and keys can be.
var edgeCases = []testCase{
	{"a stream that used up its last id takes nothing more", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		equal(k, "added at the end", k.AddAs(k.stream, broker.MaxID, fields("n", "1")), true)
		equal(k, "added again", k.AddAs(k.stream, broker.MaxID, fields("n", "1")), false)
		added, err := k.Broker.Add(k.Context(), []broker.Add{message(k.stream, "n", "2")})
		k.fails(err, nil, "add", k.stream)
		equal(k, "added", len(added), 0)
		k.status(k.steps("a", broker.Step{ID: ids[0], Publish: []broker.Add{message(k.stream, "n", "3")}})[0], broker.Refused)
		equal(k, "entries", len(k.entries(k.stream)), 2)
		k.deliver("a", []broker.ID{broker.MaxID})
		k.same(k.pendingOf("a"), []broker.ID{ids[0], broker.MaxID})
	}},
	{"a protecting trim gets past the last id", nil, func(k *kit) {
		ids := k.fill(3)
		equal(k, "added at the end", k.AddAs(k.stream, broker.MaxID, fields("n", "1")), true)
		k.deliver("a", append(ids, broker.MaxID))
		k.ack("a", ids[0], ids[1])
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 1, Protect: true}), 2)
		k.ack("a", ids[2], broker.MaxID)
		equal(k, "removed", k.trim(broker.TrimRequest{MinID: broker.MaxID, Protect: true}), 1)
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 1, Protect: true}), 0)
	}},
	{"an id of its own has to be greater than all before it", nil, func(k *kit) {
		ids := k.fill(2)
		for id, want := range map[broker.ID]bool{{}: false, ids[0]: false, ids[1]: false, {Ms: 5}: false} {
			equal(k, id.String(), k.AddAs(k.stream, id, fields("n", "1")), want)
		}
		later := broker.ID{Ms: ids[1].Ms + 3_600_000, Seq: 7}
		equal(k, "later", k.AddAs(k.stream, later, fields("n", "1")), true)
		k.same(k.add(k.stream, 1), []broker.ID{{Ms: later.Ms, Seq: 8}})
	}},
	{"what is pending after the last id of an absent group is an error", nil, func(k *kit) {
		_, err := k.Broker.Pending(k.Context(), k.stream, k.group, "", broker.MaxID, 1)
		k.fails(err, broker.ErrNoGroup)
		k.create("0")
		list, err := k.Broker.Pending(k.Context(), k.stream, k.group, "", broker.MaxID, 1)
		k.ok(err)
		equal(k, "pending", len(list), 0)
	}},
	{"nothing to settle asks nothing of a key of another type", nil, func(k *kit) {
		k.SetString(k.stream)
		k.settle(&broker.Settlement{Owner: k.owner("a")})
	}},
	{"a trim without a bound asks nothing of a key of another type", nil, func(k *kit) {
		k.SetString(k.stream)
		for _, protect := range []bool{false, true} {
			n, err := k.Broker.Trim(k.Context(), broker.TrimRequest{Stream: k.stream, Protect: protect})
			k.ok(err)
			equal(k, "removed", n, 0)
		}
	}},
	{"records are dropped after their group was lost", nil, func(k *kit) {
		id := k.redelivered(2)
		k.wait(broker.Wait{ID: id, Error: "closed"}, broker.Done)
		k.DestroyGroup(k.stream, k.group)
		equal(k, "error", k.record(id).Error, "closed")
		k.settle(&broker.Settlement{Owner: k.owner("a"), Acks: []broker.ID{id}, Forget: []broker.ID{id}})
		equal(k, "record", k.record(id), broker.Record{})
	}},
	{"deliveries at one time are claimed in their order", needs(claimingRead), func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.age(2*time.Hour, ids[1])
		k.Advance(2 * time.Millisecond)
		order := []broker.ID{ids[1], ids[0], ids[2]}
		k.came(k.claim("b", time.Millisecond, 3), 1, order...)
		k.Advance(2 * time.Millisecond)
		k.came(k.claim("c", time.Millisecond, 3), 2, order...)
	}},
	{"a group ahead of a stream that is empty has no lag, if that is known", needs(lag), func(k *kit) {
		k.create(broker.MaxID.String())
		ids := k.add(k.stream, 2)
		k.DeleteEntries(k.stream, ids...)
		if info := k.info(); info.LagKnown && info.Lag != 0 {
			k.Fatalf("the lag is %d", info.Lag)
		}
	}},
	{"an outcome of very many fields is published though the body is gone", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		k.DeleteEntries(k.stream, ids...)
		step := broker.Step{ID: ids[0], Publish: []broker.Add{{Stream: k.key("replies"), Fields: wide()}}}
		got := k.steps("a", step, step)
		k.status(got[0], broker.Done)
		k.status(got[1], broker.NotOwned)
		equal(k, "replies", len(k.entries(k.key("replies"))), 1)
		equal(k, "pending", len(k.pending()), 0)
	}},
	{"all keys are gone after a flush", nil, func(k *kit) {
		id := k.redelivered(2)
		k.wait(broker.Wait{ID: id, Error: "closed"}, broker.Done)
		k.acquire(k.slotRequest("t0"), 0)
		k.Flush()
		equal(k, "record", k.record(id), broker.Record{})
		k.acquire(k.slotRequest("t1"), 0)
		_, found, err := k.Broker.Floor(k.Context(), k.stream, k.group)
		k.ok(err)
		equal(k, "floor", found, false)
		equal(k, "entries", len(k.entries(k.stream)), 0)
		_, err = k.Broker.Pending(k.Context(), k.stream, k.group, "", broker.ID{}, 1)
		k.fails(err, broker.ErrNoGroup)
	}},
}
