package redis_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// callsOn is how often a server was given a command, by scripts too.
func callsOn(t *testing.T, s *redistest.Server, name string) (n int) {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "commandstats").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, line, found := strings.Cut(info, "cmdstat_"+name+":calls=")
	if !found {
		return 0
	}
	if _, err := fmt.Sscan(line[:strings.IndexByte(line, ',')], &n); err != nil {
		t.Fatal(err)
	}
	return n
}

// fate is what is known of an entry to the consumer that settles it.
type fate int

const (
	mine fate = iota
	theirs
	acknowledged
	undelivered
)

// scatter adds as many entries as there are fates and gives each its own: those that
// are undelivered have to be the last.
func scatter(t *testing.T, b *redis.Broker, all []fate) []broker.ID {
	t.Helper()
	ids := fill(t, b, len(all))
	delivered := len(all)
	for delivered > 0 && all[delivered-1] == undelivered {
		delivered--
	}
	read(t, b, "c", max(1, delivered))
	var taken, acked []broker.ID
	for i, f := range all {
		switch f {
		case theirs:
			taken = append(taken, ids[i])
		case acknowledged:
			acked = append(acked, ids[i])
		}
	}
	if got, err := b.TakeOver(t.Context(), owner("d"), "c", taken); err != nil || len(got.Deliveries) != len(taken) {
		t.Fatalf("took over %d of %d: %v", len(got.Deliveries), len(taken), err)
	}
	settle(t, b, &broker.Settlement{Owner: owner("c"), Acks: acked})
	return ids
}

// fencing is a way to settle a batch: it says of each entry whether it was done.
type fencing struct {
	name string
	do   func(t *testing.T, b *redis.Broker, ids []broker.ID) []bool
}

var fencings = []fencing{
	{"replies", func(t *testing.T, b *redis.Broker, ids []broker.ID) []bool {
		set := &broker.Settlement{Owner: owner("c")}
		for _, id := range ids {
			set.Steps = append(set.Steps, reply(id))
		}
		var done []bool
		for _, r := range settle(t, b, set).Steps {
			done = append(done, r.Status == broker.Done)
		}
		return done
	}},
	{"waits", func(t *testing.T, b *redis.Broker, ids []broker.ID) []bool {
		set := &broker.Settlement{Owner: owner("c")}
		for _, id := range ids {
			set.Waits = append(set.Waits, broker.Wait{ID: id})
		}
		var done []bool
		for _, status := range settle(t, b, set).Waits {
			done = append(done, status == broker.Done)
		}
		return done
	}},
	{"renewals", func(t *testing.T, b *redis.Broker, ids []broker.ID) []bool {
		held, err := b.Renew(t.Context(), owner("c"), ids)
		if err != nil {
			t.Fatal(err)
		}
		var done []bool
		for _, h := range held {
			done = append(done, h == broker.Held)
		}
		return done
	}},
}

// A script sees by one page of the pending list what it owns, and asks about single
// entries only where that page was full: then it may not reach far enough.
func TestOneLookAtThePendingListFencesABatch(t *testing.T) {
	run := func(f fate, n int) []fate { return slices.Repeat([]fate{f}, n) }
	// every is each n-th place from first on.
	every := func(first, n, count int) (places []int) {
		for i := range count {
			places = append(places, first+i*n)
		}
		return places
	}
	for _, c := range []struct {
		name  string
		all   []fate
		batch []int
		// looks is how many there are in all, waits how many in the smaller scripts of waits.
		looks, waits int
	}{
		{"nothing but the batch", run(mine, 250), every(0, 1, 250), 1, 3},
		{"of which others have some", slices.Concat(run(theirs, 50), run(mine, 150), run(theirs, 50)), every(0, 1, 250), 1, 3},
		{"of which nothing is owned", slices.Concat(run(theirs, 50), run(acknowledged, 50), run(undelivered, 50)), every(0, 1, 150), 1, 2},
		{"others before, between and behind", slices.Repeat([]fate{theirs, mine, theirs}, 300), every(1, 3, 250), 1, 3},
		{"acknowledged ones between", slices.Repeat([]fate{mine, acknowledged}, 300), every(0, 2, 250), 1, 3},
		{"own ones before and behind", run(mine, 1000), every(300, 1, 250), 1, 3},
		// The page of 250 holds every second of the first 250 places of the range.
		{"own ones between", run(mine, 600), every(0, 2, 250), 1 + 125, 3 + 125},
		{"a few far from each other", run(mine, 1000), []int{0, 400, 999}, 1 + 2, 1 + 2},
		{"own ones between, others have the batch", slices.Repeat([]fate{theirs, mine}, 300), every(0, 2, 250), 1, 3},
		{"own ones between, others have the batch of half", slices.Concat(slices.Repeat([]fate{theirs, mine}, 300), run(mine, 300), run(theirs, 10)), append(every(0, 2, 125), every(785, 1, 125)...), 1 + 250, 3 + 100},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, version := range redistest.Versions {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					s := redistest.Start(t, version)
					b := open(t, s)
					all := scatter(t, b, c.all)
					var ids []broker.ID
					for _, place := range c.batch {
						ids = append(ids, all[place])
					}
					for _, f := range slices.Backward(fencings) { // replies last: they change who owns what
						before := callsOn(t, s, "xpending")
						done := f.do(t, b, ids)
						looks := callsOn(t, s, "xpending") - before
						for i, place := range c.batch {
							if want := c.all[place] == mine; done[i] != want {
								t.Fatalf("%s: entry %d is done: %v, want %v", f.name, place, done[i], want)
							}
						}
						want := c.looks
						if f.name == "waits" {
							want = c.waits
						}
						if looks != want {
							t.Errorf("%s: %d looks at the pending list, want %d", f.name, looks, want)
						}
					}
				})
			}
		})
	}
}

// Of any mixture of entries, exactly those that are owned are settled, and what is
// published of others is nothing.
func TestAnyBatchIsFencedExactly(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		const rounds = 12
		seed := rand.Uint64()
		t.Logf("seed %d", seed)
		random := rand.New(rand.NewPCG(seed, 0))
		for round := range rounds {
			s.Client().Del(t.Context(), stream, replies)
			all := make([]fate, 200+random.IntN(1500))
			odds := random.IntN(10) // how many of ten are owned
			for i := range all {
				if all[i] = mine; random.IntN(10) >= odds {
					all[i] = fate(random.IntN(int(undelivered)))
				}
			}
			for i := range random.IntN(100) {
				all[len(all)-1-i] = undelivered
			}
			ids := scatter(t, b, all)
			part := 1 + random.IntN(10)
			f := fencings[round%len(fencings)]
			var places []int
			var batch []broker.ID
			for i, id := range ids {
				if random.IntN(part) == 0 {
					places, batch = append(places, i), append(batch, id)
				}
			}
			owned := 0
			for i, done := range f.do(t, b, batch) {
				want := all[places[i]] == mine
				if done != want {
					t.Fatalf("%s: entry %d of %d is done: %v, want %v", f.name, places[i], len(all), done, want)
				}
				if want {
					owned++
				}
			}
			left := pendingOf(t, b)
			for i, id := range ids {
				p, pending := left[id]
				settled := f.name == "replies" && slices.Contains(places, i)
				if want := all[i] == mine && !settled || all[i] == theirs; pending != want || pending && (p.Consumer == "c") != (all[i] == mine) {
					t.Fatalf("%s: entry %d of fate %d is pending: %v under %q", f.name, i, all[i], pending, p.Consumer)
				}
			}
			if f.name == "replies" && lengthOf(t, b, replies) != int64(owned) {
				t.Fatalf("%d replies, want %d", lengthOf(t, b, replies), owned)
			}
		}
	})
}
