package redis_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// A group is created where its start says, with its stream if need be; the cursor
// of one that is there is not moved, whatever the start.
func TestAGroupBeginsAtItsStartAndItsCursorIsNotMoved(t *testing.T) {
	const begins = `start  = "beginning"`
	for _, c := range []struct {
		name, start string
		// existing is where the group stands before, empty for none.
		existing string
		want     string
	}{
		{"the beginning", begins, "", "[0 1 2 3]"},
		{"new entries", `start  = "new"`, "", "[3]"},
		{"after an entry", `start  = "1700000000000-0"`, "", "[1 2 3]"},
		{"one that is there, at the beginning", begins, "1700000000001-0", "[2 3]"},
		{"one that is there, at new entries", `start  = "new"`, "1700000000000-0", "[1 2 3]"},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				for i, id := range []string{"1700000000000-0", "1700000000001-0", "1700000000002-0"} {
					s.CLI("XADD", "in", id, "n", fmt.Sprint(i))
				}
				if c.existing != "" {
					s.CLI("XGROUP", "CREATE", "in", "g", c.existing)
				}
				p := parts{subscription: toOut, script: `function handle(e) return e.n end`}
				path := write(t, [2]string{"one.hcl", strings.Replace(p.file(), begins, c.start, 1)}, [2]string{"h.lua", p.script})
				v := start(t, s, load(t, path, nil), "host-a")
				v.ready()
				s.CLI("XADD", "in", "*", "n", "3")
				want := strings.NewReplacer("[", "", "]", "", " ", ` _payload="`).Replace(strings.Replace(c.want, "[", `_payload="`, 1))
				want = strings.ReplaceAll(want, ` _`, `" _`) + `"`
				eventually(t, "there are the replies "+want, func() bool { return strings.Join(fields(t, s.Client(), "out"), " ") == want })
				if err := v.drain(); err != nil {
					t.Error(err)
				}
			})
		})
	}
	t.Run("with its stream", func(t *testing.T) {
		onEach(t, func(t *testing.T, s *redistest.Server) {
			v := replier(t, s, "host-a", "2s", nil)
			v.ready()
			if n := s.CLI("XLEN", "in"); n != "0" || !strings.Contains(s.CLI("XINFO", "GROUPS", "in"), "g") {
				t.Errorf("the stream has %s entries", n)
			}
		})
	})
}

// Only what can be worked on soon is taken: twice the workers at first.
func TestNoMoreIsTakenThanCanBeWorkedOn(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim + "\nworkers {\n      count = 3\n    }"}, lasting(time.Hour))
		w.work("a")
		for range 200 {
			w.add("n", "1")
		}
		w.advance(5 * time.Minute)
		if n := len(w.Pending("g")); n < 3 || n > 6 {
			t.Errorf("%d entries are held by three workers, want 3 to 6", n)
		}
		w.work("b")
		w.advance(minIdle)
		if n := len(w.Pending("g")); n < 6 || n > 12 {
			t.Errorf("%d entries are held by two consumers, want 6 to 12", n)
		}
	})
}

// counted counts the entries that reads ask for.
type counted struct {
	broker.Broker
	asked *[]int
}

func (c counted) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	ds, err := c.Broker.Read(ctx, r)
	if len(ds) > 0 {
		*c.asked = append(*c.asked, r.Count)
	}
	return ds, err
}

// A read asks for as many entries as fit into 16 MiB, by the largest recent one.
func TestReadsAreBoundedByTheSizeOfEntries(t *testing.T) {
	onWays(t, []way{byReads, noClaim}, func(t *testing.T, s *redistest.Server, way way) {
		var asked []int
		w := stop(t, s, parts{
			stream: "codec = \"bytes\"\n  max_entry_size = \"8MiB\"", subscription: way.claim + "\nworkers {\n      count = 50\n    }",
		}, nil, func(c *harness.Config) {
			c.Wrap = func(_ string, b broker.Broker) broker.Broker { return counted{b, &asked} }
		})
		w.work("a")
		w.add("_payload", "small")
		w.add("_payload", strings.Repeat("x", 4<<20))
		w.add("_payload", "small again")
		if len(asked) != 3 || asked[0] < 50 || asked[1] < 50 || asked[2] > 4 || asked[2] < 3 {
			t.Errorf("reads asked for %v entries, want at most 4 after one of 4 MiB", asked)
		}
	})
}

// Claimed entries come first and fill a read: the next one takes new ones, so that
// what comes back again and again starves nobody.
func TestWhatComesBackAgainAndAgainDoesNotStarveNewEntries(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: strings.Replace(way.claim, "30s", "500ms", 1) + "\nbatch = 4", script: `function handle(e)
  if e.again then return retry() end
  return ack()
end`}, nil)
		for range 40 {
			w.add("again", "1")
		}
		w.work("a")
		// More comes back than can be worked on: it would fill every read and page.
		if err := w.Arm(harness.Fault{Kind: harness.Slow, For: 300 * time.Millisecond}); err != nil {
			t.Fatal(err)
		}
		w.advance(5 * time.Second)
		before := len(w.Calls("s"))
		for range 20 {
			w.add("n", "1")
		}
		w.advance(20 * time.Second) // half of it is theirs, and 6 s are enough for them
		done := 0
		for _, c := range w.Calls("s")[before:] {
			if c.Outcome == observe.ResultAck {
				done++
			}
		}
		if done != 20 {
			t.Errorf("%d of 20 new entries were done beside %d that come back", done, 40)
		}
	})
}

// What is pending without a body goes out of the pending list, is told with its
// id, and no handler sees it; what has one stays as it is.
func TestPendingEntriesWithoutABodyAreClearedAwayAndTold(t *testing.T) {
	const dead = 2000 // more than one look clears away
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim}, nil)
		w.work("a")
		w.advance(59 * time.Second) // the looks of the janitor are a minute apart
		stream := w.keys.Key("in")
		ids := w.do("EVAL", `
for i = 1, tonumber(ARGV[1]) do redis.call('XADD', KEYS[1], '*', 'n', i) end
redis.call('XREADGROUP', 'GROUP', 'g', 'gone', 'COUNT', ARGV[1], 'STREAMS', KEYS[1], '>')
local ids = {}
for i, p in ipairs(redis.call('XPENDING', KEYS[1], 'g', '-', '+', ARGV[1])) do
  ids[i] = p[1]
  redis.call('XCLAIM', KEYS[1], 'g', 'gone', 0, p[1], 'IDLE', 3600000, 'JUSTID')
end
redis.call('XTRIM', KEYS[1], 'MAXLEN', 0)
return ids`, 1, stream, dead).([]any)
		first, last := ids[0].(string), ids[dead-1].(string)
		w.add("n", "1")
		w.advance(5 * time.Second)
		if n := len(w.Pending("g")); n != 0 {
			t.Errorf("%d are still pending", n)
		}
		text := ""
		for _, e := range w.Events() {
			if e.Name == observe.EventBodyMissing {
				text += e.Message + "\n"
			}
		}
		if n := w.told("entry.body_missing"); n != dead || !strings.Contains(text, first) || !strings.Contains(text, last) {
			t.Errorf("told of %d, want %d; of the first: %v, of the last: %v", n, dead, strings.Contains(text, first), strings.Contains(text, last))
		}
		if got := w.calls(); !slices.Equal(got, []string{"ack#1/0"}) {
			t.Errorf("ran %q, want the one that has a body", got)
		}
	})
}

// What another consumer is given without a body is not run either: taken over by
// name, or claimed.
func TestNoHandlerSeesAnEntryWithoutABody(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim, script: askedFor("5s")}, nil)
		first := w.work("a")
		w.add("n", "1")
		w.add("n", "2")
		if err := first.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.advance(10 * time.Second)
		w.do("XDEL", w.keys.Key("in"), w.Pending("g")[0].ID.String())
		w.work("a")
		w.advance(3 * time.Minute)
		if got, want := w.calls(), []string{"retry#1/0", "retry#1/0", "ack#1/1"}; !slices.Equal(got, want) {
			t.Errorf("came to %q, want %q", got, want)
		}
	})
}

// Consumers that are gone are removed when they hold nothing and have long been
// idle, never while something is pending under them.
func TestOnlyConsumersThatHoldNothingAreRemoved(t *testing.T) {
	onWays(t, claimWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claim, script: `function handle(e)
  if e.n == "later" then return retry{ after = "24h" } end
  return ack()
end`}, nil)
		empty := w.work("empty")
		w.add("n", "1")
		full := w.work("full")
		if err := empty.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		w.add("n", "later")
		if err := full.Kill(t.Context()); err != nil {
			t.Fatal(err)
		}
		names := func() string {
			var all []string
			for _, c := range w.server.Client().XInfoConsumers(t.Context(), w.keys.Key("in"), "g").Val() {
				all = append(all, c.Name)
			}
			return strings.Join(all, " ")
		}
		w.work("b")
		w.advance(9 * time.Minute)
		if got := names(); !strings.Contains(got, empty.Consumer("s")) {
			t.Errorf("consumers %q: one that was idle for nine minutes is gone", got)
		}
		w.advance(5 * time.Minute)
		if got := names(); strings.Contains(got, empty.Consumer("s")) || len(w.Pending("g")) != 1 {
			t.Errorf("consumers %q, pending %v", got, w.Pending("g"))
		}
	})
}

// Entries of a read whose answer is lost are pending here and known to nobody:
// they are found at once, and run once.
func TestALostReadIsFoundAtOnce(t *testing.T) {
	onWays(t, allWays, func(t *testing.T, s *redistest.Server, way way) {
		w := stop(t, s, parts{subscription: way.claimsAndReplies()}, harness.Func(func(_ context.Context, v *sandbox.Delivery) outcome.Outcome { return replyOf(v) }))
		w.work("a")
		w.arm(harness.Fault{Kind: harness.LostReply, At: harness.AtRead})
		w.add("n", "1")
		w.advance(5 * time.Second)
		if n := len(w.Entries("out")); n != 1 || len(w.Pending("g")) != 0 || len(w.Armed()) != 0 {
			t.Errorf("%d replies, pending %v, armed %v", n, w.Pending("g"), w.Armed())
		}
	})
}
