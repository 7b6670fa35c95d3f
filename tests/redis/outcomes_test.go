package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// outcomesFile has one subscription whose handler does what the entry says.
const outcomesFile = `
pipeline "outcomes" {
  version  = "1.2.3"
  language = 1
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  entry = object({ do = string })
  max_entry_size = "1KiB"
}
stream "out" {}
stream "other" {}
stream "dead" {
  codec = "bytes"
}
handler "h" {
  source = "h.lua"
  limits {
    timeout      = "5s"
    instructions = 50000
  }
}
retry "quick" {
  max_attempts = 3
  delay        = "50ms"
  multiplier   = 1
  max_delay    = "1s"
  jitter       = 0
}
group "g" {
  stream = stream.in
  start  = "beginning"
  dead_letter {
    to = stream.dead
  }
  subscription "s" {
    handler = handler.h
    retry   = retry.quick
    claim {
      min_idle = "2s"
    }
    workers {
      count = 4
    }
    route "out" {
      to   = stream.out
      when = reply.n > 0
    }
    route "other" {
      to   = stream.other
      when = reply.n > 10
    }
  }
}
`

const outcomesScript = `
function handle(e, ctx)
  local d = e["do"]
  if d == "ack" then return ack() end
  if d == "drop" then return drop("not wanted") end
  if d == "dead" then return dead("stolen card") end
  if d == "one" then return { n = 1 } end
  if d == "both" then return { n = 11 } end
  if d == "named" then return reply({ n = -1 }, { to = "other", key = "k", headers = { trace = "t" } }) end
  if d == "none" then return { n = 0 } end
  if d == "later" then
    if ctx.deliveries == 0 then return retry{ after = "300ms", reason = "not yet" } end
    return ack()
  end
  if d == "error" then error("boom") end
  if d == "nothing" then return end
  if d == "loop" then while true do end end
end
`

// outcome is what became of a delivery, as text.
func outcomes(v *service, sub string) []string {
	v.record.mu.Lock()
	defer v.record.mu.Unlock()
	var all []string
	for _, o := range v.record.outcomes[sub] {
		s := fmt.Sprintf("%s#%d", o.Result, o.Attempt)
		for _, r := range o.Replies {
			s += " " + r.Stream + ":" + r.Body
		}
		if o.Reason != "" {
			s += " (" + o.Reason + ")"
		}
		if o.Kind != "" {
			s += " [" + string(o.Kind) + "]"
		}
		if o.Dead {
			s += " dead"
		}
		all = append(all, s)
	}
	return all
}

func TestEveryOutcome(t *testing.T) {
	for _, c := range []struct {
		name string
		// entry is what is added, as arguments of XADD.
		entry []string
		want  []string
		// streams is what stands in the other streams afterwards; of a dead
		// letter, what it contains.
		streams map[string][]string
	}{
		{name: "ack", entry: []string{"do", "ack"}, want: []string{"ack#1"}},
		{name: "drop", entry: []string{"do", "drop"}, want: []string{"drop#1 (not wanted)"}},
		{
			name: "dead", entry: []string{"do", "dead", "h:x", "y"}, want: []string{"dead#1 (stolen card) dead"},
			streams: map[string][]string{"dead": {"do=dead", "h:x=y", "h:dead-letter-reason=rejected", "stolen card", "h:dead-letter-group=g"}},
		},
		{
			name: "a value goes to the routes whose condition holds", entry: []string{"do", "one"},
			want:    []string{`reply#1 out:{"n":1}`},
			streams: map[string][]string{"out": {`_payload={"n":1}`}},
		},
		{
			name: "to several, in file order", entry: []string{"do", "both", "h:correlation-id", "c-1"},
			want:    []string{`reply#1 out:{"n":11} other:{"n":11}`},
			streams: map[string][]string{"out": {`h:correlation-id=c-1`}, "other": {`h:correlation-id=c-1`}},
		},
		{
			name: "a named route whatever its condition says", entry: []string{"do", "named"},
			want:    []string{`reply#1 other:{"n":-1}`},
			streams: map[string][]string{"other": {`h:redis-partition-key=k`, `h:trace=t`}},
		},
		{
			name: "no route holds", entry: []string{"do", "none"},
			want: []string{"failed#1 [no_route]", "failed#2 [no_route]", "failed#3 (failed) [no_route] dead"},
		},
		{
			name: "a retry that names a time keeps its place and costs no attempt", entry: []string{"do", "later"},
			want: []string{"retry#1 (not yet)", "ack#1"},
		},
		{
			name: "an error is retried and then a dead letter", entry: []string{"do", "error", "a", "1"},
			want:    []string{"failed#1 [error]", "failed#2 [error]", "failed#3 (failed) [error] dead"},
			streams: map[string][]string{"dead": {"do=error a=1 h:dead-letter-reason=failed", "boom", "h:dead-letter-attempts=3", "1.2.3"}},
		},
		{
			name: "a forgotten return never acknowledges", entry: []string{"do", "nothing"},
			want: []string{"failed#1 [result]", "failed#2 [result]", "failed#3 (failed) [result] dead"},
		},
		{
			name: "an endless loop costs one attempt", entry: []string{"do", "loop"},
			want: []string{"failed#1 [instructions]", "failed#2 [instructions]", "failed#3 (failed) [instructions] dead"},
		},
		{
			name: "an entry that does not decode never runs", entry: []string{"_payload", `{"do":`},
			want:    []string{"invalid#1 (invalid) dead"},
			streams: map[string][]string{"dead": {`_payload={"do": h:dead-letter-reason=invalid`}},
		},
		{
			name: "a missing field is invalid", entry: []string{"x", "1"},
			want:    []string{"invalid#1 (invalid) dead"},
			streams: map[string][]string{"dead": {"x=1 h:dead-letter-reason=invalid"}},
		},
		{
			name: "too large an entry is not parsed", entry: []string{"_payload", strings.Repeat("x", 1025)},
			want:    []string{"invalid#1 (too_large) dead"},
			streams: map[string][]string{"dead": {"h:dead-letter-reason=too_large"}},
		},
		{
			name: "a retry's copy for another group is passed over", entry: []string{"do", "ack", "h:x-retry-group", "z", "h:x-retry-count", "1"},
			want: []string{"foreign_retry#1"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				path := write(t, [2]string{"outcomes.hcl", outcomesFile}, [2]string{"h.lua", outcomesScript})
				v := start(t, s, load(t, path, nil), "host-a")
				v.ready()
				s.CLI(append([]string{"XADD", "in", "*"}, c.entry...)...)
				v.record.wait(t, strings.Join(c.want, ", "), func() bool { return len(v.record.outcomes["s"]) >= len(c.want) })
				if err := v.drain(); err != nil {
					t.Error(err)
				}
				if got := outcomes(v, "s"); !slices.Equal(got, c.want) {
					t.Errorf("outcomes:\n%s\nwant:\n%s", strings.Join(got, "\n"), strings.Join(c.want, "\n"))
				}
				for _, stream := range []string{"out", "other", "dead"} {
					expectStream(t, s, stream, c.streams[stream], slices.ContainsFunc(c.want, isDead) && stream == "dead")
				}
				if n := s.CLI("XPENDING", "in", "g"); !strings.HasPrefix(n, "0") {
					t.Errorf("still pending: %s", n)
				}
			})
		})
	}
}

func isDead(s string) bool { return strings.HasSuffix(s, " dead") }

// expectStream checks that a stream has one entry that contains the parts, or
// none when there are no parts.
func expectStream(t *testing.T, s *redistest.Server, stream string, parts []string, dead bool) {
	t.Helper()
	got := fields(t, s.Client(), stream)
	want := 0
	if len(parts) > 0 || dead {
		want = 1
	}
	if len(got) != want {
		t.Errorf("%s holds %d entries, want %d: %v", stream, len(got), want, got)
		return
	}
	for _, p := range parts {
		if !strings.Contains(got[0], p) {
			t.Errorf("%s: %q does not contain %q", stream, got[0], p)
		}
	}
}

func TestAWrongKeyEndsOneSubscriptionAndTheOthersGoOn(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		p := load(t, payments, exampleVars(s, "2s"))
		// The fraud group reads another stream here, and that is none.
		other := *p.Stream("payments")
		other.Name = "not-a-stream"
		for _, g := range p.Groups {
			if g.Label == "fraud" {
				g.Stream = &other
			}
		}
		s.CLI("SET", "not-a-stream", "x")
		v := start(t, s, p, "host-a")
		v.ready()
		s.CLI("XADD", "payments", "*", "id", "7", "account", "acct-1", "amount_cents", "1")
		v.settled(poster(s), observe.ResultAck, 1)
		v.record.wait(t, "the failure is told", func() bool {
			return slices.ContainsFunc(v.record.events, func(e observe.Event) bool {
				return e.Name == observe.EventFailed && e.Subscription == "screen_payment" && strings.Contains(e.Err.Error(), "not-a-stream")
			})
		})
	})
}

// A reply stream of another type ends the subscription that replies: it names the
// key, the entry stays pending, and the others go on.
func TestAReplyStreamOfAnotherTypeEndsOneSubscriptionAndKeepsItsEntry(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		p := load(t, payments, exampleVars(s, "2s"))
		s.CLI("SET", "payments.screened", "x")
		v := start(t, s, p, "host-a")
		v.ready()
		s.CLI("XADD", "payments", "*", "id", "7", "account", "acct-1", "amount_cents", "1")
		v.settled(poster(s), observe.ResultAck, 1)
		v.record.wait(t, "the failure is told", func() bool {
			return slices.ContainsFunc(v.record.events, func(e observe.Event) bool {
				return e.Name == observe.EventFailed && e.Subscription == "screen_payment" &&
					strings.Contains(e.Err.Error(), "payments.screened") && strings.Contains(e.Err.Error(), "string")
			})
		})
		if p, err := s.Client().XPending(t.Context(), "payments", "fraud").Result(); err != nil || p.Count != 1 {
			t.Errorf("pending of the group that failed: %+v, %v", p, err)
		}
		s.CLI("XADD", "payments", "*", "id", "8", "account", "acct-1", "amount_cents", "1")
		v.settled(poster(s), observe.ResultAck, 2)
	})
}
