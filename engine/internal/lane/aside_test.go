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

// gate lets one item in until the test frees it.
type gate struct{ it *batch.Item }

func (g *gate) Enter(it *batch.Item) bool {
	if g.it == nil {
		g.it = it
	}
	return g.it == it
}

func (g *gate) Free() bool { return g.it == nil }

// suspicious is a share of entries, where "!" marks those that run alone; the rest
// of a word is the key.
func suspicious(words string) (b *batch.Batch) {
	b = batch.Get(strings.Count(words, " ") + 1)
	for i, key := range strings.Fields(words) {
		it := b.Grow()
		it.Delivery.ID = id(i + 1)
		it.Key, it.Alone = strings.TrimRight(key, "!-"), strings.HasSuffix(key, "!")
	}
	return b
}

// Here each entry that ran alone is settled when the entries whose number is given
// have run; until then nothing else runs alone, and nothing waits for it but what
// comes behind it under its key.
func TestWhatMustNotRunYetIsPassed(t *testing.T) {
	for _, c := range []struct {
		name, words string
		settled     int
		want        string
	}{
		{"by all others", "-! -! - - -", 3, "1 3 4 2 5"},
		{"but not by its key", "-! a! a b a", 2, "1 4 2 3 5"},
		{"nor by what waits with it", "-! a! b! a b c", 2, "1 6 2 3 4 5"},
		{"by what comes later", "-! -! -", 2, "1 3 2"},
		{"settled at once", "-! -! -", 1, "1 2 3"},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := newBench(0)
			b.batch = suspicious(c.words)
			total := len(b.batch.Items)
			g := &gate{}
			b.lane.Join(g, []*lane.Lane{b.lane}, 0)
			b.runner.body = func(_ context.Context, it *batch.Item) bool {
				if it.Alone && g.it != it {
					t.Errorf("entry %v runs beside %v", it.Delivery.ID, g.it.Delivery.ID)
				}
				if n := len(b.runner.ran); n >= c.settled {
					g.it = nil
				}
				if len(b.runner.ran) == total {
					b.lane.Close()
				}
				b.lane.Wake()
				return true
			}
			b.batch.Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
			b.lane.Run(t.Context())
			var ran []string
			for _, id := range b.runner.ran {
				ran = append(ran, fmt.Sprint(id.Ms))
			}
			if got := strings.Join(ran, " "); got != c.want {
				t.Errorf("ran %s, want %s", got, c.want)
			}
			handedOn(t, b.out, total)
		})
	}
}

// A drain hands back what waits to run alone; what has the key of the entry that
// runs follows when that is settled.
func TestADrainHandsBackWhatWaitsToRunAlone(t *testing.T) {
	b := newBench(0)
	b.batch = suspicious("-! a! b! a b")
	g := &gate{}
	b.lane.Join(g, []*lane.Lane{b.lane}, 0)
	b.runner.body = func(_ context.Context, it *batch.Item) bool {
		if it.Delivery.ID == id(1) {
			b.lane.Send(context.Background(), more(6, "b"))
			b.lane.Send(context.Background(), more(7, "c"))
			return true
		}
		b.draining.Store(true)
		b.lane.Drain(context.Background())
		b.lane.Close()
		return true
	}
	b.batch.Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
	b.lane.Run(t.Context())
	if want := []broker.ID{id(1), id(7)}; !slices.Equal(b.runner.ran, want) {
		t.Errorf("ran %v, want %v", b.runner.ran, want)
	}
	for i := range b.batch.Items[1:] {
		if v := b.batch.Items[i+1].Action.Verb; v != batch.Release {
			t.Errorf("entry %d: %v, want it handed back", i+2, v)
		}
	}
	handedOn(t, b.out, 7)
}

// more is a share of one entry.
func more(n int, key string) (s batch.Share) {
	b := batch.Get(1)
	it := b.Grow()
	it.Delivery.ID, it.Key = id(n), key
	b.Split(1, 0, false, func(_ int, all batch.Share) { s = all })
	return s
}

// runnable reports whether something could run beside what runs alone.
func runnable(queued map[string][]broker.ID, alone []bool) bool {
	for key, ids := range queued {
		first := slices.MinFunc(append(ids, id(len(alone))), broker.ID.Compare)
		if i := int(first.Ms); key != "" && i < len(alone) && !alone[i] {
			return true
		}
		if key == "" && slices.ContainsFunc(ids, func(id broker.ID) bool { return !alone[id.Ms] }) {
			return true
		}
	}
	return false
}

// Whatever comes when, and whenever what runs alone is settled: all runs once, no
// two of those that run alone between two settlements, and each key in order.
func TestTheOrderOfAKeyBesideWhatRunsAlone(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		const total = 14
		ids := rapid.Permutation([]int{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14}).Draw(t, "ids")
		sizes := rapid.SliceOfN(rapid.IntRange(1, 4), total, total).Draw(t, "sizes")
		alone := rapid.SliceOfN(rapid.Bool(), total+1, total+1).Draw(t, "alone")
		settles := rapid.SliceOfN(rapid.IntRange(0, 3), 64, 64).Draw(t, "settles")
		b := newBench(0)
		g := &gate{}
		b.lane = lane.New(clock.NewVirtual(time.Unix(0, 0)), b.runner, b.out, &b.draining)
		b.lane.Join(g, []*lane.Lane{b.lane}, 0)
		queued := map[string][]broker.ID{}
		last := 0
		send := func() {
			if len(ids) == 0 {
				return
			}
			n := min(sizes[len(ids)-1], len(ids))
			part := slices.Sorted(slices.Values(ids[:n]))
			ids = ids[n:]
			some := batch.Get(n)
			some.Old = part[0] < last
			last = max(last, part[n-1])
			for _, i := range part {
				it := some.Grow()
				it.Delivery.ID, it.Key, it.Alone = id(i), []string{"", "a", "b"}[i%3], alone[i]
				queued[it.Key] = append(queued[it.Key], it.Delivery.ID)
			}
			some.Split(1, 0, false, func(_ int, s batch.Share) { b.lane.Send(context.Background(), s) })
		}
		b.runner.body = func(_ context.Context, it *batch.Item) bool {
			if it.Alone && g.it != it {
				t.Errorf("entry %v runs beside another", it.Delivery.ID)
			}
			queued[it.Key] = slices.DeleteFunc(queued[it.Key], func(id broker.ID) bool {
				if it.Key != "" && id.Less(it.Delivery.ID) {
					t.Errorf("entry %v of key %s runs before %v", it.Delivery.ID, it.Key, id)
				}
				return id == it.Delivery.ID
			})
			send()
			n := len(b.runner.ran)
			if settles[n] == 0 || !runnable(queued, alone) {
				g.it = nil
				b.lane.Wake()
			}
			if n == total {
				b.lane.Close()
			}
			return true
		}
		send()
		b.lane.Run(context.Background())
		handedOn(t, b.out, total)
	})
}
