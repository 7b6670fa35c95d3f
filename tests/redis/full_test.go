package redis_test

import (
	"fmt"
	"slices"
	"testing"
	"time"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// fullFile does with an entry what its number says.
const fullFile = `
pipeline "full" {
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  entry = object({ n = number })
}
stream "out" {}
stream "dead" {}
handler "h" {
  source = "h.lua"
}
retry "soon" {
  delay = "1s"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    retry   = retry.soon
    claim {
      min_idle = "2s"
    }
    workers {
      count = 8
    }
    reply {
      to = stream.out
    }
  }
}
`

const fullScript = `
function handle(e, ctx)
  if e.n == 1 then return { n = e.n } end
  if e.n == 2 then return dead("of no use") end
  if e.n == 3 then return ack() end
  if e.n == 4 then return drop("not wanted") end
  if e.n == 5 and ctx.attempt == 1 then error("not yet") end
  if e.n == 6 and ctx.deliveries == 0 then return retry{after = "1s"} end
  return { n = e.n }
end
`

// A full server takes acknowledgements and what is put off; replies and letters
// wait, held and renewed, and are settled and not run again when there is room.
func TestAFullServerDelaysRepliesAndLettersAndLosesNone(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			p := load(t, write(t, [2]string{"full.hcl", fullFile}, [2]string{"h.lua", fullScript}), nil)
			v := start(t, s, p, "host-a")
			v.ready()
			full(t, s, true)
			addWhileFull(t, s, 1, 2, 3, 4, 5, 6)
			v.settled("s", observe.ResultAck, 1)
			v.settled("s", observe.ResultDrop, 1)
			// Those that were put off come back and end in replies, which are refused.
			v.settled("s", observe.ResultRetry, 1)
			v.settled("s", observe.ResultFailed, 1)
			eventually(t, "four are held", func() bool {
				snap := v.engine.Snapshot().Subscriptions[0]
				return snap.Held == 4 && pendingNow(t, s) == 4
			})
			began := serverTime(t, s)
			for serverTime(t, s).Sub(began) < 5*time.Second { // longer than min_idle
				if n := pendingNow(t, s); n != 4 {
					t.Fatalf("%d pending while the server is full, want 4", n)
				}
				<-time.After(200 * time.Millisecond)
			}
			if out, dead := s.Client().XLen(t.Context(), "out").Val(), s.Client().XLen(t.Context(), "dead").Val(); out+dead > 0 {
				t.Fatalf("%d replies and %d letters in a full server", out, dead)
			}
			full(t, s, false)
			v.settled("s", observe.ResultReply, 3)
			v.settled("s", observe.ResultDead, 1)
			v.record.wait(t, "that all is taken is told", func() bool { return countEvents(v, observe.EventSettleAccepted) == 1 })
			if err := v.drain(); err != nil {
				t.Error(err)
			}
			if n := pendingNow(t, s); n != 0 {
				t.Errorf("%d pending in the end", n)
			}
			want := []string{"_payload={\"n\":1}", "_payload={\"n\":5}", "_payload={\"n\":6}"}
			got := fields(t, s.Client(), "out")
			if slices.Sort(got); !slices.Equal(got, want) {
				t.Errorf("replies %q, want %q", got, want)
			}
			if n := s.Client().XLen(t.Context(), "dead").Val(); n != 1 {
				t.Errorf("%d letters, want 1", n)
			}
			expectToldOnce(t, v)
		})
	}
}

// expectToldOnce checks that a full server was one change of state and cost nothing
// an attempt.
func expectToldOnce(t *testing.T, v *service) {
	t.Helper()
	v.record.mu.Lock()
	defer v.record.mu.Unlock()
	for _, name := range []observe.EventName{observe.EventSettleRefused, observe.EventSettleAccepted} {
		if n := countEvents(v, name); n != 1 {
			t.Errorf("%s was told %d times, want once", name, n)
		}
	}
	expectEachOutageToldOnce(t, v, 0) // a full server is not lost
	runs := map[string]int{}
	for _, o := range v.record.outcomes["s"] {
		runs[fmt.Sprint(o.ID)]++
	}
	if total := len(v.record.outcomes["s"]); total != 8 || len(runs) != 6 {
		t.Errorf("%d outcomes of %d entries, want 8 of 6: %v", total, len(runs), v.record.outcomes["s"])
	}
}
