package deadletters

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/codec"
)

func TestSourcesAndNames(t *testing.T) {
	f := newFixture(t)
	var names []string
	for _, s := range Sources(f.pipeline) {
		names = append(names, fmt.Sprint(s.Stream.Name, len(s.Groups)))
	}
	if want := []string{"payments.dead2", "shop.orders.dead1"}; !slices.Equal(names, want) {
		t.Fatalf("%v, want %v", names, want)
	}
	for name, want := range map[string]string{
		"ledger": "payments.dead ledger", "fraud": "payments.dead fraud", "fraud-v2": "payments.dead fraud",
		"payments.dead": "payments.dead ", "payments_dead": "payments.dead ", "ship": "shop.orders.dead ship",
		"shop.orders.dead": "shop.orders.dead ", "orders": "near shop.orders.dead", "payments": "near payments.dead",
		"legder": "near ledger", "": "near ", "zzzzzzzzz": "near ",
	} {
		source, group, near := Find(f.pipeline, name)
		got := "near " + near
		if source != nil {
			got = source.Stream.Name + " "
			if group != nil {
				got += group.Label
			}
		}
		if got != want {
			t.Errorf("%q: %q, want %q", name, got, want)
		}
	}
}

func TestFilters(t *testing.T) {
	f := newFixture(t)
	key := func(k string) broker.Field {
		return broker.Field{Name: "h:" + codec.HeaderPartitionKey, Value: k}
	}
	var ids []broker.ID
	for i, b := range []struct{ group, reason, text, key string }{
		{"ledger", "failed", "The bank is closed", "a"}, {"fraud-v2", "failed", "timeout", "b"},
		{"ledger", "invalid", "no JSON", "a"}, {"other", "rejected", "stolen", ""},
	} {
		ids = append(ids, f.bury(i, b.group, b.reason, b.text, key(b.key)))
		f.clock.Advance(1000)
	}
	foreign := f.add("payments.dead", []broker.Field{{Name: "x", Value: "y"}})
	a, none := "a", ""
	for name, c := range map[string]struct {
		filter Filter
		want   string
	}{
		"all":             {Filter{}, "0 1 2 3 "},
		"reason":          {Filter{Reasons: []string{"failed"}}, "0 1"},
		"reasons":         {Filter{Reasons: []string{"rejected", "invalid"}}, "2 3"},
		"subscription":    {Filter{Subscriptions: []string{"run_ledger"}}, "0 2"},
		"group":           {Filter{Group: "ledger", GroupStream: "payments"}, "0 2"},
		"group elsewhere": {Filter{Group: "ledger", GroupStream: "orders"}, ""},
		"error":           {Filter{Error: "BANK"}, "0"},
		"key":             {Filter{Key: &a}, "0 2"},
		"no key":          {Filter{Key: &none}, "3 "},
		"id":              {Filter{IDs: []broker.ID{ids[2], ids[0], ids[2], foreign, {Ms: 1}}}, "0 2 "},
		"id and reason":   {Filter{IDs: ids[:3], Reasons: []string{"invalid"}}, "2"},
		"entry":           {Filter{Entries: []broker.ID{{Ms: 1}, {Ms: 3}, {Ms: 77}}}, "1 3"},
		"since":           {Filter{From: ids[2]}, "2 3 "},
		"until":           {Filter{To: ids[1]}, "0 1"},
		"between":         {Filter{From: ids[1], To: ids[2]}, "1 2"},
		"backwards":       {Filter{From: ids[2], To: ids[1]}, ""},
		"all of it":       {Filter{Reasons: []string{"failed"}, Subscriptions: []string{"run_ledger"}, Error: "closed", Key: &a}, "0"},
	} {
		t.Run(name, func(t *testing.T) {
			got := f.chosen(Scan{Filter: c.filter})
			if strings.Join(got, " ") != c.want {
				t.Errorf("%q, want %q", got, c.want)
			}
			back := f.chosen(Scan{Filter: c.filter, Newest: true})
			slices.Reverse(back)
			if !slices.Equal(back, got) {
				t.Errorf("from the newest %q, want the same", back)
			}
		})
	}
}

// Whatever the number of letters and the size of a page, reading in pages brings each once, in both directions.
func TestPagesBringEachOnce(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		n := rapid.IntRange(0, 400).Draw(rt, "letters")
		for i := range n {
			f.bury(i, "ledger", "failed", "")
		}
		for _, newest := range []bool{false, true} {
			want := f.chosen(Scan{Newest: newest})
			if len(want) != n {
				rt.Fatalf("%d of %d letters", len(want), n)
			}
			page := rapid.IntRange(1, 300).Draw(rt, "page")
			var got []string
			var after broker.ID
			for {
				some := 0
				scan := Scan{Broker: f.broker, Newest: newest, After: after}
				for l, err := range scan.Letters(t.Context(), f.dead) {
					f.ok(err)
					if some == page {
						break
					}
					some++
					got, after = append(got, strings.TrimSuffix(l.Facts.ID, "-0")), l.ID
				}
				if some < page {
					break
				}
			}
			if !slices.Equal(got, want) {
				rt.Fatalf("page by page %v, want %v", got, want)
			}
		}
	})
}

func TestScanEndsWithItsErrors(t *testing.T) {
	f := newFixture(t)
	for i := range 400 {
		f.bury(i, "ledger", "failed", "")
	}
	calls := 0
	f.broker.SetFault(func(c memory.Call) memory.Effect {
		if calls++; c.Op == "read range of" && calls > 4 {
			return memory.Effect{Err: broker.ErrUnavailable, Skip: true}
		}
		return memory.Effect{}
	})
	n, failed := 0, error(nil)
	for _, err := range (&Scan{Broker: f.broker}).Letters(t.Context(), f.dead) {
		if failed = err; err == nil {
			n++
		}
	}
	if !errors.Is(failed, broker.ErrUnavailable) || n == 0 || n == 400 {
		t.Fatalf("%d letters, then %v", n, failed)
	}
	f.broker.SetFault(nil)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	n, failed = 0, nil
	for _, err := range (&Scan{Broker: f.broker}).Letters(ctx, f.dead) {
		if failed = err; err == nil {
			n++
			cancel()
		}
	}
	if !errors.Is(failed, context.Canceled) || n == 400 {
		t.Fatalf("canceled: %d letters, then %v", n, failed)
	}
}

// Who cancels is not told that the server is away: that is what a call says which was
// canceled under way.
func TestACanceledScanSaysSo(t *testing.T) {
	f := newFixture(t)
	id := f.bury(1, "ledger", "failed", "")
	for range 100 { // whether the error of the page or the end of ctx is seen first is chance
		for name, filter := range map[string]Filter{"all": {}, "by id": {IDs: []broker.ID{id}}} {
			ctx, cancel := context.WithCancel(t.Context())
			f.broker.SetFault(func(c memory.Call) memory.Effect {
				if c.Op != "read range of" {
					return memory.Effect{}
				}
				cancel()
				return memory.Effect{Err: &broker.Error{Op: c.Op, Kind: broker.ErrUnavailable, Detail: "context canceled"}, Skip: true}
			})
			var failed error
			for _, err := range (&Scan{Broker: f.broker, Filter: filter}).Letters(ctx, f.dead) {
				failed = err
			}
			if !errors.Is(failed, context.Canceled) {
				t.Fatalf("%s: %v, want the error of ctx", name, failed)
			}
		}
	}
}

// Entries are fetched by their ids, however few of a stream are wanted.
func TestFetch(t *testing.T) {
	rapid.Check(t, func(rt *rapid.T) {
		f := newFixture(t)
		var ids []broker.ID
		gone := map[broker.ID]bool{}
		every := rapid.SampledFrom([]int{1, 2, 10, 97}).Draw(rt, "every")
		for i := range rapid.IntRange(1, 400).Draw(rt, "entries") {
			id := f.bury(i, "ledger", "failed", "")
			if i%every == 0 {
				ids = append(ids, id)
			}
			if rapid.IntRange(0, 9).Draw(rt, "gone") == 9 {
				f.broker.DeleteEntries("payments.dead", id)
				gone[id] = true
			}
		}
		ids = append(ids, broker.MaxID)
		gone[broker.MaxID] = true
		at := 0
		f.ok(Fetch(t.Context(), f.broker, "payments.dead", ids, func(i int, e *broker.Entry) error {
			if i != at || (e == nil) != gone[ids[i]] || e != nil && e.ID != ids[i] {
				rt.Fatalf("%d: %v of %v", i, e, ids[i])
			}
			at++
			return nil
		}))
		if at != len(ids) {
			rt.Fatalf("%d of %d", at, len(ids))
		}
	})
}

func TestNormal(t *testing.T) {
	for text, want := range map[string]string{
		"":                                     "",
		"handlers/p.lua:6: no account acct-17": "handlers/p.lua:6: no account #",
		`"4711" is no "id"`:                    `"…" is no "…"`,
		"HTTP 503 after 1500ms, id 12345678":   "HTTP 503 after #, id #",
		"can't open 'x'":                       `can't open "…"`,
		"open \" end":                          "open \" end",
		"uuid 550e8400-e29b-41d4-a716-446655440000 gone": "uuid # gone",
		strings.Repeat("ab ", 200):                       strings.Repeat("ab ", 66) + "ab",
		"é1 \xff":                                        "# ",
	} {
		if got := Normal(text); got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
}

func FuzzNormal(f *testing.F) {
	f.Add("handlers/p.lua:6: no 'account' acct-17 \"x")
	f.Fuzz(func(t *testing.T, text string) {
		if got := Normal(text); len(got) > maxNormal {
			t.Errorf("%d bytes", len(got))
		}
	})
}

// The memory of counts does not grow with the values that letters bring.
func TestStatsAreBounded(t *testing.T) {
	f := newFixture(t)
	s := &Stats{Source: f.dead}
	const letters = 5000
	for i := range letters {
		l := newLetter(f.dead, broker.Entry{ID: broker.ID{Ms: uint64(letters - i)}, Fields: []broker.Field{
			{Name: "h:dead-letter-reason", Value: fmt.Sprint("r", i)}, {Name: "h:dead-letter-group", Value: "g"},
		}})
		s.Add(&l, strings.Repeat("x", i%7))
	}
	l := newLetter(f.dead, broker.Entry{ID: broker.ID{Ms: 9000}, Fields: []broker.Field{{Name: "x"}}})
	s.Add(&l, "")
	top, rest := s.Reasons.Top(3)
	if len(top) != 3 || top[0].Count != 1 || rest != letters-3 || len(s.Reasons.seen) != maxValues {
		t.Errorf("%v, %d more, %d kept", top, rest, len(s.Reasons.seen))
	}
	if top, rest := s.Errors.Top(10); len(top) != 7 || rest != 0 || top[0].Count < top[6].Count {
		t.Errorf("errors %v, %d", top, rest)
	}
	if s.Letters != letters+1 || s.Foreign != 1 || s.Oldest.Ms != 1 || s.Newest.Ms != 9000 {
		t.Errorf("%+v", s)
	}
}
