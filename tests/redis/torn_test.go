package redis_test

import (
	"errors"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// tornFile replies to two streams, in this order.
const tornFile = `
pipeline "torn" {
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  entry = object({ n = number })
}
stream "out" {}
stream "other" {}
handler "h" {
  source = "h.lua"
}
group "g" {
  stream = stream.in
  start  = "beginning"
  subscription "s" {
    handler = handler.h
    claim {
      min_idle = "1s"
    }
    route "first" {
      to = stream.out
    }
    route "second" {
      to   = stream.other
      when = reply.n != 2
    }
  }
}
`

// lastID is the highest id: a stream that has it takes no more entries, which no look
// at its type shows.
const lastID = "18446744073709551615-18446744073709551615"

// Where one of several replies is refused after another was published, the entry is
// acknowledged, so that the first is not published again, and that is told and counted,
// once. The others go on.
func TestAReplyThatIsTornIsToldAndNotPublishedAgain(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		s.CLI("XADD", "other", lastID, "full", "up")
		v := start(t, s, load(t, write(t, [2]string{"torn.hcl", tornFile}, [2]string{"h.lua", replyScript}), nil), "host-a")
		v.ready()
		torn := s.CLI("XADD", "in", "*", "n", "1")
		s.CLI("XADD", "in", "*", "n", "2") // which has one reply
		alsoTorn := s.CLI("XADD", "in", "*", "n", "3")
		v.settled("s", observe.ResultReply, 3)
		// Long enough for whatever is still pending to be claimed and run again.
		began := serverTime(t, s)
		eventually(t, "three times min_idle passes", func() bool { return serverTime(t, s).Sub(began).Seconds() > 3 })
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(fields(t, s.Client(), "out"), " "); got != `_payload={"n":1} _payload={"n":2} _payload={"n":3}` {
			t.Errorf("published first: %s", got)
		}
		if got := fields(t, s.Client(), "other"); !slices.Equal(got, []string{"full=up"}) {
			t.Errorf("published second: %v", got)
		}
		expectClean(t, s, 0)
		v.record.mu.Lock()
		defer v.record.mu.Unlock()
		var told []string
		for _, e := range v.record.events {
			if e.Name != observe.EventReplyTorn {
				continue
			}
			told = append(told, strings.Fields(e.Message)[1])
			known, ok := errors.AsType[*broker.Error](e.Err)
			if e.Count != 1 || e.Subscription != "s" || !ok || known.Stream != "other" || !strings.Contains(e.Err.Error(), "exhausted") {
				t.Errorf("told: %+v", e)
			}
		}
		if want := []string{torn + ":", alsoTorn + ":"}; !slices.Equal(told, want) {
			t.Errorf("torn entries that were told: %v, want %v", told, want)
		}
	})
}

// Where the first reply is refused nothing is torn: the entry waits, held, with none of
// its replies published, until all can be.
func TestAReplyWhoseFirstPartIsRefusedWaitsWhole(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		s.CLI("XADD", "out", lastID, "full", "up")
		v := start(t, s, load(t, write(t, [2]string{"torn.hcl", tornFile}, [2]string{"h.lua", replyScript}), nil), "host-a")
		v.ready()
		s.CLI("XADD", "in", "*", "n", "1")
		v.record.wait(t, "it is told", func() bool { return countEvents(v, observe.EventSettleRefused) == 1 })
		began := serverTime(t, s)
		eventually(t, "three times min_idle passes", func() bool { return serverTime(t, s).Sub(began).Seconds() > 3 })
		if n, other := pendingNow(t, s), s.Client().XLen(t.Context(), "other").Val(); n != 1 || other != 0 {
			t.Fatalf("%d pending and %d published while the first is refused, want 1 and 0", n, other)
		}
		s.CLI("DEL", "out")
		v.settled("s", observe.ResultReply, 1)
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		for _, stream := range []string{"out", "other"} {
			if got := fields(t, s.Client(), stream); !slices.Equal(got, []string{`_payload={"n":1}`}) {
				t.Errorf("%s: %v", stream, got)
			}
		}
		if got := outcomes(v, "s"); len(got) != 1 {
			t.Errorf("outcomes %q: it ran again", got)
		}
		v.record.mu.Lock()
		defer v.record.mu.Unlock()
		if n := countEvents(v, observe.EventReplyTorn); n != 0 {
			t.Errorf("%d torn replies were told", n)
		}
		expectClean(t, s, 0)
	})
}
