package redis_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/tests/redistest"
)

// holdFile holds the later entries of a key back.
const holdFile = `
pipeline "hold" {
  language      = 1
  drain_timeout = "15s"
}
broker "redis" {
  url = "redis://localhost:6379"
}
stream "in" {
  entry = object({ n = number, k = string })
}
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
    workers {
      count          = 4
      key            = entry.k
      while_retrying = "hold"
    }
  }
}
`

func holdScript(after string) string {
	return `
function handle(e, ctx)
  if e.n == 0 and ctx.deliveries == 0 then
    return retry({ after = "` + after + `" })
  end
  return ack()
end
`
}

// holder runs holdFile; the first entry is retried after that time.
func holder(t *testing.T, s *redistest.Server, host, after string) *service {
	t.Helper()
	path := write(t, [2]string{"hold.hcl", holdFile}, [2]string{"h.lua", holdScript(after)})
	return start(t, s, load(t, path, nil), host)
}

// fillKeys adds n entries of key a, and one of key b after them.
func fillKeys(t *testing.T, s *redistest.Server, n int) {
	t.Helper()
	pipe := s.Client().Pipeline()
	for i := range n {
		pipe.Do(t.Context(), "XADD", "in", "*", "n", i, "k", "a")
	}
	pipe.Do(t.Context(), "XADD", "in", "*", "n", n, "k", "b")
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// held waits until a service holds n entries back, and has none in flight.
func (v *service) held(n int) {
	v.t.Helper()
	eventually(v.t, fmt.Sprintf("%d entries are held", n), func() bool {
		sub := v.engine.Snapshot().Subscriptions[0]
		return sub.HeldBack == n && sub.Held == 0 && sub.Settled[observe.ResultAck] == 1
	})
}

// expectInOrder fails the test unless the entries of key a were acknowledged in
// order, each at its first attempt.
func expectInOrder(t *testing.T, v *service, n int) {
	t.Helper()
	var as []observe.Outcome
	v.record.mu.Lock()
	defer v.record.mu.Unlock()
	for _, o := range v.record.outcomes["s"] {
		if o.Key == "a" && o.Result == observe.ResultAck {
			as = append(as, o)
		}
	}
	if len(as) != n {
		t.Fatalf("%d entries of the key ran, want %d", len(as), n)
	}
	if !slices.IsSortedFunc(as, func(a, b observe.Outcome) int { return a.ID.Compare(b.ID) }) {
		t.Error("entries of the key ran out of order")
	}
	for i, o := range as {
		if o.Attempt != 1 || i > 0 && o.Deliveries != 0 {
			t.Fatalf("entry %s: attempt %d, %d deliveries: being held must cost nothing", o.ID, o.Attempt, o.Deliveries)
		}
	}
}

// TestHeldEntriesKeepTheirOrderForLongerThanMinIdleBesideAnotherProcess: nobody
// takes them over, nobody runs them early.
func TestHeldEntriesKeepTheirOrderForLongerThanMinIdleBesideAnotherProcess(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		const n = 1000
		first := holder(t, s, "host-a", "4s")
		first.ready()
		fillKeys(t, s, n)
		first.held(n)
		second := holder(t, s, "host-b", "4s")
		second.ready()
		first.settled("s", observe.ResultAck, n+1)
		expectInOrder(t, first, n)
		if got := outcomes(second, "s"); len(got) > 0 {
			t.Errorf("the other process has %d of them: %s", len(got), strings.Join(got[:1], ""))
		}
		for _, v := range []*service{first, second} {
			if err := v.drain(); err != nil {
				t.Error(err)
			}
		}
		expectClean(t, s, 0)
	})
}

// TestHeldEntriesOfADrainedProcessKeepTheirOrderInTheNext, which does not run the
// retried one before its time either.
func TestHeldEntriesOfADrainedProcessKeepTheirOrderInTheNext(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		const n = 500
		first := holder(t, s, "host-a", "3s")
		first.ready()
		fillKeys(t, s, n)
		first.held(n)
		if err := first.drain(); err != nil {
			t.Fatal(err)
		}
		second := holder(t, s, "host-a", "3s")
		second.ready()
		s.CLI("XADD", "in", "*", "n", fmt.Sprint(n+1), "k", "a") // behind them all
		second.settled("s", observe.ResultAck, n+1)
		expectInOrder(t, second, n+1)
		if err := second.drain(); err != nil {
			t.Error(err)
		}
		expectClean(t, s, 0)
	})
}
