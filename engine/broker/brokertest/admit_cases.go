package brokertest

import (
	"time"

	"pipeline/engine/broker"
)

// minIdle and attempts are those of the group in these cases.
const (
	minIdle  = time.Hour
	attempts = 5
)

func (k *kit) verdict(a broker.Admission, want broker.Verdict) {
	k.Helper()
	if a.Verdict != want {
		k.Fatalf("the verdict is %v, want %v: %+v", a.Verdict, want, a)
	}
}

// redelivered fills the stream and has consumer a hold an entry that was
// delivered that often before.
func (k *kit) redelivered(before int) broker.ID {
	k.Helper()
	ids := k.fill(1)
	k.deliver("a", ids)
	for range before {
		k.takeOver("a", "a", ids[0])
	}
	return ids[0]
}

var admitCases = []testCase{
	{"lets the second delivery run without a record", nil, func(k *kit) {
		id := k.redelivered(1)
		a := k.admit("a", attempts, id, 1)
		k.verdict(a, broker.Run)
		equal(k, "record", a.Record, broker.Record{})
		equal(k, "record afterwards", k.record(id), broker.Record{})
		equal(k, "deliveries", k.pending()[id].Deliveries, 2)
	}},
	{"writes nothing down before the run", nil, func(k *kit) {
		id := k.redelivered(2)
		k.verdict(k.admit("a", attempts, id, 2), broker.Run)
		equal(k, "record", k.record(id), broker.Record{})
	}},
	{"stops at the most attempts, before the run", nil, func(k *kit) {
		id := k.redelivered(2)
		for before := int64(2); before < attempts; before++ {
			k.verdict(k.admit("a", attempts, id, before), broker.Run)
			k.begin("a", broker.Held, id)
			k.takeOver("a", "a", id)
		}
		for range 2 {
			a := k.admit("a", attempts, id, attempts)
			k.verdict(a, broker.Exhausted)
			equal(k, "attempts", a.Record.Attempts(attempts), attempts)
		}
		equal(k, "starts", k.record(id).Starts, attempts-2)
		equal(k, "pending", len(k.pending()), 1)
	}},
	{"never stops at the count of deliveries alone", nil, func(k *kit) {
		id := k.redelivered(2)
		k.verdict(k.admit("a", 3, id, 1000), broker.Run)
		k.begin("a", broker.Held, id)
		k.verdict(k.admit("a", 3, id, 1001), broker.Exhausted)
	}},
	{"does not count asked retries", nil, func(k *kit) {
		id := k.redelivered(2)
		for before := int64(2); before < 12; before++ {
			k.verdict(k.admit("a", 3, id, before), broker.Run)
			k.begin("a", broker.Held, id)
			k.wait(broker.Wait{ID: id, Asked: true, Error: "not yet"}, broker.Done)
			k.takeOver("a", "a", id)
		}
		r := k.record(id)
		equal(k, "starts", r.Starts, 10)
		equal(k, "asked", r.Asked, 10)
		equal(k, "attempts", r.Attempts(12), 2)
	}},
	{"puts back what is not due, its delivery not counted", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: 30 * time.Minute, MinIdle: minIdle, Error: "later"}, broker.Done)
		k.takeOver("b", "a", id)
		a := k.admit("b", attempts, id, 1)
		k.verdict(a, broker.NotDue)
		if a.Remaining <= 30*time.Minute-slack || a.Remaining > 30*time.Minute {
			k.Fatalf("due in %v", a.Remaining)
		}
		equal(k, "error", a.Record.Error, "later")
		p := k.pending()[id]
		equal(k, "owner", p.Consumer, "b")
		equal(k, "deliveries", p.Deliveries, 1)
		k.near("idle", p.Idle, minIdle-a.Remaining)
		equal(k, "starts", k.record(id).Starts, 0)
	}},
	{"what is due later than the idle time starts at zero", nil, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: 5 * minIdle, MinIdle: minIdle}, broker.Done)
		k.takeOver("b", "a", id)
		k.age(30*time.Minute, id)
		k.verdict(k.admit("b", attempts, id, 1), broker.NotDue)
		k.near("idle", k.pending()[id].Idle, 0)
	}},
	{"what was put back comes when it is due, and runs", needs(claimingRead), inTime(50*time.Millisecond, func(k *kit) {
		id := k.redelivered(0)
		k.wait(broker.Wait{ID: id, Timed: true, After: k.span(500 * time.Millisecond), MinIdle: minIdle}, broker.Done)
		k.age(2*minIdle, id)
		k.came(k.claim("b", minIdle, 1), 1, id)
		a := k.admit("b", attempts, id, 1)
		k.verdict(a, broker.NotDue)
		k.came(k.claim("b", minIdle, 1), 0)
		k.Advance(a.Remaining + k.span(50*time.Millisecond))
		k.came(k.claim("c", minIdle, 1), 1, id)
		k.verdict(k.admit("c", attempts, id, 1), broker.Run)
	})},
	{"due comes before exhausted", nil, func(k *kit) {
		id := k.redelivered(2)
		k.begin("a", broker.Held, id)
		k.wait(broker.Wait{ID: id, Timed: true, After: time.Hour, MinIdle: minIdle}, broker.Done)
		k.verdict(k.admit("a", 3, id, 3), broker.NotDue)
	}},
	{"of what is held by another is lost", nil, func(k *kit) {
		id := k.redelivered(2)
		k.takeOver("b", "a", id)
		k.age(time.Minute, id)
		k.verdict(k.admit("a", attempts, id, 2), broker.Lost)
		equal(k, "record", k.record(id), broker.Record{})
		equal(k, "owner", k.pending()[id].Consumer, "b")
		k.near("idle", k.pending()[id].Idle, time.Minute)
	}},
	{"of what is acknowledged is lost", nil, func(k *kit) {
		id := k.redelivered(2)
		k.ack("a", id)
		k.verdict(k.admit("a", attempts, id, 2), broker.Lost)
		equal(k, "record", k.record(id), broker.Record{})
	}},
	{"answers many in their order", nil, func(k *kit) {
		ids := k.fill(600)
		k.deliver("a", ids)
		k.takeOver("a", "a", ids...)
		k.ack("a", ids[5], ids[400])
		k.wait(broker.Wait{ID: ids[7], Timed: true, After: time.Hour}, broker.Done)
		r := broker.AdmitRequest{Owner: k.owner("a"), MinIdle: minIdle, MaxAttempts: attempts}
		for _, id := range ids {
			r.Entries = append(r.Entries, broker.Redelivery{ID: id, Deliveries: 1})
		}
		answers, err := k.Broker.Admit(k.Context(), r)
		k.ok(err)
		equal(k, "answers", len(answers), 600)
		for i, a := range answers {
			want := broker.Run
			switch i {
			case 5, 400:
				want = broker.Lost
			case 7:
				want = broker.NotDue
			}
			if a.Verdict != want {
				k.Fatalf("entry %d: verdict %v, want %v", i, a.Verdict, want)
			}
		}
	}},
}
