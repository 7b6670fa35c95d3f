package redis_test

import (
	"context"
	"fmt"
	"slices"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
	"pipeline/engine/spec"
	"pipeline/tests/redistest"
)

// keeping is a retention block.
func keeping(bounds string) string { return "retention {\n    " + bounds + "\n  }" }

const protected = "protect = \"unacknowledged\""

// rounds is long enough for every stream to have been trimmed.
const rounds = time.Minute

// left are the numbers of the entries that a stream still has.
func (w *stopped) left() []string {
	w.t.Helper()
	var left []string
	for _, raw := range w.do("XRANGE", w.keys.Key("in"), "-", "+").([]any) {
		left = append(left, raw.([]any)[1].([]any)[1].(string))
	}
	return left
}

func (w *stopped) leaves(what string, want ...string) {
	w.t.Helper()
	w.advance(rounds)
	if got := w.left(); !slices.Equal(got, want) {
		w.t.Fatalf("%s: left %q, want %q", what, got, want)
	}
}

// The slowest group decides what goes: what it has not read or not acknowledged
// stays, whoever else is done with it, and a group that never read keeps all.
func TestTheSlowestGroupDecidesWhatIsTrimmed(t *testing.T) {
	for name, bound := range map[string]string{"by length": "max_length = 2", "by age": "max_age = \"1s\""} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				w := stop(t, s, parts{stream: keeping(bound + "\n    " + protected), subscription: byAutoclaim.claim}, nil)
				w.work("a")
				key := w.keys.Key("in")
				w.do("XGROUP", "CREATE", key, "slow", "0")
				w.do("XGROUP", "CREATE", key, "swift", "0")
				var ids []any
				for i := range 6 {
					ids = append(ids, w.add("n", fmt.Sprint(i)).String())
				}
				w.do("XREADGROUP", "GROUP", "swift", "c", "STREAMS", key, ">")
				w.do(append([]any{"XACK", key, "swift"}, ids...)...)
				w.leaves("a group that never read", "0", "1", "2", "3", "4", "5")
				w.do("XREADGROUP", "GROUP", "slow", "c", "COUNT", 4, "STREAMS", key, ">")
				w.leaves("nothing acknowledged", "0", "1", "2", "3", "4", "5")
				w.do("XACK", key, "slow", ids[0], ids[2])
				w.leaves("one pending between", "1", "3", "4", "5")
				w.do("XACK", key, "slow", ids[1])
				w.do("XACK", key, "slow", ids[3])
				w.leaves("what is not read", "4", "5")
				w.do("XGROUP", "DESTROY", key, "slow")
				if name == "by age" {
					w.leaves("a group that is gone keeps nothing")
				}
				if len(w.Calls("s")) != 6 || w.told("stream.trim_refused") != 0 {
					t.Errorf("calls %q", w.calls())
				}
			})
		})
	}
}

// Without protect the file's bound is kept to whoever has read what: that is what
// validate and plan warn of.
func TestWithoutProtectWhatNobodyReadGoesToo(t *testing.T) {
	for name, c := range map[string]struct {
		bound string
		want  []string
	}{
		"by length": {"max_length = 2", []string{"4", "5"}},
		"by age":    {"max_age = \"1s\"", nil},
	} {
		t.Run(name, func(t *testing.T) {
			onEach(t, func(t *testing.T, s *redistest.Server) {
				w := stop(t, s, parts{stream: keeping(c.bound), subscription: byAutoclaim.claim}, nil)
				w.work("a")
				w.do("XGROUP", "CREATE", w.keys.Key("in"), "slow", "0")
				for i := range 6 {
					w.add("n", fmt.Sprint(i))
				}
				w.leaves("the bound alone", c.want...)
			})
		})
	}
}

// A stream is trimmed while its reader is far behind: protected, every entry is
// run, once, and in the end the stream is as long as declared.
func TestTrimmingBesideAConsumerThatLags(t *testing.T) {
	const entries = 60
	onEach(t, func(t *testing.T, s *redistest.Server) {
		w := stop(t, s, parts{
			stream:       keeping("max_length = 5\n    " + protected),
			subscription: byAutoclaim.claimsAndReplies("workers {\n      count = 1\n    }"),
		}, lasting(10*time.Second))
		w.work("a")
		adds := make([]broker.Add, entries)
		for i := range adds {
			adds[i] = broker.Add{Stream: "in", Fields: []broker.Field{{Name: "n", Value: fmt.Sprint(i)}}}
		}
		if _, err := w.Publish(adds...); err != nil {
			t.Fatal(err)
		}
		shrank := false
		for range entries / 6 {
			w.advance(time.Minute)
			done, left := len(w.Calls("s")), len(w.left())
			if left < entries-done {
				t.Fatalf("%d entries are left when %d of %d have begun", left, done, entries)
			}
			shrank = shrank || left > 5 && left < entries
		}
		w.advance(2 * time.Minute)
		if got := w.left(); !shrank || len(got) != 5 || got[0] != fmt.Sprint(entries-5) {
			t.Errorf("trimmed on the way: %v; left %q", shrank, got)
		}
		ran := map[broker.ID]int{}
		for _, c := range w.Calls("s") {
			ran[c.ID]++
		}
		if len(ran) != entries || len(w.Calls("s")) != entries || w.told("entry.body_missing") != 0 {
			t.Errorf("%d entries ran %d times, %d without a body", len(ran), len(w.Calls("s")), w.told("entry.body_missing"))
		}
	})
}

// Dead letters go by age, too, and not before.
func TestDeadLettersAreTrimmedByAge(t *testing.T) {
	onEach(t, func(t *testing.T, s *redistest.Server) {
		age := func(cfg *harness.Config) {
			for _, stream := range cfg.Pipeline.Streams {
				if stream.Name == "dead" {
					stream.Retention = &spec.Retention{MaxAge: 10 * time.Minute}
				}
			}
		}
		w := stop(t, s, parts{subscription: byAutoclaim.claim, script: `function handle() return dead("no") end`}, nil, age)
		w.work("a")
		w.add("n", "1")
		w.advance(9 * time.Minute)
		if n := len(w.Entries("dead")); n != 1 {
			t.Fatalf("%d letters before their age", n)
		}
		w.advance(time.Minute + rounds)
		if n := len(w.Entries("dead")); n != 0 {
			t.Errorf("%d letters after their age", n)
		}
		if n := len(w.left()); n != 1 {
			t.Errorf("%d entries are left of a stream that is not trimmed", n)
		}
	})
}

// hasty is a clock that is wrong by a while, and whose timers are fast.
type hasty struct {
	clock.Clock

	wrong time.Duration
}

func (c hasty) Now() time.Time                       { return c.Clock.Now().Add(c.wrong) }
func (c hasty) NewTimer(d time.Duration) clock.Timer { return c.Clock.NewTimer(d / 10) }

// A worker whose clock is far ahead trims nothing early, and one whose clock is far
// behind nothing late: how old an entry is, the server's clock says.
func TestAWorkersClockDoesNotDecideWhatIsOld(t *testing.T) {
	for name, wrong := range map[string]time.Duration{"ahead": 24 * time.Hour, "behind": -24 * time.Hour} {
		for bounds, block := range map[string]string{"protected": "max_age = \"1h\"\n    " + protected, "unprotected": "max_age = \"1h\""} {
			t.Run(name+" "+bounds, func(t *testing.T) {
				onEach(t, func(t *testing.T, s *redistest.Server) {
					now, err := s.Client().Time(t.Context()).Result()
					if err != nil {
						t.Fatal(err)
					}
					for _, age := range []time.Duration{61 * time.Minute, 59 * time.Minute} {
						s.CLI("XADD", "in", fmt.Sprintf("%d-0", now.Add(-age).UnixMilli()), "n", age.String())
					}
					p := load(t, write(t, [2]string{"one.hcl", parts{stream: keeping(block), subscription: byAutoclaim.claim}.file()},
						[2]string{"h.lua", "function handle() return ack() end"}), nil)
					hastily(t, s, p, hasty{clock.Real(), wrong})
					eventually(t, "the old entry goes", func() bool { return s.Client().XLen(t.Context(), "in").Val() < 2 })
					if n := s.Client().XLen(t.Context(), "in").Val(); n != 1 {
						t.Errorf("%d entries are left, want the young one", n)
					}
				})
			})
		}
	}
}

// hastily runs a pipeline by a clock until the test ends.
func hastily(t *testing.T, s *redistest.Server, p *spec.Pipeline, c clock.Clock) {
	t.Helper()
	b, err := redis.Open(redis.Options{URL: s.URL()})
	if err != nil {
		t.Fatal(err)
	}
	record := &recorder{changed: make(chan struct{})}
	e, err := engine.New(engine.Config{Pipeline: p, Broker: b, Handlers: compile(t, p), Observer: record, Host: "h", Clock: c})
	if err != nil {
		t.Fatal(err)
	}
	v := &service{t: t, pipeline: p, reached: redis.Options{URL: s.URL()}, engine: e, record: record, done: make(chan error, 1)}
	ctx, cancel := context.WithCancel(context.Background())
	v.stop = cancel
	go func() { v.done <- e.Run(ctx) }()
	t.Cleanup(func() {
		if err := v.drain(); err != nil {
			t.Error(err)
		}
		if err := b.Close(); err != nil {
			t.Error(err)
		}
		v.check()
	})
}
