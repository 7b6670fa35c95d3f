package chaos

import (
	"strings"
	"syscall"
	"testing"

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
			p.left() // a second signal would end it at once
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
