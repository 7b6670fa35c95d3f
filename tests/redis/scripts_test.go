package redis_test

import (
	"cmp"
	"context"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"testing"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// manyFile holds as many entries at once as a subscription ever does, 400.
const manyFile = `
pipeline "many" {
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {}
stream "out" {}
stream "dead" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "60s"
    }
    workers {
      count = 1024
    }
    reply {
      to = stream.out
    }
  }
}
`

// bulky is a gate that has a door of its own for the entry 0. Its replies are padded, or
// it buries.
type bulky struct {
	*gate

	first *gate
	ended *atomic.Int64
	pad   int
	bury  bool
}

func (h bulky) NewInstance(context.Context) (sandbox.Instance, error) { return bulkyInstance{h}, nil }

type bulkyInstance struct{ bulky }

func (bulkyInstance) Close() {}

func (h bulkyInstance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	defer h.ended.Add(1)
	g := h.gate
	if n := d.Body.Get("n").Text(); n == "0" {
		g = h.first
	}
	out, used := gateInstance{g}.Call(ctx, d)
	switch {
	case out.Kind == outcome.Reply && h.bury:
		out = outcome.Outcome{Kind: outcome.Dead, Reason: "of no use"}
	case out.Kind == outcome.Reply:
		n, pad := *d.Body.Get("n"), value.NewString(strings.Repeat("x", h.pad))
		out.Replies[0].Body = value.NewObject([]value.Value{n.Named("n"), pad.Named("pad")})
	}
	return out, used
}

// What is published goes in scripts of at most 250 entries and 256 KiB, each with its
// entries in the order of their ids, and the next one goes on in that order. While the
// server does not answer what was settled first, all others finish, in whatever order,
// and are settled together.
func TestWhatIsPublishedGoesInBoundedScriptsInTheOrderOfTheIds(t *testing.T) {
	const n, mostEntries, mostBytes = 300, 250, 256 << 10
	for _, c := range []struct {
		name string
		bury bool
		// pad is how large a field of each reply is, padEntry one of each entry.
		pad, padEntry int
		to            string
		// full is how many entries the largest script has at least, and bytes.
		full, bytes int
	}{
		{"replies", false, 0, 0, "out", mostEntries, 0},
		{"large replies", false, 3000, 0, "out", 2, mostBytes * 3 / 4},
		{"letters", true, 0, 0, "dead", 100, 0},
		{"large letters", true, 0, 3000, "dead", 2, mostBytes * 3 / 4},
	} {
		t.Run(c.name, func(t *testing.T) {
			for _, version := range redistest.Versions {
				t.Run(version, func(t *testing.T) {
					t.Parallel()
					s := redistest.Start(t, version)
					h := bulky{gate: newGate(), first: newGate(), ended: new(atomic.Int64), pad: c.pad, bury: c.bury}
					p := load(t, write(t, [2]string{"many.hcl", manyFile}, [2]string{"h.lua", replyScript}), nil)
					v := startWith(t, s, p, "host-a", map[string]sandbox.Handler{"h": h})
					v.ready()
					addMany(t, s, n, c.padEntry)
					eventually(t, "all are held", func() bool { return pendingNow(t, s) == n })
					m := watch(t, s)
					s.CLI("CLIENT", "PAUSE", "600000", "WRITE")
					close(h.first.open)
					eventually(t, "the first one is being settled", func() bool { return h.ended.Load() == 1 && postponed(t, s) })
					close(h.open)
					eventually(t, "all have finished", func() bool { return h.ended.Load() == n })
					s.CLI("CLIENT", "UNPAUSE")
					eventually(t, "all are published", func() bool { return s.Client().XLen(t.Context(), c.to).Val() == n })
					if err := v.drain(); err != nil {
						t.Error(err)
					}
					most, largest, settled := 0, 0, map[string]bool{}
					var before []string
					for _, script := range m.settles() {
						ids := script.entries()
						if len(ids) > mostEntries || script.bytes() > mostBytes {
							t.Errorf("a script of %d entries and %d bytes, want at most %d and %d", len(ids), script.bytes(), mostEntries, mostBytes)
						}
						if !slices.IsSortedFunc(ids, compareIDs) {
							t.Errorf("a script does not have its entries in the order of their ids: %v", ids)
						}
						if len(before) == mostEntries && compareIDs(before[mostEntries-1], ids[0]) >= 0 {
							t.Errorf("after %s comes %s", before[mostEntries-1], ids[0])
						}
						before = ids
						most, largest = max(most, len(ids)), max(largest, script.bytes())
						if added := len(script.called("XADD")); added != len(ids) {
							t.Errorf("a script published %d for %d entries", added, len(ids))
						}
						for _, id := range ids {
							settled[id] = true
						}
					}
					if most < c.full || largest < c.bytes {
						t.Errorf("no script has more than %d entries and %d bytes, want one of %d and %d", most, largest, c.full, c.bytes)
					}
					if len(settled) != n {
						t.Errorf("%d were settled, want %d", len(settled), n)
					}
				})
			}
		})
	}
}

// postponed reports whether a server that pauses has been given a script.
func postponed(t *testing.T, s *redistest.Server) bool {
	t.Helper()
	list, err := s.Client().ClientList(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(list) {
		if strings.Contains(line, " flags=b ") && strings.Contains(line, " cmd=evalsha ") {
			return true
		}
	}
	return false
}

// addMany adds entries with a number each, and a field of so many bytes.
func addMany(t *testing.T, s *redistest.Server, n, pad int) {
	t.Helper()
	pipe := s.Client().Pipeline()
	for i := range n {
		pipe.Do(t.Context(), "XADD", "in", "*", "n", i, "pad", strings.Repeat("x", pad))
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

func compareIDs(a, b string) int {
	aMs, aSeq, _ := strings.Cut(a, "-")
	bMs, bSeq, _ := strings.Cut(b, "-")
	return cmp.Or(cmp.Compare(aMs, bMs), cmp.Compare(whole(aSeq), whole(bSeq)))
}

func whole(digits string) int {
	n, _ := strconv.Atoi(digits)
	return n
}
