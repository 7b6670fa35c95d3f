package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// A group is lost in any way while it is read: everything that is in the stream
// afterwards is processed, what was pending too where its body survived, and it
// is told once. What had a reply before may have another one.
func TestAGroupLostInAnyWayMissesNothing(t *testing.T) {
	for _, c := range []struct {
		name string
		// lose loses the group; kept says that the bodies of pending entries stay.
		lose func(s *redistest.Server)
		kept bool
	}{
		{"destroyed", func(s *redistest.Server) { s.CLI("XGROUP", "DESTROY", "in", "g") }, true},
		{"stream deleted", func(s *redistest.Server) { s.CLI("DEL", "in") }, false},
		{"stream expired", func(s *redistest.Server) { s.CLI("PEXPIRE", "in", "1") }, false},
		{"everything flushed", func(s *redistest.Server) { s.CLI("FLUSHDB") }, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				// Three entries are pending under a consumer that never comes back.
				s.CLI("XGROUP", "CREATE", "in", "g", "0", "MKSTREAM")
				add := func(n int) { s.CLI("XADD", "in", "*", "n", fmt.Sprint(n)) }
				for n := range 3 {
					add(n)
				}
				s.CLI("XREADGROUP", "GROUP", "g", "gone", "COUNT", "3", "STREAMS", "in", ">")
				v := replier(t, s, "host-a", "60s", nil)
				v.ready()
				add(3)
				v.settled("s", observe.ResultReply, 1)
				c.lose(s)
				eventually(t, "the group is there again", func() bool {
					v.record.mu.Lock()
					defer v.record.mu.Unlock()
					return slices.ContainsFunc(v.record.events, func(e observe.Event) bool { return e.Name == observe.EventGroupRestored })
				})
				for n := 4; n < 8; n++ {
					add(n)
				}
				first := 4
				if c.kept {
					first = 0
				}
				eventually(t, "everything has a reply", func() bool {
					all := fields(t, s.Client(), "out")
					for n := first; n < 8; n++ {
						if !slices.Contains(all, fmt.Sprintf(`_payload={"n":%d}`, n)) {
							return false
						}
					}
					return true
				})
				if err := v.drain(); err != nil {
					t.Error(err)
				}
				if n := strings.Count(fmt.Sprint(v.record.events), "was created again"); n != 1 {
					t.Errorf("told %d times that the group was lost", n)
				}
			})
		})
	}
}

// A stream that is replaced by a key of another type ends its subscription, which
// names key and type.
func TestAStreamReplacedByAnotherTypeEndsItsSubscription(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v := replier(t, s, "host-a", "2s", nil)
		v.ready()
		s.CLI("XADD", "in", "*", "n", "0")
		v.settled("s", observe.ResultReply, 1)
		s.CLI("SET", "in", "x")
		v.record.wait(t, "the failure is told", func() bool {
			return slices.ContainsFunc(v.record.events, func(e observe.Event) bool {
				return e.Name == observe.EventFailed && strings.Contains(fmt.Sprint(e.Err), "in/g: the key does not hold a stream")
			})
		})
	})
}
