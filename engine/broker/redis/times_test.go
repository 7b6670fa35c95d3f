package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// pile adds n entries to the stream and has them pending under a consumer.
func pile(t *testing.T, b *redis.Broker, n int) []broker.ID {
	t.Helper()
	const page = 2000
	var ids []broker.ID
	for len(ids) < n {
		count := min(page, n-len(ids))
		ids = append(ids, fill(t, b, count)...)
		if got := len(read(t, b, "c", count)); got != count {
			t.Fatalf("read %d of %d", got, count)
		}
	}
	return ids
}

// cost is the processor time that the server's own thread spends on each of several
// calls: however busy the machine is with something else, it stays the same.
func cost(t *testing.T, s *redistest.Server, times int, call func(n int)) time.Duration {
	t.Helper()
	before := spent(t, s)
	for n := range times {
		call(n)
	}
	return (spent(t, s) - before) / time.Duration(times)
}

// spent is the processor time of the server's main thread so far.
func spent(t *testing.T, s *redistest.Server) (sum time.Duration) {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "cpu").Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"used_cpu_sys_main_thread:", "used_cpu_user_main_thread:"} {
		_, line, _ := strings.Cut(info, name)
		var seconds float64
		if _, err := fmt.Sscan(line, &seconds); err != nil {
			t.Fatalf("%s %v", name, err)
		}
		sum += time.Duration(seconds * float64(time.Second))
	}
	return sum
}

// How long scripts block the server does not depend on how much is pending. It is
// measured beside a short pending list, on the same server and in the same run, by the
// processor time that the server says it has spent.
func TestScriptsTakeAsLongHoweverMuchIsPending(t *testing.T) {
	const few, many, times, batch = 10_000, 100_000, 8, 250
	const factor = 4
	scripts := []struct {
		name string
		// do settles or renews a batch.
		do func(t *testing.T, b *redis.Broker, ids []broker.ID)
	}{
		{"replies", func(t *testing.T, b *redis.Broker, ids []broker.ID) {
			set := &broker.Settlement{Owner: owner("c")}
			for _, id := range ids {
				set.Steps = append(set.Steps, reply(id))
			}
			if r := settle(t, b, set).Steps; r[0].Status != broker.Done || r[len(r)-1].Status != broker.Done {
				t.Fatalf("%+v", r[0])
			}
		}},
		{"waits", func(t *testing.T, b *redis.Broker, ids []broker.ID) {
			set := &broker.Settlement{Owner: owner("c")}
			for _, id := range ids {
				set.Waits = append(set.Waits, broker.Wait{ID: id, Error: "later"})
			}
			if r := settle(t, b, set).Waits; r[0] != broker.Done || r[len(r)-1] != broker.Done {
				t.Fatalf("%+v", r[0])
			}
		}},
		{"renewals", func(t *testing.T, b *redis.Broker, ids []broker.ID) {
			if held, err := b.Renew(t.Context(), owner("c"), ids); err != nil || held[0] != broker.Held || held[len(held)-1] != broker.Held {
				t.Fatalf("%v, %v", held, err)
			}
		}},
	}
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			s := redistest.Start(t, version)
			b := open(t, s)
			took := map[string]time.Duration{}
			for _, pending := range []int{few, many} {
				if err := s.Client().FlushDB(t.Context()).Err(); err != nil {
					t.Fatal(err)
				}
				ids := pile(t, b, pending)
				for _, script := range slices.Backward(scripts) { // replies last: they leave less pending
					for _, how := range []string{"in a row", "scattered"} {
						// Those of each call are others than before: they are taken from the front.
						step := 1
						if how == "scattered" {
							step = len(ids) / (times * batch)
						}
						key := script.name + " " + how
						now := cost(t, s, times, func(n int) {
							var some []broker.ID
							for i := range batch {
								// Scattered ones of one call lie over the whole list.
								at := (n*batch + i) * step
								if how == "scattered" {
									at = (i*times + n) * step
								}
								some = append(some, ids[at])
							}
							script.do(t, b, some)
						})
						t.Logf("%s, %d pending: %v", key, pending, now)
						if before, known := took[key]; known && now > factor*before {
							t.Errorf("%s take %v with %d pending and %v with %d", key, now, pending, before, few)
						}
						took[key] = now
						if script.name == "replies" {
							ids = stillPending(t, b, ids)
						}
					}
				}
			}
		})
	}
}

// stillPending are those of the ids that are.
func stillPending(t *testing.T, b *redis.Broker, ids []broker.ID) []broker.ID {
	t.Helper()
	left := pendingOf(t, b)
	return slices.DeleteFunc(ids, func(id broker.ID) bool {
		_, pending := left[id]
		return !pending
	})
}
