package lane_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/lane"
)

// sent is a batch as a test writes it: "7k 8m 9" are entry 7 of key k, 8 of key m
// and 9 without one; with "old:" before them they may belong before others.
func sent(text string) *batch.Batch {
	text, old := strings.CutPrefix(text, "old:")
	names := strings.Fields(text)
	b := batch.Get(len(names))
	for _, name := range names {
		var n int
		var key string
		_, _ = fmt.Sscanf(name, "%d%s", &n, &key)
		it := b.Grow()
		it.Delivery.ID, it.Key = id(n), key
	}
	b.Old = old
	return b
}

func TestOlderEntriesTakeTheirPlaceBeforeLaterOnesOfTheirKey(t *testing.T) {
	for _, c := range []struct {
		name string
		// later is what comes while the first entry of first runs.
		first string
		later []string
		want  string
	}{
		{"before what its share brought", "7k 9k", []string{"old:5k"}, "7k 5k 9k"},
		{"before what waits behind the share", "1m", []string{"7k", "9k", "old:8k"}, "1m 7k 8k 9k"},
		{"among several", "1m 20k", []string{"30k", "old:5k 25k 40k"}, "1m 5k 20k 25k 30k 40k"},
		{"nothing moves for another key", "1m 9k 10n 11", []string{"12n 13", "old:5k 6"}, "1m 5k 10n 11 12n 13 9k 6"},
		{"an entry without a key has no order", "1m 9", []string{"old:5"}, "1m 9 5"},
		{"what comes in order stays", "1m 2k", []string{"old:3k", "4k"}, "1m 2k 3k 4k"},
		{"what runs is not caught up with", "9k", []string{"old:5k"}, "9k 5k"},
		{"twice", "1m 9k", []string{"old:8k", "old:7k", "10k"}, "1m 7k 8k 9k 10k"},
	} {
		t.Run(c.name, func(t *testing.T) {
			all := []*batch.Batch{sent(c.first)}
			b := newBench(0)
			names := map[broker.ID]string{}
			for _, text := range append([]string{c.first}, c.later...) {
				for name := range strings.FieldsSeq(strings.TrimPrefix(text, "old:")) {
					var n int
					_, _ = fmt.Sscanf(name, "%d", &n)
					names[id(n)] = name
				}
			}
			b.runner.body = func(context.Context, *batch.Item) bool {
				if len(b.runner.ran) == 1 {
					for _, text := range c.later {
						later := sent(text)
						all = append(all, later)
						later.Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
					}
					b.lane.Close()
				}
				return true
			}
			all[0].Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
			b.lane.Run(t.Context())
			var ran []string
			for _, id := range b.runner.ran {
				ran = append(ran, names[id])
			}
			if got := strings.Join(ran, " "); got != c.want {
				t.Errorf("ran %s, want %s", got, c.want)
			}
			handedOn(t, b.out, len(ran))
		})
	}
}

// handedOn checks that each of n items was handed on once, finished.
func handedOn(t interface{ Errorf(string, ...any) }, out chan batch.Share, n int) {
	close(out)
	seen := map[broker.ID]bool{}
	for s := range out {
		for i := range s.Len() {
			it := s.At(i)
			if seen[it.Delivery.ID] || it.State() != batch.Finished {
				t.Errorf("entry %v was handed on twice, or unfinished", it.Delivery.ID)
			}
			seen[it.Delivery.ID] = true
		}
	}
	if len(seen) != n {
		t.Errorf("%d entries were handed on, want %d", len(seen), n)
	}
}

// TestTheOrderOfAKeyInALane plays what comes, in any order and at any moment,
// while entries run and while the lane drains: none is forgotten, and none starts
// while a lower one of its key is queued.
func TestTheOrderOfAKeyInALane(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ids := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12}).Draw(t, "ids")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), 1, 8).Draw(t, "sizes")
		whens := rapid.SliceOfN(rapid.IntRange(0, 6), len(sizes), len(sizes)).Draw(t, "whens")
		drain := rapid.IntRange(1, 20).Draw(t, "drain")
		b := newBench(0)
		b.lane = lane.New(clock.NewVirtual(time.Unix(0, 0)), b.runner, b.out, &b.draining)
		queued := map[string][]broker.ID{}
		last, total, closed := 0, 0, false
		send := func(n int) {
			n = min(n, len(ids))
			if n == 0 {
				return
			}
			part := slices.Sorted(slices.Values(ids[:n]))
			ids = ids[n:]
			some := batch.Get(n)
			some.Old = part[0] < last
			last = max(last, part[n-1])
			for _, i := range part {
				it := some.Grow()
				it.Delivery.ID, it.Key = id(i), []string{"", "a", "b"}[i%3]
				queued[it.Key] = append(queued[it.Key], it.Delivery.ID)
				total++
			}
			some.Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
		}
		b.runner.body = func(_ context.Context, it *batch.Item) bool {
			queued[it.Key] = slices.DeleteFunc(queued[it.Key], func(id broker.ID) bool {
				if it.Key != "" && id.Less(it.Delivery.ID) {
					t.Errorf("entry %v of key %s runs before %v", it.Delivery.ID, it.Key, id)
				}
				return id == it.Delivery.ID
			})
			for i, when := range whens {
				if when == len(b.runner.ran) && !closed {
					send(sizes[i])
				}
			}
			if len(b.runner.ran) == drain {
				b.draining.Store(true)
				b.lane.Drain(context.Background())
			}
			if !closed && (b.draining.Load() || len(b.runner.ran) == total) {
				closed = true
				b.lane.Close()
			}
			return true
		}
		send(2)
		for i, when := range whens {
			if when == 0 {
				send(sizes[i])
			}
		}
		b.lane.Run(context.Background())
		handedOn(t, b.out, total)
	})
}
