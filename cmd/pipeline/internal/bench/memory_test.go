package bench

import (
	"runtime"
	"strings"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

// Memory is measured with entries in hand, beside a long list and over time.
func TestMemory(t *testing.T) {
	t.Parallel()
	if runtime.GOOS != "linux" {
		t.Skip("RSS is read on Linux only")
	}
	onEach(t, func(t *testing.T, r *Runner) {
		r.Rounds, r.Soak = 1, 4*time.Second
		looks := &looks{}
		r.Report = looks
		results, err := r.Run(t.Context(), []Scenario{scenario(t, "memory")})
		if err != nil {
			t.Fatal(err)
		}
		for name, want := range map[string]string{
			"20 entries of 1 KB held": "rss_ready_mib rss_held_mib held_entries",
			"400 pending":             "rss_ready_mib rss_mib cpu_us_per_entry server_cpu_us_per_entry",
		} {
			if got := strings.Join(figuresOf(t, results, name), " "); got != want {
				t.Errorf("%s: figures %s, want %s", name, got, want)
			}
		}
		for _, m := range results {
			if m.Name == heldEntries.Name && (m.Product.Median != 20 || m.Reference.Median != 20) {
				t.Errorf("held %v and %v", m.Product, m.Reference)
			}
		}
		last := results[len(results)-1]
		if last.Name != rssSlope.Name || last.Product == nil || last.Reference == nil {
			t.Errorf("the soak ends with %+v", last)
		}
		for _, side := range []Side{Product, Reference} {
			if looks.rss[side] < 3 {
				t.Errorf("%s: %d looks at its memory in 4s", side, looks.rss[side])
			}
		}
	})
}

// looks counts looks at memory.
type looks struct {
	silent
	rss map[Side]int
}

func (l *looks) Memory(side Side, _ time.Duration, rss int64) {
	if l.rss == nil {
		l.rss = map[Side]int{}
	}
	if rss > 1<<20 {
		l.rss[side]++
	}
}

// Every dimension grows, and both sides settle all of it at each size.
func TestGrowth(t *testing.T) {
	t.Parallel()
	r := testRunner(t, redistest.Shared(t, "8.6"))
	r.Rounds = 1
	results, err := r.Run(t.Context(), []Scenario{scenario(t, "growth")})
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"stream of 20", "stream of 200", "streams: 1", "streams: 10", "workers: 1", "workers: 8", "processes: 1", "processes: 2",
	} {
		if got := figuresOf(t, results, name); len(got) != len(throughput) {
			t.Errorf("%s: %v", name, got)
		}
	}
	for _, name := range []string{"streams: 1, idle", "streams: 10, idle"} {
		if got := strings.Join(figuresOf(t, results, name), " "); got != "idle_cpu_ms_per_second idle_server_cpu_ms_per_second" {
			t.Errorf("%s: %s", name, got)
		}
	}
}

// With --full everything grows to what the flag promises.
func TestFullSizes(t *testing.T) {
	t.Parallel()
	s := Settings{Entries: 100_000, Full: true}
	z := s.sizes()
	if longest := s.Entries * z.lengths[3] / 100; longest != 10_000_000 || z.streams[3] != 1000 || z.workers[6] != 64 || z.processes[4] != 16 {
		t.Errorf("%d, %+v", longest, z)
	}
}
