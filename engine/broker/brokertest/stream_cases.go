package brokertest

import (
	"fmt"
	"slices"
	"time"

	"pipeline/engine/broker"
)

var addCases = []testCase{
	{"gives rising ids in order", nil, func(k *kit) {
		ids := append(k.add(k.stream, 300), k.add(k.stream, 300)...)
		if !slices.IsSortedFunc(ids, broker.ID.Compare) || len(slices.Compact(slices.Clone(ids))) != 600 {
			k.Fatalf("the ids are %v", ids)
		}
		for i, e := range k.entries(k.stream) {
			equal(k, "id", e.ID, ids[i])
		}
	}},
	{"to several streams at once", nil, func(k *kit) {
		other := k.key("other")
		ids, err := k.Broker.Add(k.Context(), []broker.Add{message(k.stream, "n", "1"), message(other, "n", "2"), message(k.stream, "n", "3")})
		k.ok(err)
		equal(k, "ids", len(ids), 3)
		k.published(k.stream, "1", "3")
		k.published(other, "2")
		equal(k, "id", k.entries(other)[0].ID, ids[1])
	}},
	{"byte for byte, in order, with duplicates", nil, func(k *kit) {
		want := awkward()
		_, err := k.Broker.Add(k.Context(), []broker.Add{{Stream: k.stream, Fields: want}, message(k.stream, "n", "1")})
		k.ok(err)
		if got := k.entries(k.stream); len(got) != 2 || !slices.Equal(got[0].Fields, want) {
			k.Fatalf("added %q, want %q", got, want)
		}
	}},
	{"keeps what was added when the caller's fields change", nil, func(k *kit) {
		m := message(k.stream, "n", "1")
		_, err := k.Broker.Add(k.Context(), []broker.Add{m})
		k.ok(err)
		m.Fields[0].Value = "2"
		k.published(k.stream, "1")
	}},
	{"refuses an entry without fields", nil, func(k *kit) {
		_, err := k.Broker.Add(k.Context(), []broker.Add{{Stream: k.stream}})
		k.fails(err, nil, k.stream)
		equal(k, "entries", len(k.entries(k.stream)), 0)
	}},
	{"stops at the first that is refused", nil, func(k *kit) {
		bad := k.key("text")
		k.SetString(bad)
		ids, err := k.Broker.Add(k.Context(), []broker.Add{message(k.stream, "n", "1"), message(bad, "n", "2"), message(k.stream, "n", "3")})
		k.fails(err, broker.ErrWrongType, bad)
		equal(k, "ids", len(ids), 1)
		k.published(k.stream, "1")
	}},
	{"nothing is fine", nil, func(k *kit) {
		ids, err := k.Broker.Add(k.Context(), nil)
		k.ok(err)
		equal(k, "ids", len(ids), 0)
	}},
	{"trims approximately", nil, func(k *kit) {
		adds := make([]broker.Add, 1000)
		for i := range adds {
			adds[i] = message(k.stream, "n", fmt.Sprint(i))
			adds[i].MaxLen = 300
		}
		_, err := k.Broker.Add(k.Context(), adds)
		k.ok(err)
		if n := len(k.entries(k.stream)); n < 300 || n > 500 {
			k.Fatalf("%d entries are left of about 300", n)
		}
	}},
	{"many fields", nil, func(k *kit) {
		wide := broker.Add{Stream: k.stream}
		for i := range 6000 {
			wide.Fields = append(wide.Fields, broker.Field{Name: fmt.Sprint("f", i), Value: fmt.Sprint(i)})
		}
		ids, err := k.Broker.Add(k.Context(), []broker.Add{message(k.stream, "n", "1"), wide, message(k.stream, "n", "2")})
		k.ok(err)
		got := k.entries(k.stream)
		if len(got) != 3 || got[1].ID != ids[1] || !slices.Equal(got[1].Fields, wide.Fields) {
			k.Fatal("the wide entry is not as it was added")
		}
	}},
}

func (k *kit) rangeOf(first, last broker.ID, count int) []broker.ID {
	k.Helper()
	entries, err := k.Broker.Range(k.Context(), k.stream, first, last, count)
	k.ok(err)
	ids := make([]broker.ID, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	return ids
}

var rangeCases = []testCase{
	{"includes both ends", nil, func(k *kit) {
		ids := k.add(k.stream, 5)
		k.same(k.rangeOf(ids[1], ids[3], 10), ids[1:4])
		k.same(k.rangeOf(ids[2], ids[2], 10), ids[2:3])
		k.same(k.rangeOf(ids[1].Next(), ids[3].Prev(), 10), ids[2:3])
	}},
	{"is bounded by its count", nil, func(k *kit) {
		ids := k.add(k.stream, 5)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 2), ids[:2])
	}},
	{"is empty from behind the last, and backwards", nil, func(k *kit) {
		ids := k.add(k.stream, 3)
		k.same(k.rangeOf(ids[2].Next(), broker.MaxID, 10), nil)
		k.same(k.rangeOf(ids[2], ids[0], 10), nil)
	}},
	{"of an absent stream is empty", nil, func(k *kit) { k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), nil) }},
	{"needs a count", nil, func(k *kit) {
		_, err := k.Broker.Range(k.Context(), k.stream, broker.ID{}, broker.MaxID, 0)
		k.fails(err, nil, "count")
	}},
	{"delivers nothing", nil, func(k *kit) {
		ids := k.fill(2)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), ids)
		equal(k, "pending", k.info().Pending, 0)
		k.deliver("a", ids)
	}},
}

var trimCases = []testCase{
	{"to a length", nil, func(k *kit) {
		ids := k.fill(250)
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 7}), 243)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 1000), ids[243:])
		equal(k, "removed again", k.trim(broker.TrimRequest{MaxLen: 7}), 0)
	}},
	{"to a least id", nil, func(k *kit) {
		ids := k.fill(250)
		equal(k, "removed", k.trim(broker.TrimRequest{MinID: ids[240]}), 240)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 1000), ids[240:])
	}},
	{"to whichever removes more", nil, func(k *kit) {
		ids := k.fill(50)
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 30, MinID: ids[10]}), 20)
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 30, MinID: ids[40]}), 20)
	}},
	{"to an age, by the clock that gives the ids", nil, inTime(50*time.Millisecond, func(k *kit) {
		for _, protect := range []bool{false, true} {
			old := k.add(k.stream, 130)
			equal(k, "removed of an hour", k.trim(broker.TrimRequest{MaxAge: time.Hour, Protect: protect}), 0)
			k.Advance(k.span(200 * time.Millisecond))
			equal(k, "removed of a moment", k.trim(broker.TrimRequest{MaxAge: k.span(100 * time.Millisecond), Protect: protect}), int64(len(old)))
		}
	})},
	{"to an age protects what is pending", nil, inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.ack("a", ids[0], ids[2])
		k.Advance(k.span(200 * time.Millisecond))
		equal(k, "removed", k.trim(broker.TrimRequest{MaxAge: k.span(100 * time.Millisecond), Protect: true}), 2)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 10), ids[1:2])
	})},
	{"to whichever of an age and an id is later", nil, inTime(50*time.Millisecond, func(k *kit) {
		ids := k.fill(50)
		equal(k, "removed", k.trim(broker.TrimRequest{MinID: ids[20], MaxAge: time.Hour}), 20)
		k.Advance(k.span(200 * time.Millisecond))
		equal(k, "removed", k.trim(broker.TrimRequest{MinID: ids[30], MaxAge: k.span(100 * time.Millisecond)}), 30)
	})},
	{"of an absent stream to an age removes nothing", nil, func(k *kit) {
		equal(k, "removed", k.trim(broker.TrimRequest{MaxAge: time.Second}), 0)
		equal(k, "removed", k.trim(broker.TrimRequest{MaxAge: time.Second, Protect: true}), 0)
	}},
	{"without a bound removes nothing", nil, func(k *kit) {
		k.fill(50)
		equal(k, "removed", k.trim(broker.TrimRequest{}), 0)
		equal(k, "removed", k.trim(broker.TrimRequest{Protect: true}), 0)
	}},
	{"of an absent stream removes nothing", nil, func(k *kit) {
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 1}), 0)
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 1, Protect: true}), 0)
	}},
	{"leaves pending ids behind", nil, func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids)
		k.trim(broker.TrimRequest{MaxLen: 2})
		k.same(k.pendingOf("a"), ids)
		took := k.takeOver("b", "a", ids...)
		k.same(idsOf(took.Deliveries), ids[3:])
		k.same(took.Deleted, ids[:3])
	}},
	{"can remove what no group has read", nil, func(k *kit) {
		ids := k.fill(5)
		k.trim(broker.TrimRequest{MaxLen: 2})
		k.deliver("a", ids[3:])
	}},
	{"protects what a group has not read", nil, func(k *kit) {
		ids := k.fill(20)
		_, err := k.Broker.CreateGroup(k.Context(), k.stream, "slow", "0")
		k.ok(err)
		k.deliver("a", ids)
		k.ack("a", ids...)
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 1, Protect: true}), 0)
		equal(k, "removed", k.trim(broker.TrimRequest{MinID: broker.MaxID, Protect: true}), 0)
	}},
	{"protects what is pending", nil, func(k *kit) {
		ids := k.fill(20)
		k.deliver("a", ids)
		k.ack("a", ids[:5]...)
		k.trim(broker.TrimRequest{MaxLen: 1, Protect: true})
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 100), ids[5:])
		k.ack("a", ids[5:]...)
		k.trim(broker.TrimRequest{MaxLen: 3, Protect: true})
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 100), ids[17:])
	}},
	{"goes on behind what is pending", nil, func(k *kit) {
		ids := k.fill(6)
		k.deliver("a", ids)
		k.ack("a", ids[0], ids[2], ids[3])
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 2, Protect: true}), 3)
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 100), []broker.ID{ids[1], ids[4], ids[5]})
		equal(k, "length of the pending list", k.info().Pending, 3)
	}},
	{"protects what is pending among entries without a body", nil, func(k *kit) {
		ids := k.fill(200)
		k.deliver("a", ids[:150])
		for i := 3; i < 140; i += 2 {
			k.DeleteEntries(k.stream, ids[i])
		}
		equal(k, "removed", k.trim(broker.TrimRequest{MaxLen: 1, Protect: true}), 0)
	}},
	{"without a group protects nothing", nil, func(k *kit) {
		ids := k.add(k.stream, 20)
		k.trim(broker.TrimRequest{MaxLen: 5, Protect: true})
		k.same(k.rangeOf(broker.ID{}, broker.MaxID, 100), ids[15:])
	}},
	{"keeps groups and positions", nil, func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:2])
		k.ack("a", ids[:2]...)
		k.trim(broker.TrimRequest{MinID: ids[4].Next()})
		equal(k, "last delivered", k.info().LastDelivered, ids[1])
		k.deliver("a", k.add(k.stream, 1))
	}},
}
