package brokertest

import (
	"time"

	"pipeline/engine/broker"
)

// sought asserts what a seek to a position comes to, wherever the group stands.
func (k *kit) sought(to broker.ID, want broker.Sought) {
	k.Helper()
	k.seekSeen(to, broker.MaxID, want)
}

// seekSeen is sought for a group that was seen somewhere.
func (k *kit) seekSeen(to, seen broker.ID, want broker.Sought) {
	k.Helper()
	got, err := k.Broker.Seek(k.Context(), broker.SeekRequest{Stream: k.stream, Group: k.group, To: to, Seen: seen})
	k.ok(err)
	got.Until = time.Time{}
	equal(k, "the seek", got, want)
	equal(k, "last delivered", k.info().LastDelivered, want.At)
}

// settled fills the stream and has a consumer acknowledge the first n of it.
func (k *kit) settled(of, n int) []broker.ID {
	k.Helper()
	ids := k.fill(of)
	k.deliver("a", ids[:n])
	k.ack("a", ids[:n]...)
	return ids
}

var seekCases = []testCase{
	{"back delivers again what was settled, as new", nil, func(k *kit) {
		ids := k.settled(4, 3)
		k.sought(ids[0], broker.Sought{From: ids[2], At: ids[0]})
		k.came(k.read("b", 10), 0, ids[1:]...)
	}},
	{"back to the beginning", nil, func(k *kit) {
		ids := k.settled(3, 3)
		k.sought(broker.ID{}, broker.Sought{From: ids[2]})
		k.came(k.read("b", 10), 0, ids...)
	}},
	{"forward passes over what was not delivered", nil, func(k *kit) {
		ids := k.settled(4, 1)
		k.sought(ids[2], broker.Sought{From: ids[0], At: ids[2]})
		k.came(k.read("b", 10), 0, ids[3])
	}},
	{"to the end leaves no lag", needs(lag), func(k *kit) {
		ids := k.settled(4, 1)
		k.sought(ids[3], broker.Sought{From: ids[0], At: ids[3]})
		k.lag(0)
		k.add(k.stream, 2)
		k.lag(2)
	}},
	{"may be repeated", nil, func(k *kit) {
		ids := k.settled(3, 2)
		k.sought(ids[0], broker.Sought{From: ids[1], At: ids[0]})
		k.sought(ids[0], broker.Sought{From: ids[0], At: ids[0]})
		k.seekSeen(ids[0], ids[1], broker.Sought{From: ids[0], At: ids[0]})
		k.came(k.read("b", 10), 0, ids[1:]...)
	}},
	{"moves the floor back", nil, func(k *kit) {
		ids := k.settled(4, 3)
		k.saveFloor()
		k.floor(ids[2])
		k.sought(ids[0], broker.Sought{From: ids[2], At: ids[0]})
		k.floor(ids[0])
		k.saveFloor()
		k.floor(ids[0])
		k.DestroyGroup(k.stream, k.group)
		k.restore(ids[0])
		k.deliver("b", ids[1:])
	}},
	{"moves the floor forward", nil, func(k *kit) {
		ids := k.settled(4, 1)
		k.sought(ids[2], broker.Sought{From: ids[0], At: ids[2]})
		k.floor(ids[2])
		k.DestroyGroup(k.stream, k.group)
		k.restore(ids[2])
		k.deliver("b", ids[3:])
	}},
	{"leaves what is pending before the position, and the floor before it", nil, func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:3])
		k.ack("a", ids[0], ids[2])
		k.sought(ids[3], broker.Sought{From: ids[2], At: ids[3]})
		equal(k, "pending", k.info().Pending, 1)
		k.floor(ids[1].Prev())
		k.sought(ids[2], broker.Sought{From: ids[3], At: ids[2]})
		equal(k, "deliveries", k.pending()[ids[1]].Deliveries, 1)
		k.floor(ids[1].Prev())
		k.came(k.read("b", 10), 0, ids[3:]...)
	}},
	{"back takes out what is pending behind the position, with its records", nil, func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:4])
		k.ack("a", ids[2])
		k.wait(broker.Wait{ID: ids[0], Error: "earlier"}, broker.Done)
		k.wait(broker.Wait{ID: ids[3], Error: "later"}, broker.Done)
		k.sought(ids[0], broker.Sought{From: ids[3], At: ids[0], Freed: 2})
		equal(k, "pending", k.info().Pending, 1)
		equal(k, "record of the entry before", k.record(ids[0]).Error, "earlier")
		equal(k, "record of the entry behind", k.record(ids[3]), broker.Record{})
		k.floor(ids[0].Prev())
		k.came(k.read("b", 10), 0, ids[1:]...)
		equal(k, "deliveries", k.pending()[ids[3]].Deliveries, 1)
	}},
	{"back over thousands that are pending", nil, func(k *kit) {
		ids := k.fill(2300)
		k.deliver("a", ids)
		k.ack("a", ids[100:200]...)
		k.sought(ids[9], broker.Sought{From: ids[2299], At: ids[9], Freed: 2190})
		equal(k, "pending", k.info().Pending, 10)
		k.floor(ids[0].Prev())
		k.came(k.read("b", 3000), 0, ids[10:]...)
	}},
	{"back is refused where what is pending may be worked on", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids[:2])
		r := k.slotRequest("t")
		k.acquire(r, 0)
		k.holds(r, 0, true)
		got, err := k.Broker.Seek(k.Context(), broker.SeekRequest{Stream: k.stream, Group: k.group, Seen: broker.MaxID})
		k.ok(err)
		if left := got.Until.Sub(k.serverTime()); left <= 0 || left > r.TTL+time.Second {
			k.Errorf("the consumer is alive for another %v, of %v", left, r.TTL)
		}
		got.Until = time.Time{}
		equal(k, "the seek", got, broker.Sought{Status: broker.SeekInUse, From: ids[1], At: ids[1], Alive: 1})
		equal(k, "pending", k.info().Pending, 2)
		k.sought(ids[2], broker.Sought{From: ids[1], At: ids[2]})
		k.ack("a", ids[:2]...)
		k.sought(broker.ID{}, broker.Sought{From: ids[2]})
		k.ok(k.Broker.ReleaseSlot(k.Context(), r, 0))
		k.came(k.read("b", 2), 0, ids[:2]...)
		k.sought(broker.ID{}, broker.Sought{From: ids[1], Freed: 2})
	}},
	{"beyond the last id is refused", nil, func(k *kit) {
		ids := k.settled(3, 1)
		k.sought(ids[2].Next(), broker.Sought{Status: broker.SeekBeyond, From: ids[0], At: ids[0]})
		k.sought(broker.MaxID, broker.Sought{Status: broker.SeekBeyond, From: ids[0], At: ids[0]})
		k.deliver("a", ids[1:])
	}},
	{"back is refused where more would be delivered again than was seen", nil, func(k *kit) {
		ids := k.settled(5, 3)
		k.seekSeen(ids[0], ids[1], broker.Sought{Status: broker.SeekMoved, From: ids[2], At: ids[2]})
		k.floor(broker.ID{}) // that of the creation
		k.seekSeen(ids[0], ids[3], broker.Sought{From: ids[2], At: ids[0]})
	}},
	{"forward is refused where more would be passed over than was seen", nil, func(k *kit) {
		ids := k.settled(5, 2)
		k.seekSeen(ids[4], ids[2], broker.Sought{Status: broker.SeekMoved, From: ids[1], At: ids[1]})
		k.seekSeen(ids[4], ids[0], broker.Sought{From: ids[1], At: ids[4]})
	}},
	{"the other way than was seen is refused", nil, func(k *kit) {
		ids := k.settled(5, 2)
		k.seekSeen(ids[3], ids[4], broker.Sought{Status: broker.SeekMoved, From: ids[1], At: ids[1]})
		k.seekSeen(ids[0], broker.ID{}, broker.Sought{Status: broker.SeekMoved, From: ids[1], At: ids[1]})
	}},
	{"moves no other group", nil, func(k *kit) {
		ids := k.settled(3, 2)
		_, err := k.Broker.CreateGroup(k.Context(), k.stream, "risk", ids[1].String())
		k.ok(err)
		k.sought(broker.ID{}, broker.Sought{From: ids[1]})
		risk, err := k.Broker.GroupInfos(k.Context(), k.stream)
		k.ok(err)
		equal(k, "the other group", risk[1].LastDelivered, ids[1])
		at, _, err := k.Broker.Floor(k.Context(), k.stream, "risk")
		k.ok(err)
		equal(k, "the other floor", at, ids[1])
	}},
}
