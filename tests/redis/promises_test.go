package redis_test

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// owners are who holds what, by id; an entry that was delivered more than once
// fails the test.
func owners(t *testing.T, s *redistest.Server) map[string]string {
	t.Helper()
	all := map[string]string{}
	pending, err := s.Client().XPendingExt(t.Context(), &redis.XPendingExtArgs{Stream: "in", Group: "g", Start: "-", End: "+", Count: 1000}).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range pending {
		all[p.ID] = p.Consumer
		if p.RetryCount != 1 {
			t.Errorf("entry %s was delivered %d times", p.ID, p.RetryCount)
		}
	}
	return all
}

// serverTime is the time by the server's clock.
func serverTime(t *testing.T, s *redistest.Server) time.Time {
	t.Helper()
	now, err := s.Client().Time(t.Context()).Result()
	if err != nil {
		t.Fatal(err)
	}
	return now
}

func TestALongHandlerAndFiftyEntriesBehindItAreNotTakenFromTwoProcesses(t *testing.T) {
	const waiting, minIdle = 50, time.Second
	onEach(t, func(t *testing.T, s *redistest.Server) {
		g := newGate()
		path := write(t, [2]string{"reply.hcl", replyFile}, [2]string{"h.lua", replyScript})
		p := load(t, path, map[string]string{"min_idle": minIdle.String()})
		p.Groups[0].Subscriptions[0].Workers.Count = (waiting + 2) / 4 // each process holds twice as many
		var both []*service
		for _, host := range []string{"host-a", "host-b"} {
			both = append(both, startWith(t, s, p, host, map[string]sandbox.Handler{"h": g}))
		}
		for _, v := range both {
			v.ready()
		}
		pipe := s.Client().Pipeline()
		for i := range waiting + 2 {
			pipe.Do(t.Context(), "XADD", "in", "*", "n", i, "h:redis-partition-key", "k")
		}
		if _, err := pipe.Exec(t.Context()); err != nil {
			t.Fatal(err)
		}
		eventually(t, "both processes hold everything", func() bool { return len(owners(t, s)) == waiting+2 })
		held := owners(t, s)
		began := serverTime(t, s)
		for serverTime(t, s).Sub(began) < 10*minIdle {
			if now := owners(t, s); !maps.Equal(now, held) {
				t.Fatalf("an owner has changed: %v, were %v", now, held)
			}
			<-time.After(minIdle / 5)
		}
		close(g.open)
		eventually(t, "every entry has a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() >= waiting+2 })
		for _, v := range both {
			if err := v.drain(); err != nil {
				t.Error(err)
			}
		}
		if calls, off := g.calls.Load(), g.canceled.Load(); calls != waiting+2 || off != 0 {
			t.Errorf("the handler ran %d times and was called off %d times, want %d and never", calls, off, waiting+2)
		}
		replies := map[any]bool{}
		for _, e := range s.Client().XRange(t.Context(), "out", "-", "+").Val() {
			replies[e.Values["_payload"]] = true
		}
		if n := s.Client().XLen(t.Context(), "out").Val(); len(replies) != waiting+2 || n != waiting+2 {
			t.Errorf("%d replies, %d different ones, want %d", n, len(replies), waiting+2)
		}
		expectClean(t, s, 0)
	})
}

// sometimes is a handler that works until the test lets it go on, but for entries
// with a small n, and then replies as a gate does.
type sometimes struct {
	*gate

	from int
}

func (h sometimes) NewInstance(context.Context) (sandbox.Instance, error) {
	return sometimesInstance{h}, nil
}

type sometimesInstance struct{ sometimes }

func (sometimesInstance) Close() {}

func (h sometimesInstance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	n := *d.Body.Get("n")
	if small := len(n.Text()) < len(fmt.Sprint(h.from)); small {
		body := value.NewObject([]value.Value{n.Named("n")})
		return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: body}}}, sandbox.Usage{}
	}
	return gateInstance{h.gate}.Call(ctx, d)
}

func TestWhatIsBufferedAtASignalRunsElsewhereAtOnceAndUnburnt(t *testing.T) {
	const running, buffered, quick = 4, 16, 1000
	onOwn(t, func(t *testing.T, s *redistest.Server) {
		h := sometimes{newGate(), quick}
		path := write(t, [2]string{"reply.hcl", replyFile}, [2]string{"h.lua", replyScript})
		p := load(t, path, map[string]string{"min_idle": "60s"})
		p.Groups[0].Subscriptions[0].Workers.Count = running
		first := startWith(t, s, p, "host-a", map[string]sandbox.Handler{"h": h})
		first.ready()
		add := func(from, to int) {
			pipe := s.Client().Pipeline()
			for i := from; i < to; i++ {
				pipe.Do(t.Context(), "XADD", "in", "*", "n", i)
			}
			if _, err := pipe.Exec(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		add(0, quick) // the window of held entries grows with them
		eventually(t, "the quick ones have replies", func() bool { return s.Client().XLen(t.Context(), "out").Val() == quick })
		add(quick, quick+running+buffered)
		for range running {
			<-h.entered
		}
		eventually(t, "the others are held", func() bool { return len(owners(t, s)) == running+buffered })
		second := replier(t, s, "host-b", "60s", nil)
		second.ready()
		m, late := watch(t, s), lateness()
		began := serverTime(t, s)
		first.stop()
		// Those that run here go on; nobody waits for them.
		eventually(t, "the buffered ones have replies", func() bool {
			return s.Client().XLen(t.Context(), "out").Val() >= quick+buffered
		})
		expectWithin(t, s, began, quick, late())
		expectShortBlocks(t, m, time.Minute)
		close(h.open)
		for _, v := range []*service{first, second} {
			if err := v.drain(); err != nil {
				t.Error(err)
			}
		}
		expectOnce(t, s, quick+running+buffered)
		if calls := h.calls.Load(); calls != running {
			t.Errorf("%d handlers ran in the process that was stopped, want %d", calls, running)
		}
		second.record.mu.Lock()
		defer second.record.mu.Unlock()
		for _, o := range second.record.outcomes["s"] {
			if o.Deliveries != 0 || o.Attempt != 1 {
				t.Errorf("entry %v counts %d deliveries and attempt %d", o.ID, o.Deliveries, o.Attempt)
			}
		}
		if n := len(second.record.outcomes["s"]); n != buffered {
			t.Errorf("%d entries ran in the other process, want %d", n, buffered)
		}
	})
}

// onceLater is a handler that asks for its entry again in three seconds, and
// replies then.
type onceLater struct{ calls *atomic.Int64 }

func (h onceLater) NewInstance(context.Context) (sandbox.Instance, error) {
	return onceInstance{h}, nil
}
func (onceLater) Hash() string { return "later" }
func (onceLater) Close() error { return nil }

type onceInstance struct{ onceLater }

func (onceInstance) Close() {}

func (h onceInstance) Call(_ context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	if h.calls.Add(1) == 1 {
		return outcome.Outcome{Kind: outcome.Retry, HasAfter: true, After: 3 * time.Second}, sandbox.Usage{}
	}
	n := *d.Body.Get("n")
	body := value.NewObject([]value.Value{n.Named("n")})
	return outcome.Outcome{Kind: outcome.Reply, Replies: []outcome.Message{{Body: body}}}, sandbox.Usage{}
}

// How late it comes depends on the machine; that it comes in time where nothing
// else is slow is tested in the harness.
func TestARetryInThreeSecondsIsNeverEarlyUnderItsOwnID(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v := replier(t, s, "host-a", "30s", onceLater{new(atomic.Int64)})
		v.ready()
		id := s.CLI("XADD", "in", "*", "n", "0")
		eventually(t, "the entry has a reply", func() bool { return s.Client().XLen(t.Context(), "out").Val() > 0 })
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		reply := s.Client().XRange(t.Context(), "out", "-", "+").Val()[0].ID
		took := time.Duration(millis(t, reply)-millis(t, id)) * time.Millisecond
		if took < 3*time.Second || took > 20*time.Second {
			t.Errorf("the reply came after %v, want 3s", took)
		}
		t.Logf("the reply came after %v", took)
		if n := s.CLI("XLEN", "in"); n != "1" {
			t.Errorf("%s entries, want one: a retry appends no copy", n)
		}
		expectOnce(t, s, 1)
	})
}

// millis is the time in an id.
func millis(t *testing.T, id string) (ms int64) {
	t.Helper()
	text, _, _ := strings.Cut(id, "-")
	if _, err := fmt.Sscan(text, &ms); err != nil {
		t.Fatal(err)
	}
	return ms
}
