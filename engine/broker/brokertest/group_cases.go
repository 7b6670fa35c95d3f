package brokertest

import (
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
)

var probeCases = []testCase{
	{"names the software and its version", nil, func(k *kit) {
		s, err := k.Broker.Probe(k.Context())
		k.ok(err)
		if s.Software == "" || s.Version == "" || s.Version[0] < '0' || s.Version[0] > '9' {
			k.Fatalf("the server is %+v", s)
		}
	}},
	{"finds features that build on each other", nil, func(k *kit) {
		if f := k.features; f.ClaimingRead && !f.AutoClaim || f.DeletedIDs && !f.AutoClaim {
			k.Fatalf("the features contradict each other: %+v", f)
		}
	}},
	{"changes nothing", nil, func(k *kit) {
		_, err := k.Broker.Probe(k.Context())
		k.ok(err)
		info, err := k.Broker.StreamInfo(k.Context(), "pipeline:probe")
		k.ok(err)
		equal(k, "the stream of the trials", info, broker.StreamInfo{})
	}},
}

var createCases = []testCase{
	{"makes the stream", nil, func(k *kit) {
		equal(k, "created", k.create("0"), true)
		info, err := k.Broker.StreamInfo(k.Context(), k.stream)
		k.ok(err)
		equal(k, "stream", info, broker.StreamInfo{Groups: 1})
	}},
	{"starts at the beginning with 0", nil, func(k *kit) {
		ids := k.add(k.stream, 3)
		k.create("0")
		k.deliver("a", ids)
	}},
	{"starts behind the last entry with $", nil, func(k *kit) {
		old := k.add(k.stream, 2)
		k.create("$")
		equal(k, "last delivered", k.info().LastDelivered, old[1])
		k.came(k.read("a", 10), 0)
		k.came(k.read("a", 10), 0)
		k.deliver("a", k.add(k.stream, 2))
	}},
	{"starts behind an id", nil, func(k *kit) {
		ids := k.add(k.stream, 4)
		k.create(ids[1].String())
		k.deliver("a", ids[2:])
	}},
	{"on an absent stream, $ is the beginning", nil, func(k *kit) {
		k.create("$")
		k.deliver("a", k.add(k.stream, 2))
	}},
	{"leaves a group that exists as it is", nil, func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids[:2])
		for _, start := range []string{"0", "$", ids[3].String()} {
			equal(k, "created again at "+start, k.create(start), false)
		}
		equal(k, "last delivered", k.info().LastDelivered, ids[1])
		equal(k, "pending", k.info().Pending, 2)
		k.deliver("a", ids[2:])
	}},
	{"keeps groups of one stream apart", nil, func(k *kit) {
		ids := k.fill(3)
		_, err := k.Broker.CreateGroup(k.Context(), k.stream, "risk", "0")
		k.ok(err)
		k.deliver("a", ids)
		k.ack("a", ids...)
		other := broker.Owner{Stream: k.stream, Group: "risk", Consumer: "a"}
		k.came(k.request(broker.ReadRequest{Owner: other, Count: 10}), 0, ids...)
	}},
	{"creates once for twenty at a time", nil, func(k *kit) {
		var created atomic.Int32
		var wg sync.WaitGroup
		for range 20 {
			wg.Go(func() {
				if ok, err := k.Broker.CreateGroup(k.Context(), k.stream, k.group, "0"); err != nil {
					k.Error(err)
				} else if ok {
					created.Add(1)
				}
			})
		}
		wg.Wait()
		equal(k, "created", created.Load(), 1)
	}},
	{"refuses a start that is no id", nil, func(k *kit) {
		for _, start := range []string{"", "new", "-", "1-2-3"} {
			_, err := k.Broker.CreateGroup(k.Context(), k.stream, k.group, start)
			k.fails(err, nil, k.stream+"/"+k.group)
		}
	}},
	{"refuses a key of another type", nil, func(k *kit) {
		k.SetString(k.stream)
		_, err := k.Broker.CreateGroup(k.Context(), k.stream, k.group, "0")
		k.fails(err, broker.ErrWrongType, k.stream)
	}},
	{"creates a lost group at its floor, not at its start", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids[:1])
		k.ack("a", ids[0])
		k.ok(k.Broker.SaveFloor(k.Context(), k.stream, k.group))
		k.DestroyGroup(k.stream, k.group)
		equal(k, "created", k.create("$"), true)
		k.deliver("a", ids[1:])
	}},
}

// restore recreates the group and asserts where.
func (k *kit) restore(want broker.ID) {
	k.Helper()
	at, restored, err := k.Broker.RestoreGroup(k.Context(), k.stream, k.group)
	k.ok(err)
	equal(k, "restored", restored, true)
	equal(k, "restored at", at, want)
	k.floor(want)
	equal(k, "last delivered", k.info().LastDelivered, want)
}

// floor asserts what was written down.
func (k *kit) floor(want broker.ID) {
	k.Helper()
	at, found, err := k.Broker.Floor(k.Context(), k.stream, k.group)
	k.ok(err)
	equal(k, "a floor is written down", found, true)
	equal(k, "the floor", at, want)
}

func (k *kit) saveFloor() {
	k.Helper()
	k.ok(k.Broker.SaveFloor(k.Context(), k.stream, k.group))
}

var floorCases = []testCase{
	{"a group that was created has one", nil, func(k *kit) {
		old := k.add(k.stream, 2)
		k.create("$")
		added := k.add(k.stream, 2)
		k.DestroyGroup(k.stream, k.group)
		k.restore(old[1])
		k.deliver("a", added)
	}},
	{"is the id before the oldest pending entry", nil, func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:4])
		k.ack("a", ids[0], ids[2])
		k.saveFloor()
		k.DestroyGroup(k.stream, k.group)
		k.restore(ids[1].Prev())
		k.deliver("b", ids[1:])
	}},
	{"is the last delivered id where nothing is pending", nil, func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:3])
		k.ack("a", ids[:3]...)
		k.saveFloor()
		k.DestroyGroup(k.stream, k.group)
		k.restore(ids[2])
		k.deliver("b", ids[3:])
	}},
	{"is told with neither group nor stream there", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.ack("a", ids[0])
		k.saveFloor()
		k.floor(ids[1].Prev())
		k.DestroyGroup(k.stream, k.group)
		k.floor(ids[1].Prev())
		k.Delete(k.stream)
		k.floor(ids[1].Prev())
	}},
	{"is not told where none was written down", nil, func(k *kit) {
		k.add(k.stream, 2)
		for _, stream := range []string{k.stream, k.stream + ":absent"} {
			at, found, err := k.Broker.Floor(k.Context(), stream, k.group)
			k.ok(err)
			if found || !at.IsZero() {
				k.Fatalf("floor of %s is %v, %v", stream, at, found)
			}
		}
	}},
	{"moves forward with every save", nil, func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids[:3])
		for i := range 3 {
			k.saveFloor()
			k.ack("a", ids[i])
		}
		k.saveFloor()
		k.saveFloor()
		k.DestroyGroup(k.stream, k.group)
		k.restore(ids[2])
	}},
	{"without one, the beginning", nil, func(k *kit) {
		ids := k.add(k.stream, 2)
		k.restore(broker.ID{})
		k.deliver("a", ids)
	}},
	{"without a stream, the beginning", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.ack("a", ids...)
		k.saveFloor()
		k.Delete(k.stream)
		k.restore(broker.ID{})
		k.deliver("a", k.add(k.stream, 2))
	}},
	{"beyond the stream's last id, the beginning", nil, func(k *kit) {
		k.create("99999999999999-0")
		k.Delete(k.stream)
		ids := k.add(k.stream, 3)
		k.restore(broker.ID{})
		k.deliver("a", ids)
	}},
	{"entries added between loss and recovery are read", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.ack("a", ids...)
		k.saveFloor()
		k.Delete(k.stream)
		k.Advance(2 * time.Millisecond) // a new stream begins its ids anew, at the clock
		added := k.add(k.stream, 3)
		_, restored, err := k.Broker.RestoreGroup(k.Context(), k.stream, k.group)
		k.ok(err)
		equal(k, "restored", restored, true)
		k.deliver("a", added)
	}},
	{"a group that exists is left alone", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids[:2])
		_, restored, err := k.Broker.RestoreGroup(k.Context(), k.stream, k.group)
		k.ok(err)
		equal(k, "restored", restored, false)
		k.deliver("a", ids[2:])
	}},
	{"belongs to its group alone", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.ack("a", ids...)
		k.saveFloor()
		at, restored, err := k.Broker.RestoreGroup(k.Context(), k.stream, k.group+":floor")
		k.ok(err)
		if !restored || !at.IsZero() {
			k.Fatalf("another group was restored: %v, at %v", restored, at)
		}
	}},
	{"saving drops records of entries that are settled", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		for _, id := range ids {
			k.wait(broker.Wait{ID: id, Error: "later"}, broker.Done)
		}
		k.ack("a", ids[0])
		k.saveFloor()
		equal(k, "record of the settled entry", k.record(ids[0]), broker.Record{})
		equal(k, "error of the pending entry", k.record(ids[1]).Error, "later")
	}},
}
