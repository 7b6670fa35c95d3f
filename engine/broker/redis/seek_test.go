package redis_test

import (
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

func seekTo(b *redis.Broker, t *testing.T, to broker.ID) (broker.Sought, error) {
	return b.Seek(t.Context(), broker.SeekRequest{Stream: stream, Group: group, To: to, Seen: broker.MaxID})
}

// standing is where the group is, and its floor.
func standing(t *testing.T, b *redis.Broker) (at, floor broker.ID) {
	t.Helper()
	infos, err := b.GroupInfos(t.Context(), stream)
	if err != nil || len(infos) != 1 {
		t.Fatalf("groups %+v, %v", infos, err)
	}
	floor, _, err = b.Floor(t.Context(), stream, group)
	if err != nil {
		t.Fatal(err)
	}
	return infos[0].LastDelivered, floor
}

// A worker may not move groups; who may do what the use says, may. Where a right is
// missing neither the group nor its floor is moved.
func TestSeekNeedsItsRights(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			all := open(t, s)
			ids := fill(t, all, 5)
			read(t, all, "c", 3)
			settle(t, all, &broker.Settlement{Owner: owner("c"), Acks: ids[:2]})
			if err := all.SaveFloor(t.Context(), stream, group); err != nil {
				t.Fatal(err)
			}
			rights := append(redis.Seek.Commands(), "get", "set", "hdel", "zrangebyscore", "time")
			stays := func(what string) {
				t.Helper()
				if at, floor := standing(t, all); at != ids[2] || floor != ids[2].Prev() {
					t.Errorf("%s: the group stands at %v with the floor %v, want %v and %v", what, at, floor, ids[2], ids[2].Prev())
				}
			}
			for _, to := range []broker.ID{{}, ids[4]} {
				_, err := seekTo(asWorker(t, s, "worker", redis.Rights()...), t, to)
				wantKind(t, err, broker.ErrNoPermission, "seek payments/ledger", "may not move groups", "+xgroup|setid", "a worker needs for nothing else")
				stays("a worker")
				for i, lacking := range rights {
					if lacking == "eval" || lacking == "evalsha" {
						continue // without one of them the other does
					}
					if to == ids[4] && (lacking == "zrangebyscore" || lacking == "time") {
						continue // who is alive is asked only where something is taken out
					}
					user := append(append([]string(nil), rights[:i]...), rights[i+1:]...)
					if _, err := seekTo(asWorker(t, s, "lacking", user...), t, to); err == nil {
						t.Errorf("without %s the group is moved", lacking)
					}
					stays("without " + lacking)
				}
			}
			mover := asWorker(t, s, "mover", rights...)
			if got, err := seekTo(mover, t, broker.ID{}); err != nil || got.Freed != 1 {
				t.Errorf("%+v, %v", got, err)
			}
			if at, floor := standing(t, all); !at.IsZero() || !floor.IsZero() {
				t.Errorf("the group stands at %v with the floor %v", at, floor)
			}
		})
	}
}

// A server that is full lets groups be moved: nothing has to be written that grows.
func TestSeekOnAFullServer(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			ids := fill(t, b, 4)
			read(t, b, "c", 3)
			if _, err := seekTo(b, t, ids[2]); err != nil { // the server knows the script
				t.Fatal(err)
			}
			if err := s.Client().ConfigSet(t.Context(), "maxmemory", "1").Err(); err != nil {
				t.Fatal(err)
			}
			if got, err := seekTo(b, t, ids[0]); err != nil || got.Freed != 2 {
				t.Errorf("back: %+v, %v", got, err)
			}
			if got, err := seekTo(b, t, ids[3]); err != nil || got.At != ids[3] {
				t.Errorf("forward: %+v, %v", got, err)
			}
			if at, floor := standing(t, b); at != ids[3] || floor != ids[0].Prev() {
				t.Errorf("the group stands at %v with the floor %v", at, floor)
			}
		})
	}
}

// A move over thousands of pending entries that breaks off leaves what is not
// delivered behind the group, and may be gone on with.
func TestASeekThatBreaksOffLosesNothing(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			ids := fill(t, b, 3500)
			read(t, b, "c", len(ids))
			holds := func(what string, at broker.ID) {
				t.Helper()
				pending := pendingOf(t, b)
				stands, floor := standing(t, b)
				for i, id := range ids {
					if _, waits := pending[id]; waits == stands.Less(id) {
						t.Fatalf("%s: entry %d is pending %v and behind the group %v", what, i, waits, stands.Less(id))
					}
				}
				if stands != at || floor != ids[0].Prev() {
					t.Errorf("%s: the group stands at %v with the floor %v, want %v and %v", what, stands, floor, at, ids[0].Prev())
				}
			}
			for _, stop := range []int{3099, 2099, 1099} {
				through, p := openThrough(t, s)
				word := ids[stop].String()
				p.word.Store(&word)
				_, err := seekTo(through, t, ids[99])
				wantKind(t, err, broker.ErrUnavailable)
				holds("broken off at entry "+itoa(stop), ids[stop])
			}
			if got, err := seekTo(b, t, ids[99]); err != nil || got.Freed != 1000 {
				t.Errorf("gone on with: %+v, %v", got, err)
			}
			holds("at the end", ids[99])
			if d := read(t, b, "d", len(ids)); len(d) != 3400 {
				t.Errorf("%d entries are delivered again, want 3400", len(d))
			}
		})
	}
}
