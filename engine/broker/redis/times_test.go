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
	const page = 10_000
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

// least is the least time, by the server's own clock, that one call of a script took
// of several: whatever else keeps a machine busy only ever adds to it.
func least(t *testing.T, s *redistest.Server, times int, call func(n int)) time.Duration {
	t.Helper()
	best := time.Duration(1<<63 - 1)
	for n := range times {
		if err := s.Client().ConfigResetStat(t.Context()).Err(); err != nil {
			t.Fatal(err)
		}
		call(n)
		var calls, micros, rejected, failed int
		var each float64
		info := s.Client().Info(t.Context(), "commandstats").Val()
		_, line, _ := strings.Cut(info, "cmdstat_evalsha:")
		const form = "calls=%d,usec=%d,usec_per_call=%f,rejected_calls=%d,failed_calls=%d"
		if _, err := fmt.Sscanf(line, form, &calls, &micros, &each, &rejected, &failed); err != nil || calls == 0 {
			t.Fatalf("no script was called: %v, %.100s", err, line)
		}
		if failed > 0 {
			continue // the server did not know the script yet
		}
		best = min(best, time.Duration(micros/calls)*time.Microsecond)
	}
	return best
}

// How long scripts block the server does not depend on how much is pending. It is
// measured beside a short pending list, on the same server and in the same run, by the
// time that the server itself says they took.
func TestScriptsTakeAsLongHoweverMuchIsPending(t *testing.T) {
	const few, many, times, batch = 10_000, 100_000, 8, 250
	// most is far more than the half millisecond or so that a script is meant to take.
	const factor, most = 5, 20 * time.Millisecond
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
			t.Parallel()
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
						now := least(t, s, times, func(n int) {
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
						if before, known := took[key]; known && now > factor*before || now > most {
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
