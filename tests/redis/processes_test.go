package redis_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// replyFile replies to every entry with its number.
const replyFile = `
pipeline "reply" {
  language      = 1
  drain_timeout = "15s"
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  entry = object({ n = number })
}
stream "out" {}
handler "h" {
  source = "h.lua"
}
variable "min_idle" {
  type = string
}
group "g" {
  stream = stream.in
  start  = "beginning"
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = var.min_idle
    }
    reply {
      to = stream.out
    }
  }
}
`

const replyScript = `
function handle(e)
  return { n = e.n }
end
`

// replier runs replyFile, with its script or with a handler of the test's own.
func replier(t *testing.T, s *redistest.Server, host, minIdle string, own sandbox.Handler) *service {
	t.Helper()
	path := write(t, [2]string{"reply.hcl", replyFile}, [2]string{"h.lua", replyScript})
	p := load(t, path, map[string]string{"min_idle": minIdle})
	if own == nil {
		return start(t, s, p, host)
	}
	return startWith(t, s, p, host, map[string]sandbox.Handler{"h": own})
}

func TestTwentyEnginesStartTogetherOnAnAbsentStreamAndShareTheWork(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		var all []*service
		for range 20 {
			all = append(all, replier(t, s, "host-a", "5s", nil))
		}
		for _, v := range all {
			v.ready()
		}
		const n = 400
		pipe := s.Client().Pipeline()
		for i := range n {
			pipe.Do(t.Context(), "XADD", "in", "*", "n", i)
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "every entry has a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() >= n })
		busy := 0
		for _, v := range all {
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			v.record.mu.Lock()
			if v.record.count["s"][observe.ResultReply] > 0 {
				busy++
			}
			v.record.mu.Unlock()
		}
		expectOnce(t, s, n)
		if busy < 2 {
			t.Errorf("%d engines did all the work", busy)
		}
		expectClean(t, s, 0)
	})
}

// expectOnce checks that every entry has exactly one reply.
func expectOnce(t *testing.T, s *redistest.Server, n int) {
	t.Helper()
	expectOnceIn(t, s, "out", n)
}

// expectOnceIn is expectOnce for replies in another stream.
func expectOnceIn(t *testing.T, s *redistest.Server, stream string, n int) {
	t.Helper()
	seen := map[string]int{}
	for _, f := range fields(t, s.Client(), stream) {
		seen[f]++
	}
	for i := range n {
		reply := fmt.Sprintf(`_payload={"n":%d}`, i)
		if seen[reply] != 1 {
			t.Errorf("entry %d has %d replies", i, seen[reply])
		}
	}
	if len(seen) != n {
		t.Errorf("%d different replies, want %d", len(seen), n)
	}
}

// expectClean checks that nothing is pending and at most the given number of
// consumers was left behind.
func expectClean(t *testing.T, s *redistest.Server, consumers int64) {
	t.Helper()
	g, err := s.Client().XInfoGroups(t.Context(), "in").Result()
	if err != nil || len(g) != 1 {
		t.Fatalf("groups: %v, %v", g, err)
	}
	if g[0].Pending != 0 || g[0].Lag != 0 || g[0].Consumers > consumers {
		t.Errorf("%d pending, lag %d, %d consumers; want 0, 0 and %d", g[0].Pending, g[0].Lag, g[0].Consumers, consumers)
	}
	redistest.Leftovers(t, s, "in")
}

func TestALiveWorkerIsNotRobbedHoweverLongItWorks(t *testing.T) {
	const minIdle = time.Second // a process of a busy machine may not be run for a good part of it
	onEach(t, func(t *testing.T, s *redistest.Server) {
		g := newGate()
		first, second := replier(t, s, "host-a", minIdle.String(), g), replier(t, s, "host-b", minIdle.String(), g)
		first.ready()
		second.ready()
		s.CLI("XADD", "in", "*", "n", "0")
		<-g.entered
		// Both claim all the time; ten times min_idle passes on the server.
		began := s.Client().Time(t.Context()).Val()
		eventually(t, "ten times min_idle passes", func() bool {
			return s.Client().Time(t.Context()).Val().Sub(began) > 10*minIdle
		})
		close(g.open)
		eventually(t, "the entry has a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() > 0 })
		for _, v := range []*service{first, second} {
			if err := v.drain(); err != nil {
				t.Error(err)
			}
		}
		if calls, off := g.calls.Load(), g.canceled.Load(); calls != 1 || off != 0 {
			t.Errorf("the handler ran %d times and was called off %d times, want once and never", calls, off)
		}
		expectOnce(t, s, 1)
		expectClean(t, s, 0)
	})
}

func TestADrainHandsBackWhatItHasNotStarted(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		g := newGate()
		first := replier(t, s, "host-a", "60s", g)
		first.ready()
		const n = 2
		for i := range n {
			s.CLI("XADD", "in", "*", "n", fmt.Sprint(i))
		}
		<-g.entered
		eventually(t, "the second entry is held too", func() bool { return first.engine.Snapshot().Subscriptions[0].Held == n })
		first.stop()
		second := replier(t, s, "host-b", "60s", nil)
		second.ready()
		close(g.open)
		if err := first.drain(); err != nil {
			t.Fatal(err)
		}
		// Long before min_idle: what was handed back can be claimed at once.
		eventually(t, "every entry has a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() >= n })
		if err := second.drain(); err != nil {
			t.Error(err)
		}
		expectOnce(t, s, n)
		// The first one could not remove itself while the hand-back was pending
		// under its name.
		expectClean(t, s, 1)
		got := slices.Concat(outcomes(first, "s"), outcomes(second, "s"))
		if want := []string{`reply#1 out:{"n":0}`, `reply#1 out:{"n":1}`}; !slices.Equal(got, want) {
			t.Errorf("outcomes %q, want %q: a hand-back burns no attempt", got, want)
		}
		if d := second.record.outcomes["s"][0].Deliveries; d != 0 {
			t.Errorf("the entry that was handed back counts %d deliveries, want 0", d)
		}
	})
}

func TestADrainThatTakesTooLongSaysWhatItLeft(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		g := newGate()
		path := write(t, [2]string{"reply.hcl", strings.Replace(replyFile, `"15s"`, `"1500ms"`, 1)}, [2]string{"h.lua", replyScript})
		p := load(t, path, map[string]string{"min_idle": "60s"})
		v := startWith(t, s, p, "host-a", map[string]sandbox.Handler{"h": g})
		v.ready()
		s.CLI("XADD", "in", "*", "n", "0")
		<-g.entered
		err := v.drain()
		var left *engine.LeftError
		if !errors.As(err, &left) || len(left.Left) != 1 || left.Left[0].Count != 1 {
			t.Fatalf("got %v, want a LeftError about one entry", err)
		}
		if n := s.CLI("XPENDING", "in", "g"); !strings.HasPrefix(n, "1") {
			t.Errorf("pending: %s; what was left must stay pending", n)
		}
	})
}

func TestAServerThatIsDownIsWaitedForAndToldOnce(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version, redistest.Config("appendonly", "yes"), redistest.Config("appendfsync", "always"))
			s.Stop()
			v := replier(t, s, "host-a", "60s", nil)
			v.record.wait(t, "the lost server is told", func() bool { return countEvents(v, observe.EventServerLost) == 1 })
			s.Restart()
			v.ready()
			s.CLI("XADD", "in", "*", "n", "0")
			v.settled("s", observe.ResultReply, 1)

			var before int
			v.record.wait(t, "the server is there", func() bool {
				before = countEvents(v, observe.EventServerLost)
				return countEvents(v, observe.EventServerBack) == before
			})
			s.Kill()
			v.record.wait(t, "the lost server is told again", func() bool { return countEvents(v, observe.EventServerLost) > before })
			s.Restart()
			s.CLI("XADD", "in", "*", "n", "1")
			v.settled("s", observe.ResultReply, 2)
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			expectOnce(t, s, 2)
			expectEachOutageToldOnce(t, v, 2)
		})
	}
}

// expectEachOutageToldOnce checks that a server was told lost and back by turns, and lost
// this often. One on a busy machine may be so slow that it is taken for lost, too.
func expectEachOutageToldOnce(t *testing.T, v *service, outages int) {
	t.Helper()
	lost, slow, away := 0, 0, false
	for _, e := range v.record.events {
		switch e.Name {
		case observe.EventServerLost, observe.EventServerBack:
			if away == (e.Name == observe.EventServerLost) {
				t.Errorf("%s is told twice: %+v", e.Name, v.record.events)
			}
			if away = !away; away {
				lost++
				if strings.Contains(fmt.Sprint(e), "no answer in time") {
					slow++
				}
			}
		}
	}
	if away || lost < outages || lost-slow > outages {
		t.Errorf("the server was told lost %d times, %d of them for slowness, and is away: %v; want %d times: %+v", lost, slow, away, outages, v.record.events)
	}
}

func countEvents(v *service, name observe.EventName) int {
	n := 0
	for _, e := range v.record.events {
		if e.Name == name {
			n++
		}
	}
	return n
}

func TestAGroupThatIsLostIsReadAgainAndNothingIsMissed(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v := replier(t, s, "host-a", "2s", nil)
		v.ready()
		s.CLI("XADD", "in", "*", "n", "0")
		v.settled("s", observe.ResultReply, 1)
		s.CLI("DEL", "in")
		for i := 1; i < 4; i++ {
			s.CLI("XADD", "in", "*", "n", fmt.Sprint(i))
		}
		eventually(t, "what was added after the loss has replies", func() bool {
			return len(fields(t, s.Client(), "out")) >= 4
		})
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		expectOnce(t, s, 4)
		if !strings.Contains(fmt.Sprint(v.record.events), "was created again") {
			t.Error("nobody was told that the group was gone")
		}
	})
}
