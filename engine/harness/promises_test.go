package harness_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// everyClaim runs a test with each way to claim: claiming reads and XAUTOCLAIM.
func everyClaim(t *testing.T, test func(t *testing.T, version string)) {
	for _, version := range []string{"8.6.3", "7.0.15"} {
		t.Run(version, func(t *testing.T) { test(t, version) })
	}
}

// keyed publishes bodies with a partition key.
func (b *bench) keyed(key string, bodies ...string) {
	b.t.Helper()
	adds := make([]broker.Add, len(bodies))
	for i, body := range bodies {
		adds[i] = broker.Add{Stream: "in", Fields: []broker.Field{
			{Name: "h:redis-partition-key", Value: key}, {Name: spec.DefaultBody, Value: body},
		}}
	}
	if _, err := b.Publish(adds...); err != nil {
		b.t.Fatal(err)
	}
	b.settle()
}

func TestAHandlerThatRunsForTenTimesMinIdleAndWhatWaitsBehindItAreNotTaken(t *testing.T) {
	const waiting, minIdle = 50, 30 * time.Second
	everyClaim(t, func(t *testing.T, version string) {
		begun := map[*harness.Worker]bool{}
		p := single(func(s *spec.Subscription) { s.Workers.Count = (waiting + 2) / 4 })
		b := open(t, harness.Config{Pipeline: p, Version: version, Handlers: map[string]sandbox.Handler{
			"s": harness.Func(func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
				if w := harness.WorkerOf(ctx); !begun[w] {
					begun[w] = true // the first of each process is the slow one
					if harness.Sleep(ctx, 10*minIdle) != nil {
						return outcome.Fail(outcome.FailCanceled, "called off")
					}
				}
				return outcome.Outcome{Kind: outcome.Ack}
			}),
		}})
		b.start()
		b.start()
		bodies := make([]string, waiting+2)
		for i := range bodies {
			bodies[i] = fmt.Sprintf(`{"n":%d}`, i)
		}
		b.keyed("k", bodies...)
		owners := map[broker.ID]string{}
		for _, p := range b.Pending("g") {
			owners[p.ID] = p.Consumer
		}
		if len(owners) != len(bodies) || len(begun) != 2 {
			t.Fatalf("%d entries are held by %d processes, want %d by 2", len(owners), len(begun), len(bodies))
		}
		for range 290 {
			b.advance(time.Second)
			for _, p := range b.Pending("g") {
				if owners[p.ID] != p.Consumer || p.Deliveries != 1 {
					t.Fatalf("entry %v is held by %s for the %d. time, was %s's", p.ID, p.Consumer, p.Deliveries, owners[p.ID])
				}
			}
		}
		b.advance(time.Minute)
		calls := b.Calls("s")
		for _, c := range calls {
			if c.Outcome != observe.ResultAck || c.Consumer != owners[c.ID] {
				t.Errorf("call %+v", c)
			}
		}
		if len(calls) != len(bodies) || len(b.Pending("g")) != 0 {
			t.Errorf("%d calls for %d entries, %d pending", len(calls), len(bodies), len(b.Pending("g")))
		}
	})
}

func TestWhatADrainHandsBackRunsElsewhereWithinTwoSecondsUnburnt(t *testing.T) {
	const running, buffered = 4, 16
	everyClaim(t, func(t *testing.T, version string) {
		p := single(func(s *spec.Subscription) { s.Workers.Count = running })
		slow := 0
		b := open(t, harness.Config{Pipeline: p, Version: version, Handlers: map[string]sandbox.Handler{
			"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
				if number(d, "n") > 0 && harness.WorkerOf(ctx).Name() == "worker1" {
					slow++
					if harness.Sleep(ctx, 10*time.Second) != nil {
						return outcome.Fail(outcome.FailCanceled, "called off")
					}
				}
				return outcome.Outcome{Kind: outcome.Ack}
			}),
		}})
		first := b.start()
		quick := make([]string, 400) // the window of held entries grows with them
		for i := range quick {
			quick[i] = `{"n":0}`
		}
		b.publish("in", quick...)
		bodies := make([]string, running+buffered)
		for i := range bodies {
			bodies[i] = fmt.Sprintf(`{"n":%d}`, 1+i)
		}
		b.publish("in", bodies...)
		if got := len(b.Pending("g")); got != running+buffered || slow != running {
			t.Fatalf("%d entries are held and %d run, want %d and %d", got, slow, running+buffered, running)
		}
		b.start()
		asked := b.Now()
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		elsewhere := 0
		for _, c := range b.Calls("s")[len(quick):] {
			if c.Deliveries != 0 || c.Attempt != 1 || c.Outcome != observe.ResultAck {
				t.Errorf("call %+v", c)
			}
			if c.Worker == first.Name() {
				continue
			}
			elsewhere++
			if late := c.Time.Sub(asked); late > 2*time.Second {
				t.Errorf("entry %v runs %v after the signal", c.ID, late)
			}
		}
		if got := len(b.Calls("s")) - len(quick); elsewhere != buffered || got != running+buffered {
			t.Errorf("%d entries ran elsewhere, %d calls in all; want %d and %d", elsewhere, got, buffered, running+buffered)
		}
	})
}

func TestARetryAfterThreeSecondsComesAfterThreeSeconds(t *testing.T) {
	const after, slack = 3 * time.Second, 100 * time.Millisecond
	for _, c := range []struct {
		name   string
		killed bool
		claim  *spec.Claim
		late   time.Duration
	}{
		{"min_idle 30s", false, &spec.Claim{MinIdle: 30 * time.Second, Using: spec.UsingAuto}, slack},
		{"nobody claims", false, nil, slack},
		// The reader that claims it may just have begun to wait, or XAUTOCLAIM have looked: a block later.
		{"its process was killed", true, &spec.Claim{MinIdle: 30 * time.Second, Using: spec.UsingAuto}, time.Second + slack},
	} {
		t.Run(c.name, func(t *testing.T) {
			everyClaim(t, func(t *testing.T, version string) {
				p := single(func(s *spec.Subscription) { s.Claim = c.claim })
				calls := 0
				b := open(t, harness.Config{Pipeline: p, Version: version, Handlers: map[string]sandbox.Handler{
					"s": harness.Func(func(context.Context, *sandbox.Delivery) outcome.Outcome {
						if calls++; calls == 1 {
							return outcome.Outcome{Kind: outcome.Retry, HasAfter: true, After: after}
						}
						return outcome.Outcome{Kind: outcome.Ack}
					}),
				}})
				first := b.start()
				b.advance(300 * time.Millisecond)
				ids := b.publish("in", `{}`)
				if c.killed {
					b.start()
					b.advance(time.Second)
					if err := first.Kill(t.Context()); err != nil {
						t.Fatal(err)
					}
				}
				b.advance(10 * time.Second)
				all := b.Calls("s")
				if len(all) != 2 || all[0].ID != ids[0] || all[1].ID != ids[0] || len(b.Entries("in")) != 1 {
					t.Fatalf("calls %+v", all)
				}
				if took := all[1].Time.Sub(all[0].Time); took < after || took > after+c.late {
					t.Errorf("it came back after %v, want %v and at most %v more", took, after, c.late)
				}
			})
		})
	}
}

func TestADrainKeepsTheOrderOfAKeyWhileItHandsBackTheRest(t *testing.T) {
	everyClaim(t, func(t *testing.T, version string) {
		p := single(func(s *spec.Subscription) { s.Workers.Count = 1; s.Batch = 10 })
		b := open(t, harness.Config{Pipeline: p, Version: version, Handlers: map[string]sandbox.Handler{
			"s": harness.Func(func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
				if number(d, "n") == 1 && harness.Sleep(ctx, 10*time.Second) != nil {
					return outcome.Fail(outcome.FailCanceled, "called off")
				}
				return outcome.Outcome{Kind: outcome.Ack}
			}),
		}})
		first := b.start()
		quick := make([]string, 100)
		for i := range quick {
			quick[i] = `{"n":0}`
		}
		b.publish("in", quick...)
		b.keyed("k", `{"n":1}`, `{"n":2}`)
		b.keyed("other", `{"n":3}`)
		b.publish("in", `{"n":4}`)
		if got := len(b.Pending("g")); got != 4 {
			t.Fatalf("%d entries are held, want 4", got)
		}
		b.start()
		asked := b.Now()
		if err := first.Stop(t.Context()); err != nil {
			t.Fatal(err)
		}
		b.advance(2 * time.Second)
		var ran []string
		for _, c := range b.Calls("s")[len(quick):] {
			ran = append(ran, fmt.Sprintf("%s at %d by %s", c.Entry.Get("n").Text(), c.Time.Sub(asked)/time.Second, c.Worker))
		}
		want := []string{"1 at 0 by worker1", "3 at 1 by worker2", "4 at 1 by worker2", "2 at 10 by worker2"}
		if version == "8.6.3" {
			want[3] = "2 at 11 by worker2" // a read that waits is not woken by what is handed back
		}
		if len(ran) != 4 || ran[0] != want[0] || ran[3][:1] != "2" || b.Calls("s")[len(quick)+3].Time.Sub(asked) < 10*time.Second {
			t.Errorf("ran %q, want about %q", ran, want)
		}
	})
}
