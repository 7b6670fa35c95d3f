package lua

import (
	"context"
	"math"
	"testing"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/outcome"
)

func newTestMeter() *meter {
	return &meter{maxUsed: 10_000, maxBytes: 1000, timeout: 50 * time.Millisecond}
}

func TestMeterStops(t *testing.T) {
	canceled, cancel := context.WithCancel(context.Background())
	cancel()
	for _, c := range []struct {
		name string
		ctx  context.Context
		use  func(m *meter)
		want outcome.FailureKind
	}{
		{"nothing", context.Background(), func(*meter) {}, ""},
		{"all but one", context.Background(), func(m *meter) {
			for range m.maxUsed {
				m.Done()
			}
		}, ""},
		{"one too many", context.Background(), func(m *meter) {
			for range m.maxUsed + 1 {
				m.Done()
			}
		}, outcome.FailInstructions},
		{"a large charge", context.Background(), func(m *meter) { m.charge(math.MaxInt64/2, 0) }, outcome.FailInstructions},
		{"all bytes", context.Background(), func(m *meter) { m.charge(0, 1000) }, ""},
		{"a byte too many", context.Background(), func(m *meter) { m.charge(0, 1001) }, outcome.FailMemory},
		{"timeout", context.Background(), func(m *meter) { m.kill.Store(m.seq.Load()<<killBits | killTimeout); m.Done() }, outcome.FailTimeout},
		{"heap", context.Background(), func(m *meter) { m.kill.Store(m.seq.Load()<<killBits | killHeap); m.charge(1, 0) }, outcome.FailMemory},
		{"meant for an earlier call", context.Background(), func(m *meter) { m.kill.Store((m.seq.Load()-2)<<killBits | killHeap); m.Done() }, ""},
		{"canceled", canceled, func(m *meter) { m.charge(checkEvery, 0) }, outcome.FailCanceled},
	} {
		t.Run(c.name, func(t *testing.T) {
			m := newTestMeter()
			for range 2 {
				m.begin(c.ctx)
				c.use(m)
				if m.kind != c.want || (m.err != nil) != (c.want != "") {
					t.Fatalf("stopped by %q (%v), want %q", m.kind, m.err, c.want)
				}
				if c.want != "" {
					// Sticky: whatever happens, every instruction is refused.
					m.charge(0, 0)
					if m.Done() == nil || m.kind != c.want {
						t.Error("does not stay stopped")
					}
				} else if m.Done() != nil && m.used <= m.maxUsed {
					t.Error("stopped for nothing")
				}
				m.end()
			}
		})
	}
}

// TestWatchdogTimes looks at calls on a clock of its own.
func TestWatchdogTimes(t *testing.T) {
	c := clock.NewVirtual(time.Unix(0, 0))
	w := newWatchdog(c)
	w.limit.Store(math.MaxInt64 / 4)
	m := newTestMeter()
	w.all = append(w.all, &watched{m: m})

	if w.look() {
		t.Error("a call is running before the first")
	}
	m.seq.Add(1)
	steps := []struct {
		after time.Duration
		kill  bool
	}{{0, false}, {49 * time.Millisecond, false}, {2 * time.Millisecond, true}}
	for _, s := range steps {
		c.Advance(s.after)
		if !w.look() {
			t.Error("a running call is not seen")
		}
		if got := m.kill.Load() == m.seq.Load()<<killBits|killTimeout; got != s.kill {
			t.Errorf("at %s: killed %v", c.Now(), got)
		}
	}
	// The next call has its own time.
	m.kill.Store(0)
	m.seq.Add(2)
	w.look()
	c.Advance(49 * time.Millisecond)
	if w.look(); m.kill.Load() != 0 {
		t.Error("the call was given the time of the one before")
	}
}

// TestWatchdogStopsTheLongest has three calls run while the heap grows.
func TestWatchdogStopsTheLongest(t *testing.T) {
	c := clock.NewVirtual(time.Unix(0, 0))
	w := newWatchdog(c)
	var all []*watched
	for range 3 {
		x := &watched{m: newTestMeter()}
		x.m.timeout = time.Hour
		x.m.seq.Add(1)
		w.all = append(w.all, x)
		w.look()
		c.Advance(time.Millisecond)
		all = append(all, x)
	}
	// Growth of any size is too much, for those that were there before.
	w.limit.Store(1)
	killed := func() (n int) {
		for _, x := range all {
			if x.m.kill.Load() != 0 {
				n++
			}
		}
		return n
	}
	for _, x := range all {
		x.heap = 0
	}
	w.look()
	if all[0].m.kill.Load() != all[0].m.seq.Load()<<killBits|killHeap {
		t.Error("the longest call was not stopped")
	}
	if killed() != 1 {
		t.Errorf("%d calls were stopped at once", killed())
	}
}
