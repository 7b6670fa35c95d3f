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

// A server that removes keys when it is full is told of at the start, once: by which
// policy, what it may remove, and what to set. Who may not ask works untold.
func TestAServerThatEvictsIsToldOfAtTheStart(t *testing.T) {
	for _, version := range redistest.Versions {
		for _, c := range []struct {
			name, policy, most, file string
			// says is what the one line says; none where it is empty.
			says  string
			level sandbox.Level
			// blind: the login may not run INFO.
			blind bool
		}{
			{"streams", "allkeys-lru", "100mb", replyFile, "allkeys-lru: a full server removes streams", sandbox.Warn, false},
			{"leases", "volatile-lru", "100mb", replyFile, "volatile-lru: a full server removes the leases of consumer names;", sandbox.Warn, false},
			{"marks", "volatile-ttl", "100mb", onceFile, "leases of consumer names and the keys of settled entries", sandbox.Warn, false},
			{"never full", "allkeys-lfu", "0", replyFile, "does not come to that now", sandbox.Info, false},
			{"nothing", "noeviction", "100mb", replyFile, "", 0, false},
			{"unknown", "allkeys-lru", "100mb", replyFile, "", 0, true},
		} {
			t.Run(version+"/"+c.name, func(t *testing.T) {
				t.Parallel()
				s := redistest.Start(t, version, redistest.Config("maxmemory-policy", c.policy), redistest.Config("maxmemory", c.most))
				url := s.URL()
				if c.blind {
					user(t, s, append([]string{"on", ">pw", "~*", "+xgroup|create"}, plus(redis.Rights())...)...)
					url = fmt.Sprintf("redis://worker:pw@%s", s.Addr)
				}
				path := write(t, [2]string{"reply.hcl", c.file}, [2]string{"h.lua", replyScript})
				p := load(t, path, map[string]string{"min_idle": "2s"})
				v := startAt(t, url, p, "host-a", compile(t, p))
				add(t, s, 0)
				v.settled("s", observe.ResultReply, 1)
				if err := v.drain(); err != nil {
					t.Error(err)
				}
				var told []observe.Event
				for _, e := range v.record.events {
					if e.Name == observe.EventEviction {
						told = append(told, e)
					}
				}
				switch {
				case c.says == "" && len(told) > 0, c.says != "" && len(told) != 1:
					t.Errorf("told %v", told)
				case c.says != "" && (!strings.Contains(told[0].Message, c.says) || !strings.Contains(told[0].Message, "set maxmemory-policy noeviction") || told[0].Level != c.level):
					t.Errorf("told %v at level %v, want %q at %v", told[0].Message, told[0].Level, c.says, c.level)
				}
			})
		}
	}
}
