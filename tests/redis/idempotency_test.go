package redis_test

import (
	"fmt"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// onceFile is replyFile that replies to each n once in an hour.
var onceFile = strings.Replace(replyFile, "    reply {\n", `    workers {
      count = 4
    }
    idempotency {
      key    = entry.n
      window = "1h"
    }
    reply {
`, 1)

// deduplicator runs onceFile, with its script or with a handler of the test's own.
func deduplicator(t *testing.T, s *redistest.Server, host, minIdle string, own sandbox.Handler) *service {
	t.Helper()
	path := write(t, [2]string{"once.hcl", onceFile}, [2]string{"h.lua", replyScript})
	p := load(t, path, map[string]string{"min_idle": minIdle})
	if own == nil {
		return start(t, s, p, host)
	}
	return startWith(t, s, p, host, map[string]sandbox.Handler{"h": own})
}

// add adds an entry for each n.
func add(t *testing.T, s *redistest.Server, ns ...int) {
	t.Helper()
	pipe := s.Client().Pipeline()
	for _, n := range ns {
		pipe.Do(t.Context(), "XADD", "in", "*", "n", n)
	}
	if _, err := pipe.Exec(t.Context()); err != nil {
		t.Fatal(err)
	}
}

// pendingNow is how many entries are pending in the group.
func pendingNow(t *testing.T, s *redistest.Server) int64 {
	t.Helper()
	p, err := s.Client().XPending(t.Context(), "in", "g").Result()
	if err != nil {
		t.Fatal(err)
	}
	return p.Count
}

// Two processes get copies of the same entries in whatever order; each key is
// published once, and every entry is acknowledged as one of the two.
func TestTwoProcessesPublishEachKeyOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		a, b := deduplicator(t, s, "host-a", "5s", nil), deduplicator(t, s, "host-b", "5s", nil)
		a.ready()
		b.ready()
		const keys, copies = 300, 4
		var ns []int
		for i := range keys * copies {
			ns = append(ns, i/2%keys) // pairs beside each other, and others far apart
		}
		add(t, s, ns...)
		counted := func(r observe.Result) int {
			n := 0
			for _, v := range []*service{a, b} {
				v.record.mu.Lock()
				n += v.record.count["s"][r]
				v.record.mu.Unlock()
			}
			return n
		}
		eventually(t, "every entry is settled", func() bool {
			return counted(observe.ResultReply)+counted(observe.ResultDuplicate) >= keys*copies
		})
		if got := counted(observe.ResultReply); got != keys || pendingNow(t, s) != 0 {
			t.Errorf("%d replies, want %d; %d pending", got, keys, pendingNow(t, s))
		}
		seen := map[string]int{}
		for _, m := range s.Client().XRange(t.Context(), "out", "-", "+").Val() {
			seen[fmt.Sprint(m.Values["_payload"])]++
		}
		if len(seen) != keys {
			t.Errorf("%d different replies", len(seen))
		}
		for body, n := range seen {
			if n != 1 {
				t.Errorf("%s was published %d times", body, n)
			}
		}
	})
}

// Both run the same key at the same time; the one that is settled second
// publishes nothing.
func TestOneKeyRunsInTwoProcessesAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		first, second := newGate(), newGate()
		a := deduplicator(t, s, "host-a", "20s", first)
		a.ready()
		add(t, s, 7)
		<-first.entered
		// The second process gets the copy: the first one has no free worker for it.
		b := deduplicator(t, s, "host-b", "20s", second)
		b.ready()
		add(t, s, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7)
		<-second.entered
		close(second.open)
		b.settled("s", observe.ResultReply, 1)
		close(first.open)
		eventually(t, "all is settled", func() bool { return pendingNow(t, s) == 0 })
		a.record.wait(t, "a duplicate that ran", func() bool { return a.record.count["s"][observe.ResultDuplicate] > 0 })
		if n := s.Client().XLen(t.Context(), "out").Val(); n != 1 {
			t.Errorf("%d replies", n)
		}
	})
}

// A full server makes a group that deduplicates wait: nothing is acknowledged
// whose key could not be marked, what is a duplicate already is, and the work
// goes on by itself.
func TestAFullServerMakesTheGroupWait(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			path := write(t, [2]string{"once.hcl", strings.Replace(onceFile, "    reply {\n      to = stream.out\n    }\n", "", 1)},
				[2]string{"h.lua", "function handle() return ack() end"})
			v := start(t, s, load(t, path, map[string]string{"min_idle": "3s"}), "host-a")
			v.ready()
			add(t, s, 1)
			v.settled("s", observe.ResultAck, 1)
			add(t, s, 2)
			v.settled("s", observe.ResultAck, 2)
			full(t, s, true)
			addWhileFull(t, s, 3, 1, 4)
			v.settled("s", observe.ResultDuplicate, 1)
			v.record.wait(t, "the refusals are told", func() bool { return countEvents(v, observe.EventSettleRefused) == 1 })
			if got := pendingNow(t, s); got != 2 {
				t.Errorf("%d pending while the server is full", got)
			}
			v.record.mu.Lock()
			acked := v.record.count["s"][observe.ResultAck]
			v.record.mu.Unlock()
			if acked != 2 {
				t.Errorf("%d acknowledged while the server is full", acked)
			}
			full(t, s, false)
			v.settled("s", observe.ResultAck, 4)
			if got := pendingNow(t, s); got != 0 {
				t.Errorf("%d pending in the end", got)
			}
			v.record.mu.Lock()
			defer v.record.mu.Unlock()
			for _, o := range v.record.outcomes["s"] {
				if o.Attempt != 1 {
					t.Errorf("%+v was run again", o)
				}
			}
		})
	}
}

// full makes the server refuse whatever takes memory, or not.
func full(t *testing.T, s *redistest.Server, on bool) {
	t.Helper()
	limit := "0"
	if on {
		limit = "1"
	}
	if err := s.Client().ConfigSet(t.Context(), "maxmemory", limit).Err(); err != nil {
		t.Fatal(err)
	}
}

// addWhileFull adds entries in one step with a first write, after which a full
// server takes more.
func addWhileFull(t *testing.T, s *redistest.Server, ns ...int) {
	t.Helper()
	const text = `
redis.call('DEL', 'nothing')
for i = 1, #ARGV do redis.call('XADD', KEYS[1], '*', 'n', ARGV[i]) end`
	args := []any{"EVAL", text, 1, "in"}
	for _, n := range ns {
		args = append(args, n)
	}
	if err := s.Client().Do(t.Context(), args...).Err(); err != nil && !strings.Contains(err.Error(), "nil") {
		t.Fatal(err)
	}
}

// A process that is drained and started again, and one whose group is lost, know
// what was settled.
func TestMarksOutliveProcessesAndGroups(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v := deduplicator(t, s, "host-a", "2s", nil)
		v.ready()
		add(t, s, 1, 2, 3)
		v.settled("s", observe.ResultReply, 3)
		if err := v.drain(); err != nil {
			t.Fatal(err)
		}
		v = deduplicator(t, s, "host-a", "2s", nil)
		v.ready()
		add(t, s, 2)
		v.settled("s", observe.ResultDuplicate, 1)
		s.Client().Del(t.Context(), "{in}:pipeline:g:floor") // so that all is read again
		s.Client().XGroupDestroy(t.Context(), "in", "g")
		v.settled("s", observe.ResultDuplicate, 5)
		add(t, s, 4)
		v.settled("s", observe.ResultReply, 1)
		if n := s.Client().XLen(t.Context(), "out").Val(); n != 4 {
			t.Errorf("%d replies", n)
		}
	})
}
