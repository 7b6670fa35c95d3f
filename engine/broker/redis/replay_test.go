package redis_test

import (
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// A replay reads its range and nothing behind it, and begins once.
func TestAReplayReadsItsRangeAndNoMore(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 6)
		r := redis.Replay{Stream: stream, Group: "again", First: ids[1], Last: ids[3], How: "s"}
		state := func(want redis.ReplayState, begin bool) {
			t.Helper()
			ask := b.LookAtReplay
			if begin {
				ask = b.BeginReplay
			}
			if got, _, err := ask(t.Context(), r); err != nil || got != want {
				t.Errorf("it is %v, want %v: %v", got, want, err)
			}
		}
		state(redis.ReplayNew, false)
		state(redis.ReplayNew, true)
		state(redis.ReplayBegun, false)
		o := broker.Owner{Stream: stream, Group: "again", Consumer: "c"}
		readTo := func(count int, want ...broker.ID) {
			t.Helper()
			d, err := b.ReadReplay(t.Context(), r, o.Consumer, count)
			if err != nil || len(d) != len(want) {
				t.Fatalf("%d came, want %d: %v", len(d), len(want), err)
			}
			for i := range d {
				if d[i].ID != want[i] || d[i].Fields[0].Name != "n" || d[i].Deliveries != 0 {
					t.Errorf("%+v, want %v", d[i], want[i])
				}
			}
		}
		readTo(2, ids[1], ids[2])
		ends := func(want bool) {
			t.Helper()
			if ended, err := b.EndReplay(t.Context(), r); err != nil || ended != want {
				t.Errorf("ended %v, %v", ended, err)
			}
		}
		ends(false)
		settle(t, b, &broker.Settlement{Owner: o, Acks: ids[1:3]})
		ends(false) // one is not read yet
		state(redis.ReplayBegun, true)
		readTo(10, ids[3])
		readTo(10)
		ends(false) // and not acknowledged
		settle(t, b, &broker.Settlement{Owner: o, Acks: ids[3:4]})
		ends(true)
		ends(true)
		state(redis.ReplayEnded, true)
		if groups, err := b.GroupInfos(t.Context(), stream); err != nil || len(groups) != 1 || groups[0].Name != group {
			t.Errorf("%+v, %v", groups, err)
		}
		if keys := s.CLI("KEYS", "*again*"); keys != "{payments}:pipeline:again:replay" {
			t.Errorf("left are %s", keys)
		}
		other := r
		other.Last = ids[4]
		if got, of, err := b.BeginReplay(t.Context(), other); err != nil || got != redis.ReplayOther || of == "" {
			t.Errorf("%v %q, %v", got, of, err)
		}
		// Whoever had not heard of the end may create the group again: it reads nothing.
		if _, err := b.CreateGroup(t.Context(), stream, "again", r.First.Prev().String()); err != nil {
			t.Fatal(err)
		}
		readTo(10)
		ends(true)
		if groups, err := b.GroupInfos(t.Context(), stream); err != nil || len(groups) != 1 {
			t.Errorf("%+v, %v", groups, err)
		}
	})
}

// A group that is no replay is not touched, nor the name of one that was lost.
func TestAReplayTakesNobodysGroup(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 2)
		s.CLI("XGROUP", "CREATE", stream, "foreign", "0")
		s.CLI("SET", "{payments}:pipeline:lost:floor", "1-1")
		for _, name := range []string{group, "foreign", "lost"} {
			r := redis.Replay{Stream: stream, Group: name, First: ids[0], Last: ids[1], How: "s"}
			if got, _, err := b.BeginReplay(t.Context(), r); err != nil || got != redis.ReplayTaken {
				t.Errorf("%s: %v, %v", name, got, err)
			}
			if ended, err := b.EndReplay(t.Context(), r); err == nil || ended {
				t.Errorf("%s was ended", name)
			}
		}
		if groups, err := b.GroupInfos(t.Context(), stream); err != nil || len(groups) != 2 {
			t.Errorf("%+v, %v", groups, err)
		}
	})
}
