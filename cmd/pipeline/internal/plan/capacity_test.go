package plan_test

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/tests/redistest"
)

// loaded is a pipeline of two groups on one stream, one on another, and one on a third
// that has no subscription.
func loaded(r *spec.Retention, backlog int64) *spec.Pipeline {
	in := &spec.Stream{Label: "in", Name: "in", Retention: r, MaxBacklog: backlog}
	other, idle := &spec.Stream{Label: "other", Name: "other", Retention: &spec.Retention{MaxLength: 7}}, &spec.Stream{Label: "idle", Name: "idle"}
	p := &spec.Pipeline{Streams: []*spec.Stream{in, other, idle}}
	for i, s := range []*spec.Stream{in, in, other, idle} {
		g := &spec.Group{Name: fmt.Sprint("g", i), Stream: s}
		if s != idle {
			g.Subscriptions = []*spec.Subscription{{Label: fmt.Sprint("s", i), Group: g}}
		}
		p.Groups = append(p.Groups, g)
	}
	return p
}

func TestCapacity(t *testing.T) {
	load := plan.Load{Rate: 2.5, Outage: 10 * time.Second, Entry: 100}
	protected := &spec.Retention{MaxLength: 10, ProtectUnacknowledged: true}
	for _, c := range []struct {
		name     string
		r        *spec.Retention
		backlog  int64
		entries  float64
		problems []diag.Code
	}{
		{"no retention", nil, 0, 25, []diag.Code{plan.CodeKeepsAll}},
		{"a retention of nothing", &spec.Retention{}, 0, 25, []diag.Code{plan.CodeKeepsAll}},
		{"it keeps more", &spec.Retention{MaxLength: 1000}, 0, 1000, nil},
		{"it keeps as much", &spec.Retention{MaxLength: 25}, 0, 25, nil},
		{"it keeps less", &spec.Retention{MaxLength: 24}, 0, 25, []diag.Code{plan.CodeTrimsBefore}},
		{"it keeps less, and protects", protected, 0, 25, nil},
		{"for a longer time", &spec.Retention{MaxAge: time.Minute}, 0, 150, nil},
		{"for a shorter time", &spec.Retention{MaxAge: 9 * time.Second}, 0, 25, []diag.Code{plan.CodeTrimsBefore}},
		{"the smaller bound", &spec.Retention{MaxLength: 70, MaxAge: time.Hour}, 0, 70, nil},
		{"a backlog that stops it", protected, 24, 25, []diag.Code{plan.CodeStopsBefore}},
		{"a backlog that does not", protected, 25, 25, nil},
	} {
		got := plan.CapacityOf(loaded(c.r, c.backlog), load)
		if len(got.Needs) != 2 || got.Needs[0].Groups != 2 || got.Needs[1].Groups != 1 {
			t.Fatalf("%s: %+v", c.name, got.Needs)
		}
		n := got.Needs[0]
		if n.Entries != c.entries || n.Pending != 50 || n.Bodies != 100*c.entries || n.Overhead != 150*c.entries || n.Marks != 222*50 {
			t.Errorf("%s: %+v", c.name, n)
		}
		// The other stream keeps seven of the 25 that arrive.
		if want := n.Bytes() + 25*(100+150+222); got.Bytes() != want || n.Bytes() != 250*c.entries+222*50 {
			t.Errorf("%s: %v bytes, want %v", c.name, got.Bytes(), want)
		}
		var codes []diag.Code
		for _, d := range got.Problems {
			codes = append(codes, d.Code)
		}
		if want := append(slices.Clone(c.problems), plan.CodeTrimsBefore); !slices.Equal(codes, want) {
			t.Errorf("%s: %v, want %v", c.name, codes, want)
		}
	}
	if text := plan.CapacityOf(loaded(protected, 24), load).Problems[0].Summary; text != "in reaches its max_backlog of 24 entries after 10s of the outage" {
		t.Error(text)
	}
	if huge := plan.CapacityOf(loaded(nil, math.MaxInt64), plan.Load{Rate: 1e9, Outage: 1e6 * time.Second, Entry: math.MaxInt64}); !(huge.Bytes() > 1e33) {
		t.Error(huge.Bytes())
	}
}

// TestWhatEntriesNeed fills a server and compares what it then has in use with the
// numbers that capacities are computed from. Of a stream's entry they are generous,
// since names and more fields need room, too; of a pending one they are what 8.6 needs,
// and 7.0 needs less.
func TestWhatEntriesNeed(t *testing.T) {
	t.Parallel()
	for _, version := range redistest.Versions {
		for _, size := range []int{64, 400, 2000} {
			t.Run(fmt.Sprintf("%s/%d B", version, size), func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, version)
				const n, at = 20000, 1000
				body := strings.Repeat("x", size)
				before := dataset(t, s, func(c *redis.Client) { c.XGroupCreateMkStream(t.Context(), "in", "g", "0") })
				added := dataset(t, s, func(c *redis.Client) {
					for range n / at {
						p := c.Pipeline()
						for range at {
							p.XAdd(t.Context(), &redis.XAddArgs{Stream: "in", Values: []string{"_payload", body}})
						}
						if _, err := p.Exec(t.Context()); err != nil {
							t.Fatal(err)
						}
					}
				})
				read := dataset(t, s, func(c *redis.Client) {
					for range n / at {
						if err := c.XReadGroup(t.Context(), &redis.XReadGroupArgs{Group: "g", Consumer: "c", Streams: []string{"in", ">"}, Count: at}).Err(); err != nil {
							t.Fatal(err)
						}
					}
				})
				if pending := s.Client().XPending(t.Context(), "in", "g").Val().Count; pending != n {
					t.Fatalf("%d are pending", pending)
				}
				entry, pending := (added-before)/n-float64(size), (read-added)/n
				t.Logf("%.0f bytes an entry besides its body, %.0f a pending one", entry, pending)
				const off = 1.03 // the group and the tree's upper nodes are shared by few here
				if entry > plan.EntryBytes || pending > plan.PendingBytes*off || version == "8.6" && pending < plan.PendingBytes/off {
					t.Errorf("%.0f bytes an entry and %.0f a pending one, and %d and %d are counted", entry, pending, plan.EntryBytes, plan.PendingBytes)
				}
			})
		}
	}
}

// dataset is what a server has in use after something was done to it, once the
// connection that did it, whose buffers count, is gone.
func dataset(t *testing.T, s *redistest.Server, do func(*redis.Client)) float64 {
	t.Helper()
	c := redis.NewClient(s.Options())
	do(c)
	_ = c.Close()
	for end := time.Now().Add(30 * time.Second); ; time.Sleep(5 * time.Millisecond) {
		info := s.Client().InfoMap(t.Context(), "clients", "memory").Val()
		if info["Clients"]["connected_clients"] == "1" {
			used, err := strconv.ParseFloat(info["Memory"]["used_memory"], 64)
			if err != nil {
				t.Fatal(err)
			}
			return used
		}
		if time.Now().After(end) {
			t.Fatal("the connection does not go away")
		}
	}
}
