package chaos

import (
	"math/rand/v2"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"pipeline/tests/redistest"
)

func onEach(t *testing.T, test func(t *testing.T, s *redistest.Server)) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) { test(t, redistest.Shared(t, version)) })
	}
}

func TestAnotherProcessTakesOverWhatAKilledOneHeld(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		first := run(t, s, "min_idle=2s")
		first.ready()
		n := 0
		// It is stopped to look, and killed when it has entries in hand.
		for inHand := false; !inHand; {
			pay(t, s, n, 2000)
			n += 2000
			first.signal(syscall.SIGSTOP)
			if inHand = pending(t, s) > 0; !inHand {
				first.signal(syscall.SIGCONT)
			}
		}
		t.Logf("killed with %d entries in hand", pending(t, s))
		first.kill()
		second := run(t, s, "min_idle=2s")
		eventually(t, "everything is settled", func() bool { return settled(t, s) })
		second.drain()
		expectOneReplyEach(t, s, n)
	})
}

func TestTwentyProcessesStartAtOnceAndTwoShareTheWork(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		var all []*process
		for range 20 {
			all = append(all, run(t, s, "min_idle=5s"))
		}
		for _, p := range all {
			p.ready()
		}
		for _, p := range all[2:] {
			p.signal(syscall.SIGTERM)
		}
		for _, p := range all[2:] {
			p.drain()
		}
		const n = 5000
		for i := range 10 {
			pay(t, s, i*n/10, n/10)
		}
		eventually(t, "everything is settled", func() bool { return settled(t, s) })
		for _, p := range all[:2] {
			p.drain()
			if !strings.Contains(p.output(), `"reply":`) {
				t.Errorf("a process had no part in the work:\n%s", p.output())
			}
		}
		expectOneReplyEach(t, s, n)
	})
}

// budget is how long the long chaos test goes on; PIPELINE_CHAOS sets it.
func budget(t *testing.T) time.Duration {
	text := os.Getenv("PIPELINE_CHAOS")
	if text == "" {
		return 10 * time.Second
	}
	d, err := time.ParseDuration(text)
	if err != nil {
		t.Fatalf("PIPELINE_CHAOS: %v", err)
	}
	return d
}

// TestKillsAndStallsLoseNothingAndPublishNothingTwice keeps three processes at
// work and, in turn and at random moments, kills one, stops one for longer than
// min_idle and lets it go on, or drains one. Each is replaced.
func TestKillsAndStallsLoseNothingAndPublishNothingTwice(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		seed := uint64(time.Now().UnixNano())
		random := rand.New(rand.NewPCG(seed, seed))
		t.Logf("seed %d", seed)
		start := func() *process { return run(t, s, "min_idle=1s") }
		crew := []*process{start(), start(), start()}
		for _, p := range crew {
			p.ready()
		}
		paid := 0
		for began := time.Now(); time.Since(began) < budget(t); {
			n := 200 + random.IntN(2000)
			pay(t, s, paid, n)
			paid += n
			pause(random.IntN(300))
			i := random.IntN(len(crew))
			switch p := crew[i]; random.IntN(3) {
			case 0:
				p.kill()
				crew[i] = start()
			case 1:
				p.signal(syscall.SIGSTOP)
				pause(1200 + random.IntN(1000))
				p.signal(syscall.SIGCONT)
			case 2:
				p.drain()
				crew[i] = start()
			}
		}
		eventually(t, "everything is settled", func() bool { return settled(t, s) })
		for _, p := range crew {
			p.drain()
		}
		expectOneReplyEach(t, s, paid)
		t.Logf("%d payments", paid)
	})
}

// pause lets the processes work for some milliseconds; it waits for nothing.
func pause(ms int) { <-time.After(time.Duration(ms) * time.Millisecond) }
