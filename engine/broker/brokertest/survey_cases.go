package brokertest

import (
	"context"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

var surveyCases = []testCase{
	{"of nothing", nil, func(k *kit) {
		s := k.survey()
		equal(k, "streams", len(s.Streams), 0)
		k.near("time", s.Time.Sub(k.now()), -slack)
	}},
	{"of an absent stream", nil, func(k *kit) {
		s := k.survey(broker.Ask{Stream: k.stream, Groups: []string{k.group}}).Streams[0]
		k.ok(s.Err)
		equal(k, "stream", s.StreamInfo, broker.StreamInfo{})
		equal(k, "groups of the server", len(s.All), 0)
		equal(k, "group", s.Groups[0].Name, k.group)
		k.fails(s.Groups[0].Err, broker.ErrNoGroup, k.stream, k.group)
	}},
	{"finds what single questions find", nil, func(k *kit) {
		ids := k.fill(6)
		_, err := k.Broker.CreateGroup(k.Context(), k.stream, "audit", "$")
		k.ok(err)
		k.deliver("a", ids[:2])
		k.deliver("b", ids[2:4])
		k.ack("a", ids[0])
		s := k.survey(broker.Ask{Stream: k.stream, Groups: []string{"none", k.group}}).Streams[0]
		k.ok(s.Err)
		equal(k, "stream", s.StreamInfo, broker.StreamInfo{Length: 6, FirstID: ids[0], LastID: ids[5], Groups: 2})
		equal(k, "groups of the server", len(s.All), 2)
		equal(k, "one of them", s.All[0].Name, "audit")
		equal(k, "the other", s.All[1], k.info())
		k.fails(s.Groups[0].Err, broker.ErrNoGroup, "none")
		g := s.Groups[1]
		k.ok(g.Err)
		equal(k, "group", g.GroupInfo, k.info())
		equal(k, "consumers", len(g.Consumers), 2)
		for i, want := range []broker.ConsumerInfo{{Name: "a", Pending: 1}, {Name: "b", Pending: 2}} {
			k.near("idle", g.Consumers[i].Idle, 0)
			g.Consumers[i].Idle = 0
			equal(k, "consumer", g.Consumers[i], want)
		}
		equal(k, "oldest pending", g.OldestPending, ids[1])
		equal(k, "the first pending", len(g.Oldest), 3)
		for i := range g.Oldest {
			k.near("idle", g.Oldest[i].Idle, 0)
			g.Oldest[i].Idle = 0
		}
		for i, want := range []broker.Pending{
			{ID: ids[1], Consumer: "a", Deliveries: 1}, {ID: ids[2], Consumer: "b", Deliveries: 1}, {ID: ids[3], Consumer: "b", Deliveries: 1},
		} {
			equal(k, "pending", g.Oldest[i], want)
		}
		equal(k, "oldest undelivered", g.OldestUndelivered, ids[4])
		equal(k, "trim gap", g.TrimGap, 0)
	}},
	{"counts what was added and read", needs(lag), func(k *kit) {
		ids := k.fill(6)
		k.deliver("a", ids[:4])
		k.DeleteEntries(k.stream, ids[0])
		s := k.survey(broker.Ask{Stream: k.stream, Groups: []string{k.group}}).Streams[0]
		equal(k, "added", s.Added, 6)
		equal(k, "read", s.Groups[0].Read, 4)
	}},
	{"tells the oldest undelivered where the lag is not known", nil, func(k *kit) {
		ids := k.fill(6)
		k.deliver("a", ids[:2])
		k.DeleteEntries(k.stream, ids[2], ids[4])
		g := k.group1()
		equal(k, "lag is known", g.LagKnown, false)
		equal(k, "oldest undelivered", g.OldestUndelivered, ids[3])
	}},
	{"of a group that has read all", nil, func(k *kit) {
		ids := k.fill(2)
		k.deliver("a", ids)
		k.ack("a", ids...)
		g := k.group1()
		equal(k, "oldest undelivered", g.OldestUndelivered, broker.ID{})
		equal(k, "oldest pending", g.OldestPending, broker.ID{})
		equal(k, "pending", g.Pending, 0)
	}},
	{"of a group that was passed by a trim", nil, func(k *kit) {
		ids := k.fill(6)
		k.deliver("a", ids[:3])
		k.trim(broker.TrimRequest{MinID: ids[4]})
		g := k.group1()
		equal(k, "oldest undelivered", g.OldestUndelivered, ids[4])
		equal(k, "trim gap", g.TrimGap, 3)
	}},
	{"counts what was trimmed of the pending", nil, func(k *kit) {
		ids := k.fill(6)
		k.deliver("a", ids)
		k.ack("a", ids[1])
		k.trim(broker.TrimRequest{MinID: ids[4]})
		equal(k, "trim gap", k.group1().TrimGap, 3)
		k.trim(broker.TrimRequest{MinID: ids[5].Next()})
		g := k.group1()
		equal(k, "trim gap of an emptied stream", g.TrimGap, 5)
		equal(k, "oldest undelivered", g.OldestUndelivered, broker.ID{})
	}},
	{"counts no further than it says", nil, func(k *kit) {
		ids := k.fill(broker.MaxTrimGap + 5)
		k.deliver("a", ids)
		k.trim(broker.TrimRequest{MinID: ids[len(ids)-1]})
		equal(k, "trim gap", k.group1().TrimGap, broker.MaxTrimGap)
	}},
	{"of many, one of which is no stream", nil, func(k *kit) {
		k.fill(1)
		k.SetString(k.key("text"))
		s := k.survey(
			broker.Ask{Stream: k.key("text"), Groups: []string{"x"}},
			broker.Ask{Stream: k.stream, Groups: []string{k.group}},
			broker.Ask{Stream: k.key("none")},
		)
		k.fails(s.Streams[0].Err, broker.ErrWrongType, k.key("text"))
		k.fails(s.Streams[0].Groups[0].Err, broker.ErrWrongType)
		k.ok(s.Streams[1].Err)
		equal(k, "length", s.Streams[1].Length, 1)
		k.ok(s.Streams[1].Groups[0].Err)
		k.ok(s.Streams[2].Err)
	}},
	{"of more than one trip brings", nil, func(k *kit) {
		const n = 150
		ids := k.fill(n)
		asks := make([]broker.Ask, n)
		for i := range asks {
			asks[i] = broker.Ask{Stream: k.stream, Groups: []string{k.group}}
		}
		k.deliver("a", ids[:1])
		for _, s := range k.survey(asks...).Streams {
			equal(k, "length", s.Length, n)
			equal(k, "oldest undelivered", s.Groups[0].OldestUndelivered, ids[1])
		}
	}},
	{"tells ages by the clock that gave the ids", nil, func(k *kit) {
		k.fill(1)
		// Where the time is a clock's, real time that passed before is in the id.
		passed := clock.Since(clock.Real(), k.began)
		k.Advance(200 * time.Millisecond)
		s := k.survey(broker.Ask{Stream: k.stream})
		added := time.UnixMilli(int64(s.Streams[0].FirstID.Ms))
		k.near("age", s.Time.Sub(added), 190*time.Millisecond-passed)
	}},
	{"changes nothing", nil, func(k *kit) {
		ids := k.fill(3)
		k.deliver("a", ids[:1])
		before := k.pending()[ids[0]].Deliveries
		k.group1()
		equal(k, "deliveries", k.pending()[ids[0]].Deliveries, before)
		k.deliver("b", ids[1:])
	}},
	{"of a server that is gone", nil, func(k *kit) {
		k.ok(k.Broker.Close())
		_, err := k.Broker.Survey(context.Background(), []broker.Ask{{Stream: k.stream, Groups: []string{k.group}}})
		k.fails(err, broker.ErrClosed)
	}},
}

func (k *kit) survey(asks ...broker.Ask) broker.Survey {
	k.Helper()
	s, err := k.Broker.Survey(k.Context(), asks)
	k.ok(err)
	equal(k, "streams", len(s.Streams), len(asks))
	return s
}

// group1 is what a survey tells of the case's own group.
func (k *kit) group1() broker.GroupSurvey {
	k.Helper()
	g := k.survey(broker.Ask{Stream: k.stream, Groups: []string{k.group}}).Streams[0].Groups[0]
	k.ok(g.Err)
	return g
}

// now is the server's time, as well as this machine knows it.
func (k *kit) now() time.Time {
	if k.Now != nil {
		return k.Now()
	}
	return clock.Real().Now()
}
