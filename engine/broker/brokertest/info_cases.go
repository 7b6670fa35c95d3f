package brokertest

import (
	"context"
	"errors"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

var infoCases = []testCase{
	{"of an absent stream are empty", nil, func(k *kit) {
		s, err := k.Broker.StreamInfo(k.Context(), k.stream)
		k.ok(err)
		equal(k, "stream", s, broker.StreamInfo{})
		groups, err := k.Broker.GroupInfos(k.Context(), k.stream)
		k.ok(err)
		equal(k, "groups", len(groups), 0)
	}},
	{"of a stream", nil, func(k *kit) {
		ids := k.fill(5)
		k.DeleteEntries(k.stream, ids[0], ids[4])
		s, err := k.Broker.StreamInfo(k.Context(), k.stream)
		k.ok(err)
		equal(k, "stream", s, broker.StreamInfo{Length: 3, FirstID: ids[1], LastID: ids[4], Groups: 1})
	}},
	{"of an emptied stream keep its last id", nil, func(k *kit) {
		ids := k.fill(2)
		k.DeleteEntries(k.stream, ids...)
		s, err := k.Broker.StreamInfo(k.Context(), k.stream)
		k.ok(err)
		equal(k, "stream", s, broker.StreamInfo{LastID: ids[1], Groups: 1})
		equal(k, "next id is later", ids[1].Less(k.add(k.stream, 1)[0]), true)
	}},
	{"of groups, by name", nil, func(k *kit) {
		ids := k.fill(5)
		for _, name := range []string{"zebra", "audit"} {
			_, err := k.Broker.CreateGroup(k.Context(), k.stream, name, "$")
			k.ok(err)
		}
		k.deliver("a", ids[:3])
		k.read("b", 1)
		k.ack("a", ids[0])
		groups, err := k.Broker.GroupInfos(k.Context(), k.stream)
		k.ok(err)
		var names []string
		for _, g := range groups {
			names = append(names, g.Name)
		}
		if !slices.Equal(names, []string{"audit", "ledger", "zebra"}) {
			k.Fatalf("the groups are %q", names)
		}
		g := k.info()
		g.Lag, g.LagKnown = 0, false
		equal(k, "group", g, broker.GroupInfo{Name: k.group, Consumers: 2, Pending: 3, LastDelivered: ids[3]})
		equal(k, "last delivered of a new group", groups[0].LastDelivered, ids[4])
	}},
	{"tell the lag", needs(lag), func(k *kit) {
		ids := k.fill(5)
		k.lag(5)
		k.deliver("a", ids[:3])
		k.lag(2)
		k.ack("a", ids[:3]...)
		k.lag(2)
		k.deliver("a", ids[3:])
		k.lag(0)
		k.add(k.stream, 4)
		k.lag(4)
	}},
	{"tell the lag of a group that starts at the end", needs(lag), func(k *kit) {
		k.add(k.stream, 5)
		k.create("$")
		k.lag(0)
		k.add(k.stream, 2)
		k.read("a", 1)
		k.lag(1)
	}},
	{"do not know the lag after an undelivered entry was deleted", needs(lag), func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:2])
		k.DeleteEntries(k.stream, ids[3])
		equal(k, "lag is known", k.info().LagKnown, false)
		k.came(k.read("a", 10), 0, ids[2], ids[4])
		k.lag(0)
	}},
	{"know the lag after a delivered entry was deleted", needs(lag), func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:3])
		k.DeleteEntries(k.stream, ids[1])
		k.lag(2)
	}},
	{"know the lag after a trim", needs(lag), func(k *kit) {
		ids := k.fill(5)
		k.deliver("a", ids[:3])
		k.trim(broker.TrimRequest{MinID: ids[2]})
		k.lag(2)
	}},
	{"of consumers, by name", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("z", ids[:2])
		k.read("b", 1)
		infos, err := k.Broker.ConsumerInfos(k.Context(), k.stream, k.group)
		k.ok(err)
		equal(k, "consumers", len(infos), 2)
		for i, want := range []broker.ConsumerInfo{{Name: "b", Pending: 1}, {Name: "z", Pending: 2}} {
			k.near("idle time of "+infos[i].Name, infos[i].Idle, 0)
			infos[i].Idle = 0
			equal(k, "consumer", infos[i], want)
		}
	}},
	{"tell how long a consumer has not read", nil, func(k *kit) {
		k.fill(2)
		k.read("a", 1)
		k.Advance(200 * time.Millisecond)
		infos, err := k.Broker.ConsumerInfos(k.Context(), k.stream, k.group)
		k.ok(err)
		k.near("idle", infos[0].Idle, 200*time.Millisecond)
		before := clock.Real().Now()
		k.read("a", 1)
		infos, err = k.Broker.ConsumerInfos(k.Context(), k.stream, k.group)
		k.ok(err)
		// The server counts whole milliseconds, and its clock is not that of this process.
		if passed := clock.Since(clock.Real(), before); infos[0].Idle > passed+20*time.Millisecond {
			k.Fatalf("idle for %v, %v after what came before a read", infos[0].Idle, passed)
		}
	}},
	{"of a group without consumers are empty", nil, func(k *kit) {
		k.create("0")
		infos, err := k.Broker.ConsumerInfos(k.Context(), k.stream, k.group)
		k.ok(err)
		equal(k, "consumers", len(infos), 0)
	}},
	{"change nothing", nil, func(k *kit) {
		ids := k.fill(2)
		k.info()
		k.pending()
		k.pendingOf("nobody")
		equal(k, "consumers", k.info().Consumers, 0)
		k.deliver("a", ids)
	}},
}

func (k *kit) lag(want int64) {
	k.Helper()
	g := k.info()
	if !g.LagKnown || g.Lag != want {
		k.Fatalf("the lag is %d (known: %v), want %d", g.Lag, g.LagKnown, want)
	}
}

var pendingCases = []testCase{
	{"in pages by id", nil, func(k *kit) {
		ids := k.fill(7)
		k.deliver("a", ids)
		var got []broker.ID
		for after := (broker.ID{}); ; {
			page, err := k.Broker.Pending(k.Context(), k.stream, k.group, "", after, 3)
			k.ok(err)
			if len(page) == 0 {
				break
			}
			for _, p := range page {
				got = append(got, p.ID)
			}
			after = page[len(page)-1].ID
		}
		k.same(got, ids)
	}},
	{"of one consumer", nil, func(k *kit) {
		ids := k.fill(4)
		k.deliver("a", ids[:2])
		k.deliver("b", ids[2:])
		k.takeOver("b", "a", ids[0])
		k.same(k.pendingOf("b"), []broker.ID{ids[0], ids[2], ids[3]})
		k.same(k.pendingOf("a"), ids[1:2])
		k.same(k.pendingOf("nobody"), nil)
	}},
	{"counts the current delivery", nil, func(k *kit) {
		id := k.redelivered(2)
		equal(k, "deliveries", k.pending()[id].Deliveries, 3)
	}},
	{"shows entries without a body", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.DeleteEntries(k.stream, ids[0])
		k.same(k.pendingOf("a"), ids)
	}},
	{"after the last id is empty", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		page, err := k.Broker.Pending(k.Context(), k.stream, k.group, "", broker.MaxID, 10)
		k.ok(err)
		equal(k, "entries", len(page), 0)
	}},
	{"needs a count", nil, func(k *kit) {
		k.create("0")
		_, err := k.Broker.Pending(k.Context(), k.stream, k.group, "", broker.ID{}, 0)
		k.fails(err, nil, "count")
	}},
	{"records are one for each id, in order", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids)
		k.wait(broker.Wait{ID: ids[1], Error: "e"}, broker.Done)
		records, err := k.Broker.Records(k.Context(), k.stream, k.group, []broker.ID{ids[2], ids[1], ids[1], {Ms: 5}})
		k.ok(err)
		equal(k, "records", len(records), 4)
		for i, want := range []string{"", "e", "e", ""} {
			equal(k, "error", records[i].Error, want)
		}
	}},
	{"records of a group that is not are empty", nil, func(k *kit) {
		equal(k, "record", k.record(broker.ID{Ms: 1}), broker.Record{})
		records, err := k.Broker.Records(k.Context(), k.stream, k.group, nil)
		k.ok(err)
		equal(k, "records", len(records), 0)
	}},
}

// fenced are the operations that need a group.
func (k *kit) fenced() map[string]error {
	ctx, o, ids := k.Context(), k.owner("a"), []broker.ID{{Ms: 1}}
	out := map[string]error{}
	_, out["read"] = k.Broker.Read(ctx, broker.ReadRequest{Owner: o, Count: 1})
	_, out["blocking read"] = k.Broker.Read(ctx, broker.ReadRequest{Owner: o, Count: 1, Block: time.Minute})
	if k.features.ClaimingRead {
		_, out["claiming read"] = k.Broker.Read(ctx, broker.ReadRequest{Owner: o, Count: 1, MinIdle: time.Minute})
	}
	if k.features.AutoClaim {
		_, out["autoclaim"] = k.Broker.AutoClaim(ctx, broker.AutoClaimRequest{Owner: o, MinIdle: time.Minute, Count: 1})
	}
	_, out["take over"] = k.Broker.TakeOver(ctx, o, "b", ids)
	_, out["admit"] = k.Broker.Admit(ctx, broker.AdmitRequest{
		Owner: o, MinIdle: time.Hour, MaxAttempts: 3, Entries: []broker.Redelivery{{ID: ids[0], Deliveries: 1}},
	})
	_, out["begin"] = k.Broker.Begin(ctx, o, ids)
	_, out["renew"] = k.Broker.Renew(ctx, o, ids)
	out["release"] = k.Broker.Release(ctx, o, ids, longIdle)
	_, out["steps"] = k.Broker.Settle(ctx, &broker.Settlement{Owner: o, Steps: []broker.Step{{ID: ids[0]}}})
	_, out["waits"] = k.Broker.Settle(ctx, &broker.Settlement{Owner: o, Waits: []broker.Wait{{ID: ids[0]}}})
	_, out["remove consumer"] = k.Broker.RemoveConsumer(ctx, o)
	_, out["consumers"] = k.Broker.ConsumerInfos(ctx, k.stream, k.group)
	_, out["pending"] = k.Broker.Pending(ctx, k.stream, k.group, "", broker.ID{}, 1)
	_, out["seek"] = k.Broker.Seek(ctx, broker.SeekRequest{Stream: k.stream, Group: k.group, Seen: broker.MaxID})
	out["save floor"] = k.Broker.SaveFloor(ctx, k.stream, k.group)
	return out
}

func (k *kit) allFail(kind error) {
	k.Helper()
	for name, err := range k.fenced() {
		if !errors.Is(err, kind) {
			k.Errorf("%s: the error is %v, want %v", name, err, kind)
		}
	}
}

var errorCases = []testCase{
	{"without a stream every group operation is ErrNoGroup", nil, func(k *kit) { k.allFail(broker.ErrNoGroup) }},
	{"without a group every group operation is ErrNoGroup", nil, func(k *kit) {
		k.add(k.stream, 1)
		k.allFail(broker.ErrNoGroup)
		equal(k, "entries", len(k.entries(k.stream)), 1)
	}},
	{"on a string every group operation is ErrWrongType", nil, func(k *kit) {
		k.SetString(k.stream)
		k.allFail(broker.ErrWrongType)
	}},
	{"on a string every stream operation is ErrWrongType", nil, func(k *kit) {
		k.SetString(k.stream)
		_, err := k.Broker.Add(k.Context(), []broker.Add{message(k.stream, "n", "1")})
		k.fails(err, broker.ErrWrongType, k.stream)
		_, err = k.Broker.Range(k.Context(), k.stream, broker.ID{}, broker.MaxID, 1)
		k.fails(err, broker.ErrWrongType, k.stream)
		_, err = k.Broker.StreamInfo(k.Context(), k.stream)
		k.fails(err, broker.ErrWrongType, k.stream)
		_, err = k.Broker.GroupInfos(k.Context(), k.stream)
		k.fails(err, broker.ErrWrongType, k.stream)
		_, err = k.Broker.Trim(k.Context(), broker.TrimRequest{Stream: k.stream, MaxLen: 1})
		k.fails(err, broker.ErrWrongType, k.stream)
		_, _, err = k.Broker.RestoreGroup(k.Context(), k.stream, k.group)
		k.fails(err, broker.ErrWrongType, k.stream)
		_, err = k.Broker.Settle(k.Context(), &broker.Settlement{Owner: k.owner("a"), Acks: []broker.ID{{Ms: 1}}})
		k.fails(err, broker.ErrWrongType, k.stream)
	}},
	{"acknowledging in a group that is not is no error", nil, func(k *kit) {
		k.ack("a", broker.ID{Ms: 1})
	}},
	{"say what was being done to what", nil, func(k *kit) {
		_, err := k.Broker.Read(k.Context(), broker.ReadRequest{Owner: k.owner("a"), Count: 1})
		k.fails(err, broker.ErrNoGroup, "read "+k.stream+"/"+k.group+": ")
	}},
	{"a claiming read where there is none is ErrUnsupported", nil, func(k *kit) {
		if k.features.ClaimingRead {
			k.Skipf("%s has claiming reads", k.Server)
		}
		ids := k.fill(1)
		for _, block := range []time.Duration{0, time.Minute} {
			_, err := k.Broker.Read(k.Context(), broker.ReadRequest{Owner: k.owner("a"), Count: 1, Block: block, MinIdle: time.Minute})
			k.fails(err, broker.ErrUnsupported, broker.ClaimingReadSince)
		}
		k.deliver("a", ids)
	}},
	{"a canceled context ends an operation", nil, func(k *kit) {
		ids := k.fill(1)
		k.deliver("a", ids)
		ctx, cancel := context.WithCancel(k.Context())
		cancel()
		_, err := k.Broker.Settle(ctx, &broker.Settlement{Owner: k.owner("a"), Acks: ids})
		k.fails(err, broker.ErrUnavailable)
		k.same(k.pendingOf("a"), ids)
	}},
}

var closeCases = []testCase{
	{"ends every later operation", nil, func(k *kit) {
		k.fill(1)
		k.ok(k.Broker.Close())
		k.allFail(broker.ErrClosed)
		_, err := k.Broker.Probe(k.Context())
		k.fails(err, broker.ErrClosed)
		_, err = k.Broker.Add(k.Context(), []broker.Add{message(k.stream, "n", "1")})
		k.fails(err, broker.ErrClosed)
	}},
	{"ends a blocked read", nil, func(k *kit) {
		k.create("0")
		c := k.block(k.Context(), k.blocking("a", time.Minute))
		k.ok(k.Broker.Close())
		k.fails(k.finish(c).err, broker.ErrClosed)
	}},
	{"twice is fine", nil, func(k *kit) {
		k.ok(k.Broker.Close())
		k.ok(k.Broker.Close())
	}},
}
