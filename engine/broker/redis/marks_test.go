package redis_test

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

var marks = broker.Marks{Set: "orders", Window: time.Hour}

// markKeys are the keys of a set of marks.
func markKeys(set string) [2]string {
	return [2]string{"{payments}:pipeline:ledger:marks:" + set + ":0", "{payments}:pipeline:ledger:marks:" + set + ":1"}
}

// marking settles acknowledgements that mark a key each.
func marking(t testing.TB, b *redis.Broker, m broker.Marks, ids []broker.ID, keys ...string) []broker.StepResult {
	t.Helper()
	s := &broker.Settlement{Owner: owner("c"), Marks: m}
	for i, id := range ids {
		s.Steps = append(s.Steps, broker.Step{ID: id, Mark: keys[i]})
	}
	return settle(t, b, s).Steps
}

func statuses(t testing.TB, got []broker.StepResult, want ...broker.Status) {
	t.Helper()
	for i, r := range got {
		if r.Status != want[i] {
			t.Fatalf("step %d ended as %+v, want status %v", i, r, want[i])
		}
	}
}

// The keys are those that the package's text names, and hold what it says.
func TestMarksAreWhereTheTextSays(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 3)
		read(t, b, "c", 3)
		long := strings.Repeat("k", 65)
		statuses(t, marking(t, b, marks, ids, "7", long, "7"), broker.Done, broker.Done, broker.Duplicate)
		got := s.Client().HGetAll(t.Context(), markKeys("orders")[0]).Val()
		digest := "sha256:f39cdc2584758c99cf81c1f41d2572f54e17066afffc9d187aeafe5f7cbe2122"
		if len(got) != 3 || got[""] == "" {
			t.Fatalf("%v", got)
		}
		for key, id := range map[string]broker.ID{"7": ids[0], digest: ids[1]} {
			when, by, _ := strings.Cut(got[key], " ")
			ms, err := strconv.ParseInt(when, 10, 64)
			if at := time.UnixMilli(ms); err != nil || by != id.String() || time.Since(at).Abs() > soon {
				t.Errorf("%s holds %q in %v", key, got[key], got)
			}
		}
		if ttl := s.Client().PTTL(t.Context(), markKeys("orders")[0]).Val(); ttl > 2*marks.Window || ttl < 2*marks.Window-soon {
			t.Errorf("it expires in %v", ttl)
		}
		// A person has a key forgotten, or taken for settled.
		s.Client().HDel(t.Context(), markKeys("orders")[0], "7")
		s.Client().HSet(t.Context(), markKeys("orders")[1], "8", fmt.Sprint(time.Now().UnixMilli(), " by hand"), "9", "soon")
		found, err := b.Marked(t.Context(), broker.MarkedRequest{Stream: stream, Group: group, Marks: marks, Keys: []string{"7", "8", "9"}})
		if err != nil || found[0].Found() || !found[1].Found() || found[2].Found() {
			t.Errorf("%v, %v", found, err)
		}
	})
}

// Two hashes take turns, so that what is remembered is bounded, and what nobody
// uses any more goes by itself.
func TestMarksAreBounded(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		m := broker.Marks{Set: "turning", Window: 200 * time.Millisecond}
		const count = 60
		ids := fill(t, b, count)
		read(t, b, "c", count)
		times := make(map[string]time.Time, count)
		last, gap := time.Now(), time.Duration(0) // the longest time between two writes
		for i, id := range ids {
			key := fmt.Sprint("k", i)
			statuses(t, marking(t, b, m, []broker.ID{id}, key), broker.Done)
			times[key] = time.Now()
			last, gap = times[key], max(gap, time.Since(last))
			time.Sleep(20 * time.Millisecond)
			for n, hash := range markKeys("turning") {
				for key := range s.Client().HGetAll(t.Context(), hash).Val() {
					// A window in which it is written to, one in which the other is, and each time the next write.
					if bound := 2*m.Window + 3*max(gap, time.Since(last)); key != "" && time.Since(times[key]) > bound {
						t.Fatalf("hash %d still holds %s after %v", n, key, time.Since(times[key]))
					}
				}
			}
		}
		time.Sleep(2*m.Window + 50*time.Millisecond)
		if n := s.Client().Exists(t.Context(), markKeys("turning")[0], markKeys("turning")[1]).Val(); n != 0 {
			t.Errorf("%d of the hashes outlive two windows without use", n)
		}
	})
}

// A clock that goes back forgets nothing: a hash that was begun in the future is
// not emptied.
func TestMarksOutliveAClockThatGoesBack(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 3)
		read(t, b, "c", 3)
		future := time.Now().Add(10 * time.Hour).UnixMilli()
		s.Client().HSet(t.Context(), markKeys("orders")[0], "", future, "a", fmt.Sprint(future, " ", ids[2]))
		s.Client().HSet(t.Context(), markKeys("orders")[1], "", future-marks.Window.Milliseconds(), "b", fmt.Sprint(future-1, " ", ids[2]))
		statuses(t, marking(t, b, marks, ids, "a", "c", "b"), broker.Duplicate, broker.Done, broker.Duplicate)
		if n := s.Client().HLen(t.Context(), markKeys("orders")[1]).Val(); n != 2 {
			t.Errorf("%d fields are left", n)
		}
	})
}

// A full server refuses marks; what is not marked is not acknowledged. A
// duplicate needs no memory.
func TestAFullServerRefusesMarks(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			ids := fill(t, b, 5)
			read(t, b, "c", 5)
			statuses(t, marking(t, b, marks, ids[:1], "a"), broker.Done)
			s.Client().ConfigSet(t.Context(), "maxmemory", "1")
			r := marking(t, b, marks, ids[1:4], "b", "a", "b")
			statuses(t, r, broker.Refused, broker.Duplicate, broker.Refused)
			wantKind(t, r[0].Err, broker.ErrOutOfMemory)
			reply := broker.Step{ID: ids[4], Mark: "c", Publish: []broker.Add{message(replies, field("n", "1"))}}
			statuses(t, settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{reply}, Marks: marks}).Steps, broker.Refused)
			if left := pendingOf(t, b); len(left) != 3 {
				t.Errorf("pending: %v", left)
			}
			s.Client().ConfigSet(t.Context(), "maxmemory", "0")
			statuses(t, marking(t, b, marks, []broker.ID{ids[1], ids[3]}, "b", "b"), broker.Done, broker.Duplicate)
			statuses(t, settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{reply}, Marks: marks}).Steps, broker.Done)
			if n := lengthOf(t, b, replies); n != 1 {
				t.Errorf("%d replies", n)
			}
		})
	}
}

// A key of another type in the way is named, and nothing is written.
func TestMarksInAKeyOfAnotherType(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 2)
		read(t, b, "c", 2)
		s.Client().Set(t.Context(), markKeys("orders")[1], "x", 0)
		step := broker.Step{ID: ids[0], Mark: "k", Publish: []broker.Add{message(replies, field("n", "1"))}}
		r := settle(t, b, &broker.Settlement{Owner: owner("c"), Steps: []broker.Step{step, {ID: ids[1]}}, Marks: marks}).Steps
		statuses(t, r, broker.Refused, broker.Done)
		wantKind(t, r[0].Err, broker.ErrWrongType, markKeys("orders")[1], "string", "hash")
		if n := lengthOf(t, b, replies); n != 0 {
			t.Errorf("%d replies", n)
		}
		_, err := b.Marked(t.Context(), broker.MarkedRequest{Stream: stream, Group: group, Marks: marks, Keys: []string{"k"}})
		wantKind(t, err, broker.ErrWrongType, markKeys("orders")[1])
	})
}

// A login with the rights of a worker and those of marks may mark; without one of
// them nothing is published and nothing acknowledged.
func TestRightsToMark(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			admin := open(t, s)
			ids := fill(t, admin, 10)
			read(t, admin, "c", 10)
			all := map[string]bool{}
			for _, command := range append(redis.Rights(), redis.Marks.Commands()...) {
				all[command] = true
			}
			m := broker.Marks{Set: "orders", Window: 50 * time.Millisecond}
			try := func(b *redis.Broker, i int) (broker.SettleResult, error) {
				publish := []broker.Add{message(replies, field("n", "1"))}
				return b.Settle(t.Context(), &broker.Settlement{
					Owner: owner("c"), Marks: m, Steps: []broker.Step{{ID: ids[i], Mark: fmt.Sprint(i), Publish: publish}},
				})
			}
			for i, lacking := range []string{"unlink", "hset", "hmget", "hget", "pexpire"} {
				commands := maps.Clone(all)
				delete(commands, lacking)
				b := asWorker(t, s, "without-"+lacking, slices.Sorted(maps.Keys(commands))...)
				_, err := try(b, i)
				wantKind(t, err, broker.ErrNoPermission, lacking)
			}
			if left := pendingOf(t, admin); len(left) != 10 || lengthOf(t, admin, replies) != 0 {
				t.Fatalf("pending: %v", left)
			}
			b := asWorker(t, s, "worker", slices.Sorted(maps.Keys(all))...)
			for i := range 4 { // longer than a turn of the hashes
				r, err := try(b, i)
				if err != nil {
					t.Fatal(err)
				}
				statuses(t, r.Steps, broker.Done)
				time.Sleep(m.Window)
			}
			if _, err := b.Marked(t.Context(), broker.MarkedRequest{Stream: stream, Group: group, Marks: m, Keys: []string{"0"}}); err != nil {
				t.Error(err)
			}
		})
	}
}

// A settlement of more than a script takes is cut, and keys are found across the
// cuts.
func TestMarksAcrossScripts(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		ids := fill(t, b, 1200)
		read(t, b, "c", 1200)
		st := &broker.Settlement{Owner: owner("c"), Marks: marks}
		for i, id := range ids {
			step := broker.Step{ID: id, Publish: []broker.Add{message(replies, field("n", strings.Repeat("x", i%7*300)))}}
			if i%3 > 0 {
				step.Mark = fmt.Sprint("k", i%600)
			}
			st.Steps = append(st.Steps, step)
		}
		for i, r := range settle(t, b, st).Steps {
			want := broker.Done
			if i >= 600 && i%3 > 0 {
				want = broker.Duplicate
			}
			if r.Status != want || want == broker.Duplicate && r.Mark.By != ids[i-600] {
				t.Fatalf("step %d: %+v", i, r)
			}
		}
		if n := lengthOf(t, b, replies); n != 800 {
			t.Errorf("%d replies", n)
		}
	})
}
