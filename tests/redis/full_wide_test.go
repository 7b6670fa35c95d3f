package redis_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	goredis "github.com/redis/go-redis/v9"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// fullWideFile replies to three streams, or buries.
const fullWideFile = `
pipeline "full" {
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  entry = object({ n = number })
}
stream "one" {}
stream "two" {}
stream "three" {}
stream "dead" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "2s"
    }
    workers {
      count = 8
    }
    route "one" {
      to = stream.one
    }
    route "two" {
      to = stream.two
    }
    route "three" {
      to = stream.three
    }
  }
}
`

const fullWideScript = `
local pad = string.rep("x", 40000)
function handle(e)
  if e.n % 3 > 0 then return dead("of no use") end
  return { n = e.n, pad = pad }
end
`

// A third of the entries have three large replies, a third a small letter, and a third
// a letter of more fields than a script passes on.
const fullWide = 90

// wideEntry is the number of an entry, and what makes some of them wide.
func wideEntry(n int) []any {
	args := []any{"XADD", "in", "*", "n", n}
	if n%3 == 2 {
		for i := range 3000 {
			args = append(args, fmt.Sprint("f", i), "v")
		}
	}
	return args
}

// A server that gets full in the midst of large replies to several streams and of
// letters has at any moment all of what an entry came to or nothing, and what is
// pending has nothing; when there is room again, everything is there once, and nothing
// was run twice.
func TestAServerThatGetsFullInTheMidstOfSeveralRepliesHasAllOrNoneOfAnEntry(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			pipe := s.Client().Pipeline()
			for n := range fullWide {
				pipe.Do(t.Context(), wideEntry(n)...)
			}
			added, err := pipe.Exec(t.Context())
			if err != nil {
				t.Fatal(err)
			}
			numbers := map[string]int{}
			for n, cmd := range added {
				numbers[cmd.(*goredis.Cmd).Val().(string)] = n
			}
			p := load(t, write(t, [2]string{"full.hcl", fullWideFile}, [2]string{"h.lua", fullWideScript}), nil)
			// Room for about half of the replies.
			limit := usedMemory(t, s) + 2<<20
			if err := s.Client().ConfigSet(t.Context(), "maxmemory", fmt.Sprint(limit)).Err(); err != nil {
				t.Fatal(err)
			}
			v := start(t, s, p, "host-a")
			v.ready()
			v.record.wait(t, "the full server is told", func() bool { return countEvents(v, observe.EventSettleRefused) > 0 })
			// Then leave it no room at all, in the midst of what it is given.
			full(t, s, true)
			began := serverTime(t, s)
			for serverTime(t, s).Sub(began) < 5*time.Second { // longer than min_idle
				expectAllOrNone(t, s, numbers)
				<-time.After(50 * time.Millisecond)
			}
			if n := s.Client().XLen(t.Context(), "one").Val(); n == 0 || n == fullWide/3 {
				t.Errorf("%d entries have replies when the server is full: that was not in the midst of it", n)
			}
			if n := pendingNow(t, s); n == 0 {
				t.Error("nothing is pending in a full server")
			}
			full(t, s, false)
			v.settled("s", observe.ResultReply, fullWide/3)
			v.settled("s", observe.ResultDead, fullWide*2/3)
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			for n, copies := range expectAllOrNone(t, s, numbers) {
				if copies != 1 {
					t.Errorf("what entry %d came to is there %d times", n, copies)
				}
			}
			if n := pendingNow(t, s); n != 0 {
				t.Errorf("%d pending in the end", n)
			}
			if got := outcomes(v, "s"); len(got) != fullWide {
				t.Errorf("%d outcomes of %d entries: some ran twice", len(got), fullWide)
			}
		})
	}
}

// usedMemory is how many bytes the server uses.
func usedMemory(t *testing.T, s *redistest.Server) (bytes int) {
	t.Helper()
	info, err := s.Client().Info(t.Context(), "memory").Result()
	if err != nil {
		t.Fatal(err)
	}
	_, line, _ := strings.Cut(info, "used_memory:")
	if _, err := fmt.Sscan(line, &bytes); err != nil {
		t.Fatal(err)
	}
	return bytes
}

// moment is what a server holds of each entry at one moment.
const moment = `
local function numbers(key, into)
  for _, e in ipairs(redis.call('XRANGE', key, '-', '+')) do
    local f = e[2]
    local n = f[1] == 'n' and f[2] or string.match(f[2], '"n":(%d+)')
    into[#into + 1] = n
  end
  return into
end
local pending, delivered = {}, nil
for _, p in ipairs(redis.call('XPENDING', 'in', 'g', '-', '+', 10000)) do pending[#pending + 1] = p[1] end
local info = redis.call('XINFO', 'GROUPS', 'in')[1]
for i = 1, #info, 2 do if info[i] == 'last-delivered-id' then delivered = info[i + 1] end end
return { numbers('one', {}), numbers('two', {}), numbers('three', {}), numbers('dead', {}), pending, delivered }`

// expectAllOrNone checks that of each entry there is all that it came to or nothing,
// nothing of what is pending and all of what is not, and returns how often it is there.
func expectAllOrNone(t *testing.T, s *redistest.Server, numbers map[string]int) []int {
	t.Helper()
	reply, err := s.Client().Do(t.Context(), "EVAL", moment, 0).Slice()
	if err != nil {
		t.Fatal(err)
	}
	var there [4][fullWide]int
	for i := range there {
		for _, n := range reply[i].([]any) {
			there[i][whole(n.(string))]++
		}
	}
	pending := map[int]bool{}
	for _, id := range reply[4].([]any) {
		pending[numbers[id.(string)]] = true
	}
	last, known := numbers[reply[5].(string)]
	copies := make([]int, fullWide)
	for n := range copies {
		replies, letters := [3]int{there[0][n], there[1][n], there[2][n]}, there[3][n]
		copies[n] = letters
		if n%3 == 0 {
			copies[n] = replies[0]
		}
		if replies[1] != replies[0] || replies[2] != replies[0] || replies[0] > 0 && n%3 > 0 || letters > 0 && n%3 == 0 {
			t.Fatalf("entry %d has %v replies and %d letters", n, replies, letters)
		}
		if done := known && n <= last && !pending[n]; copies[n] > 1 || (copies[n] == 1) != done {
			t.Fatalf("entry %d is settled: %v, and what it came to is there %d times", n, done, copies[n])
		}
	}
	return copies
}
