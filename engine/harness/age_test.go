package harness_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// wrongs are how wrong a machine's clock may be.
var wrongs = []time.Duration{0, -25 * time.Hour, -time.Hour, time.Hour, 25 * time.Hour}

// TestACopyWaitsByTheServersClock: the copy that a retry makes where nobody claims
// waits as long as after a failed attempt, however wrong the clock of the machine is
// on which it runs.
func TestACopyWaitsByTheServersClock(t *testing.T) {
	for _, wrong := range wrongs {
		t.Run(fmt.Sprint(wrong), func(t *testing.T) {
			b := open(t, harness.Config{Pipeline: single(copies), Monotonic: true, Handlers: map[string]sandbox.Handler{
				"s": at(bare, map[string]int{"a1": 3}),
			}})
			b.start().Jump(wrong)
			b.advance(time.Minute)
			b.publish("in", rows("a1")...)
			b.advance(2 * time.Minute)
			b.done("a1:retry@60 a1:retry@61 a1:retry@65 a1:ack@81")
		})
	}
}

// copies has a bare retry make a copy.
func copies(s *spec.Subscription) {
	passes(s)
	s.Claim = nil
}

// TestACopyThatHasWaitedWaitsNoMore: entries that are added after the server's clock
// was set back have ids of times to come. A copy of one waits once, all the same.
func TestACopyThatHasWaitedWaitsNoMore(t *testing.T) {
	b, _ := setBack(t)
	b.advance(2 * time.Minute)
	b.done("b1:ack@0 a1:retry@10 a1:retry@11 a1:retry@15 a1:ack@31")
}

// TestACopyThatWaitsIsLeftToTheNextProcess: what a process that ended has put back
// is found by the one that has its name next, and waits there for the rest of its time.
func TestACopyThatWaitsIsLeftToTheNextProcess(t *testing.T) {
	b, w := setBack(t)
	b.advance(10 * time.Second)
	if err := w.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.startOn("machine").Jump(time.Hour)
	b.advance(2 * time.Minute)
	b.done("b1:ack@0 a1:retry@10 a1:retry@11 a1:retry@15 a1:ack@31")
}

// setBack is a worker in the eleventh second of a server whose clock was set back,
// just when an entry has come that asks for three retries.
func setBack(t *testing.T) (*bench, *harness.Worker) {
	t.Helper()
	server := &wall{}
	b := open(t, harness.Config{
		Pipeline: single(copies), Monotonic: true, Handlers: map[string]sandbox.Handler{"s": at(bare, map[string]int{"a1": 3})},
		Open: func(c clock.Clock) (harness.Server, error) {
			server.Clock = c
			return memory.New(server, memory.Options{}), nil
		},
	})
	w := b.startOn("machine")
	b.publish("in", rows("b1")...)
	server.wrong = -time.Hour
	b.advance(10 * time.Second) // it is heard of
	b.publish("in", rows("a1")...)
	return b, w
}

// wall is a clock that is wrong.
type wall struct {
	clock.Clock

	wrong time.Duration
}

func (w *wall) Now() time.Time { return w.Clock.Now().Add(w.wrong) }

// TestMaxAgeGoesByTheServersClock: how old an entry is that failed says its id, and
// so the clock that gave it, not that of the machine on which it failed.
func TestMaxAgeGoesByTheServersClock(t *testing.T) {
	for _, wrong := range wrongs {
		t.Run(fmt.Sprint(wrong), func(t *testing.T) {
			fails := func(context.Context, *sandbox.Delivery) outcome.Outcome { return boom }
			p := single(func(s *spec.Subscription) {
				passes(s)
				s.Retry = spec.Retry{MaxAttempts: 100, Delay: 100 * time.Second, Multiplier: 1, MaxDelay: 100 * time.Second, MaxAge: 30 * time.Minute}
			})
			b := open(t, harness.Config{Pipeline: p, Monotonic: true, Handlers: map[string]sandbox.Handler{"s": harness.Func(fails)}})
			b.start().Jump(wrong)
			b.advance(time.Minute)
			b.publish("in", rows("a1")...)
			b.advance(25 * time.Minute)
			if dead := b.Entries("dead"); len(dead) != 0 || len(b.Calls("s")) < 10 {
				t.Fatalf("after 25m it ran %d times, dead letters %v", len(b.Calls("s")), dead)
			}
			b.advance(10 * time.Minute)
			dead := b.Entries("dead")
			if len(dead) != 1 || dead[0].Letter.Reason != "expired" || len(b.Calls("s")) != 19 {
				t.Errorf("after 35m it ran %d times, dead letters %v", len(b.Calls("s")), dead)
			}
		})
	}
}
