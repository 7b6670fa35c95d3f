package redis_test

import (
	"fmt"
	"slices"
	"strconv"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/tests/redistest"
)

// onOwn runs a test on a server of its own of each version.
func onOwn(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			test(t, redistest.Start(t, version))
		})
	}
}

// lateness begins to add up for how long this process was not run although it wanted to
// be, and returns what ends that and tells the sum: on a machine that is busy with
// something else, everything may take that much longer.
func lateness() func() time.Duration {
	end, sum := make(chan struct{}), make(chan time.Duration)
	go func() {
		const pause = 5 * time.Millisecond
		var late time.Duration
		for {
			began := time.Now()
			select {
			case <-end:
				sum <- late
				return
			case <-time.After(pause):
				late += time.Since(began) - pause
			}
		}
	}()
	return func() time.Duration {
		close(end)
		return <-sum
	}
}

// handedBackWithin is how long after the signal what was handed back has been published
// by another process.
const handedBackWithin = 2 * time.Second

// expectWithin checks that all replies but the first were published in time, by the
// clock of the server, which gave them their ids.
func expectWithin(t *testing.T, s *redistest.Server, began time.Time, first int, late time.Duration) {
	t.Helper()
	for i, e := range s.Client().XRange(t.Context(), "out", "-", "+").Val() {
		id, err := broker.ParseID(e.ID)
		if err != nil {
			t.Fatal(err)
		}
		took := time.UnixMilli(int64(id.Ms)).Sub(began) //nolint:gosec // a time of this century
		if i < first {
			continue
		}
		if took > handedBackWithin+2*late {
			t.Errorf("reply %d came %v after the signal, want %v; this process was kept waiting for %v", i, took, handedBackWithin, late)
		}
		if i == first {
			t.Logf("the first reply came %v after the signal; this process was kept waiting for %v", took, late)
		}
	}
}

// expectShortBlocks checks how a process gets what another one hands back: that is aged
// so that it is idle for twice the min_idle, and no read blocks for more than a
// second, as long as a server may not tell a blocked read of it.
func expectShortBlocks(t *testing.T, m *monitor, minIdle time.Duration) {
	t.Helper()
	reads, aged := 0, 0
	for _, c := range m.all() {
		if at := slices.Index(c.args, "BLOCK"); c.name() == "XREADGROUP" && at > 0 {
			reads++
			if ms, err := strconv.Atoi(c.args[at+1]); err != nil || ms < 1 || ms > 1000 {
				t.Errorf("a read blocks for %s ms", c.args[at+1])
			}
		}
		if at := slices.Index(c.args, "IDLE"); c.name() == "XCLAIM" && c.from == "lua" && at > 0 {
			if ms, err := strconv.ParseInt(c.args[at+1], 10, 64); err != nil || ms != 2*minIdle.Milliseconds() {
				t.Errorf("what is handed back is idle for %s ms, want twice %v: %s", c.args[at+1], minIdle, fmt.Sprint(c.args))
			}
			aged++
		}
	}
	if reads == 0 || aged == 0 {
		t.Errorf("MONITOR showed %d reads that block and %d entries that were handed back", reads, aged)
	}
}
