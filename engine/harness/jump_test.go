package harness_test

import (
	"fmt"
	"testing"
	"time"

	"pipeline/engine/harness"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// TestSettingTheClockDelaysNoRetry: an entry that waits in a process is run when its
// time has passed, whether the wall clock of the machine is set forward or back
// meanwhile, and neither are the later ones of its key.
func TestSettingTheClockDelaysNoRetry(t *testing.T) {
	for _, way := range []struct {
		name   string
		change func(*spec.Subscription)
		want   string
	}{
		{"held", holds, "a1:retry@0 a1:ack@100 a2:ack@100"},
		{"held, XAUTOCLAIM", byAutoclaim, "a1:retry@0 a1:ack@100 a2:ack@100"},
		{"held, nobody claims", unclaimed, "a1:retry@0 a1:ack@100 a2:ack@100"},
		{"passed", passes, "a1:retry@0 a2:ack@0 a1:ack@100"},
		{"passed, nobody claims", func(s *spec.Subscription) { passes(s); s.Claim = nil }, "a1:retry@0 a2:ack@0 a1:ack@100"},
	} {
		for _, d := range []time.Duration{-24 * time.Hour, -time.Minute, time.Minute, 24 * time.Hour} {
			t.Run(fmt.Sprint(way.name, " ", d), func(t *testing.T) {
				p := single(way.change)
				p.Groups[0].Subscriptions[0].Workers.Count = 1
				b := open(t, harness.Config{Pipeline: p, Monotonic: true, Handlers: map[string]sandbox.Handler{
					"s": at(retryIn(100*time.Second), map[string]int{"a1": 1}),
				}})
				b.start()
				b.publish("in", rows("a1", "a2")...)
				b.advance(10 * time.Second)
				b.Workers()[0].Jump(d)
				b.advance(5 * time.Minute)
				b.done(way.want)
				for _, c := range b.Calls("s") {
					if c.Attempt != 1 {
						t.Errorf("%+v", c)
					}
				}
			})
		}
	}
}
