package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// A server without persistence restarts and has forgotten everything: stream, group,
// floor, lease. The group is created again at the beginning, and whatever is added
// after the restart is done, also under ids that were there before, of which one is
// still running: its outcome is not that of the entry which has its id now.
func TestAServerThatForgetsEverythingAtARestartMissesNothing(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			put := func(first int) {
				t.Helper()
				for n := range 3 {
					s.CLI("XADD", "in", fmt.Sprintf("1-%d", n+1), "n", fmt.Sprint(first+n))
				}
			}
			g := newGate()
			v := replier(t, s, "host-a", "60s", g)
			v.ready()
			put(0)
			g.begun(t)
			eventually(t, "the floor is written down", func() bool {
				return s.Client().Exists(t.Context(), "{in}:pipeline:g:floor").Val() == 1
			})
			s.Restart()
			if n := s.Client().DBSize(t.Context()).Val(); n > 2 {
				t.Fatalf("the server has %d keys after the restart", n)
			}
			put(10)
			close(g.open)
			v.record.wait(t, "the group is created again", func() bool {
				return slices.ContainsFunc(v.record.events, func(e observe.Event) bool { return e.Name == observe.EventGroupRestored })
			})
			eventually(t, "all that was added after the restart has a reply", func() bool {
				all := fields(t, s.Client(), "out")
				for n := 10; n < 13; n++ {
					if !slices.Contains(all, fmt.Sprintf(`_payload={"n":%d}`, n)) {
						return false
					}
				}
				return true
			})
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			if n := pendingNow(t, s); n != 0 {
				t.Errorf("%d entries are pending", n)
			}
			all := fields(t, s.Client(), "out")
			for n := 10; n < 13; n++ {
				reply := fmt.Sprintf(`_payload={"n":%d}`, n)
				if times := strings.Count(strings.Join(all, "\n")+"\n", reply+"\n"); times != 1 {
					t.Errorf("entry %d has %d replies, want one: %q", n, times, all)
				}
			}
			for _, e := range v.record.events {
				if e.Name == observe.EventGroupRestored && !strings.Contains(e.Message, "created again at 0-0") {
					t.Errorf("it was created elsewhere: %s", e.Message)
				}
			}
		})
	}
}
