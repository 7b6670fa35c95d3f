package redis_test

import (
	"fmt"
	"strings"
	"testing"

	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// needed are commands that a subscription needs while an entry runs for longer than
// its lease: to read, to keep what it holds and its name, and to settle.
var needed = []string{
	"xreadgroup", "xpending", "xclaim", "set", "get", "pexpire", "zadd", "zrangebyscore", "time", "evalsha", "xadd", "xack", "type",
}

// A right that is taken away in the midst of work is told by the name of the
// command, whichever part misses it: a part that kept silent would let entries and
// names run out in a worker that seems well.
func TestEachRightThatIsTakenAwayIsMissedByName(t *testing.T) {
	for _, version := range redistest.Versions {
		for _, command := range needed {
			t.Run(version+"/"+command, func(t *testing.T) {
				t.Parallel()
				rule := append([]string{"on", ">pw", "~in", "~{in}:pipeline:*", "~out", "~in.dead", "+xgroup|create"}, plus(redis.Rights())...)
				s := redistest.Start(t, version)
				user(t, s, rule...)
				path := write(t, [2]string{"reply.hcl", replyFile}, [2]string{"h.lua", replyScript})
				p, g := load(t, path, map[string]string{"min_idle": "1s"}), newGate()
				v := startAt(t, fmt.Sprintf("redis://worker:pw@%s", s.Addr), p, "host-a", map[string]sandbox.Handler{"h": g})
				v.ready()
				add(t, s, 0)
				g.begun(t)
				user(t, s, "-"+command)
				settles := command == "xadd" || command == "xack" || command == "type"
				if settles {
					close(g.open)
				}
				v.record.wait(t, "that the right is missing is told", func() bool {
					for _, e := range v.record.events {
						if e.Name == observe.EventFailed && strings.Contains(e.Err.Error(), "+"+command) {
							return true
						}
					}
					return false
				})
				if n := pendingNow(t, s); n != 1 {
					t.Errorf("%d entries are pending, want the one that was not settled", n)
				}
				// What compares the counters with the server at the end needs the
				// right itself.
				user(t, s, "+"+command)
				if !settles {
					close(g.open)
				}
			})
		}
	}
}

// user changes the rule of the worker's login.
func user(t *testing.T, s *redistest.Server, rule ...string) {
	t.Helper()
	acl := []any{"ACL", "SETUSER", "worker"}
	for _, word := range rule {
		acl = append(acl, word)
	}
	if err := s.Client().Do(t.Context(), acl...).Err(); err != nil {
		t.Fatal(err)
	}
}

func plus(commands []string) []string {
	out := make([]string, len(commands))
	for i, command := range commands {
		out[i] = "+" + command
	}
	return out
}
