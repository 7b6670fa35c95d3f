package redis_test

import (
	"context"
	"slices"
	"strings"
	"testing"

	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/sandbox"
	"pipeline/tests/redistest"
)

// acker is a gate that acknowledges instead of replying.
type acker struct{ *gate }

func (h acker) NewInstance(context.Context) (sandbox.Instance, error) { return ackerInstance{h}, nil }

type ackerInstance struct{ acker }

func (ackerInstance) Close() {}

func (h ackerInstance) Call(ctx context.Context, d *sandbox.Delivery) (outcome.Outcome, sandbox.Usage) {
	out, used := gateInstance{h.gate}.Call(ctx, d)
	if out.Kind == outcome.Reply {
		out = outcome.Outcome{Kind: outcome.Ack}
	}
	return out, used
}

// stolen has an entry run here and taken over by another consumer, and returns the
// service and its handler, which is still at work.
func stolen(t *testing.T, s *redistest.Server, file string) (*service, *gate) {
	t.Helper()
	g := newGate()
	path := write(t, [2]string{"p.hcl", file}, [2]string{"h.lua", replyScript})
	p := load(t, path, map[string]string{"min_idle": "60s"})
	v := startWith(t, s, p, "host-a", map[string]sandbox.Handler{"h": acker{g}})
	v.ready()
	id := s.CLI("XADD", "in", "*", "n", "0")
	g.begun(t)
	s.CLI("XCLAIM", "in", "g", "other", "0", id)
	return v, g
}

// An acknowledgement says that a handler finished, whoever has the entry now.
func TestTheFirstFinishedAcknowledgementWins(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v, g := stolen(t, s, replyFile)
		close(g.open)
		v.settled("s", observe.ResultAck, 1)
		if n := pendingNow(t, s); n != 0 {
			t.Errorf("%d pending", n)
		}
	})
}

// In a group that marks keys it may not: who has the entry now would find no mark,
// and nothing to mark it with.
func TestAnAcknowledgementIsFencedInAGroupThatMarksKeys(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		v, g := stolen(t, s, onceFile)
		close(g.open)
		v.settled("s", observe.ResultStale, 1)
		if held := holders(t, s); !slices.Equal(held, []string{"other"}) {
			t.Errorf("pending under %v", held)
		}
		if n := s.Client().Exists(t.Context(), marksKey(t, s)...).Val(); n != 0 {
			t.Error("the key was marked")
		}
	})
}

// holders are the consumers of what is pending, an entry each.
func holders(t *testing.T, s *redistest.Server) []string {
	t.Helper()
	var all []string
	reply, err := s.Client().Do(t.Context(), "XPENDING", "in", "g", "-", "+", "1000").Slice()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range reply {
		all = append(all, p.([]any)[1].(string))
	}
	return all
}

// marksKey are the keys that hold marks.
func marksKey(t *testing.T, s *redistest.Server) []string {
	t.Helper()
	keys, err := s.Client().Keys(t.Context(), "*:marks:*").Result()
	if err != nil {
		t.Fatal(err)
	}
	return append(keys, "none")
}

// another is a script that deletes the stream, as a failover that lost it does,
// adds another entry under the id of the first, and has somebody else read it.
const another = `
redis.call('DEL', KEYS[1])
redis.call('XGROUP', 'CREATE', KEYS[1], 'g', '0', 'MKSTREAM')
redis.call('XADD', KEYS[1], ARGV[1], 'n', '1')
return redis.call('XREADGROUP', 'GROUP', 'g', 'other', 'STREAMS', KEYS[1], '>')[1][2][1][1]`

// A server that comes back without its last writes gives out ids anew. What was
// decided about the earlier entry must not acknowledge the later one, which
// somebody else has: if that one failed with it, it would be lost.
func TestAnAcknowledgementFromBeforeTheServerWasLostIsFenced(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			g := newGate()
			v := replier(t, s, "host-a", "60s", acker{g})
			v.ready()
			id := s.CLI("XADD", "in", "*", "n", "0")
			g.begun(t)
			s.CLI("CLIENT", "KILL", "TYPE", "normal")
			v.record.wait(t, "the lost server is told", func() bool { return countEvents(v, observe.EventServerLost) > 0 })
			if got := s.CLI("EVAL", another, "1", "in", id); got != id {
				t.Fatalf("the other entry is %s, want %s", got, id)
			}
			close(g.open)
			v.settled("s", observe.ResultStale, 1)
			if held := holders(t, s); !slices.Equal(held, []string{"other"}) {
				t.Errorf("pending under %v", held)
			}
		})
	}
}

// The same where this process itself is given the other entry: what it still does
// for the first one is called off, and the other one has its own reply.
func TestAnEntryThatTakesTheIdOfOneInHandRunsItself(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		g := newGate()
		v := replier(t, s, "host-a", "60s", g)
		v.ready()
		id := s.CLI("XADD", "in", "*", "n", "0")
		g.begun(t)
		s.CLI("EVAL", `redis.call('DEL', KEYS[1]) return redis.call('XADD', KEYS[1], ARGV[1], 'n', '1')`, "1", "in", id)
		g.begun(t)
		close(g.open)
		v.settled("s", observe.ResultReply, 1)
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		if got := strings.Join(fields(t, s.Client(), "out"), " "); got != `_payload={"n":1}` {
			t.Errorf("replies: %s", got)
		}
		if off := g.canceled.Load(); off != 1 {
			t.Errorf("%d handlers were called off, want the first", off)
		}
		expectClean(t, s, 0)
	})
}
