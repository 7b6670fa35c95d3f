package harness_test

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// TestACrashLeavesWhatAKilledProcessLeaves crashes at every point, with and
// without a reply, and looks at the state before and after another worker took
// over.
func TestACrashLeavesWhatAKilledProcessLeaves(t *testing.T) {
	for _, c := range []struct {
		at      harness.Point
		replies bool
		// ran is how often the handler ran before the takeover, pending the entries
		// then, outcomes all in the end, published the replies in the end.
		ran, pending int
		first        []string
		outcomes     []string
		published    int
	}{
		{harness.BeforeRun, false, 0, 1, nil, []string{"ack"}, 0},
		{harness.AfterRun, false, 1, 1, []string{"crashed"}, []string{"crashed", "ack"}, 0},
		{harness.BeforeAck, false, 1, 1, []string{"crashed"}, []string{"crashed", "ack"}, 0},
		{harness.AfterAck, false, 1, 0, []string{"ack"}, []string{"ack"}, 0},
		{harness.BeforeRun, true, 0, 1, nil, []string{"reply"}, 1},
		{harness.AfterRun, true, 1, 1, []string{"crashed"}, []string{"crashed", "reply"}, 1},
		{harness.BeforeAck, true, 1, 1, []string{"crashed"}, []string{"crashed", "reply"}, 1},
		{harness.AfterAck, true, 1, 0, []string{"reply"}, []string{"reply"}, 1},
	} {
		t.Run(fmt.Sprintf("%s, replies %v", c.at, c.replies), func(t *testing.T) {
			ran := 0
			b := one(t, func(context.Context, *sandbox.Delivery) outcome.Outcome {
				ran++
				if c.replies {
					return replyWith(`{"n":1}`)
				}
				return outcome.Outcome{Kind: outcome.Ack}
			}, func(s *spec.Subscription) { s.Reply = &spec.Route{To: stream("out")} })
			b.arm(harness.Fault{Kind: harness.Crash, Subscription: "s", At: c.at})
			b.publish("in", `{"n":1}`)
			pending := b.Pending("g")
			if ran != c.ran || len(pending) != c.pending || !slices.Equal(b.outcomes("s"), c.first) {
				t.Errorf("after the crash: ran %d, pending %v, outcomes %v", ran, pending, b.outcomes("s"))
			}
			for _, p := range pending {
				if p.Deliveries != 1 || p.Consumer != "s-worker1-0.1" {
					t.Errorf("pending %+v", p)
				}
			}
			if w := b.Workers()[0]; w.Alive() || !w.Crashed() || len(b.Armed()) != 0 {
				t.Errorf("alive %v, crashed %v, armed %v", w.Alive(), w.Crashed(), b.Armed())
			}
			b.revive()
			b.advance(29 * time.Second)
			if got := b.outcomes("s"); !slices.Equal(got, c.first) {
				t.Errorf("before min_idle: %v", got)
			}
			b.advance(time.Second)
			if got := b.outcomes("s"); !slices.Equal(got, c.outcomes) {
				t.Errorf("in the end: %v, want %v", got, c.outcomes)
			}
			if len(b.Pending("g")) != 0 || len(b.Entries("out")) != c.published {
				t.Errorf("in the end: pending %v, %d replies", b.Pending("g"), len(b.Entries("out")))
			}
		})
	}
}

func TestWhatACrashAtAnEntryTakesWithIt(t *testing.T) {
	b := one(t, ack, nil)
	b.arm(harness.Fault{Kind: harness.Crash, At: harness.BeforeAck, Nth: 2})
	b.publish("in", `{"n":0}`)
	b.publish("in", `{"n":1}`, `{"n":2}`, `{"n":3}`)
	// What has finished by then is one settlement: none of the three is written.
	if got := b.outcomes("s"); !slices.Equal(got, []string{"ack", "crashed", "crashed", "crashed"}) {
		t.Errorf("outcomes %v", got)
	}
	for _, c := range b.Calls("s")[1:] {
		if c.Settled || c.Said != "ack" {
			t.Errorf("%+v", c)
		}
	}
}

func TestACrashMayBeForOneEntryOnly(t *testing.T) {
	b := one(t, ack, func(s *spec.Subscription) { s.Workers.Count = 1 })
	ids := b.publish("in", `{"n":0}`)
	next := broker.ID{Ms: ids[0].Ms, Seq: 2}
	b.arm(harness.Fault{Kind: harness.Crash, Subscription: "s", At: harness.BeforeRun, Entry: next})
	b.publish("in", `{"n":1}`, `{"n":2}`, `{"n":3}`)
	if got := b.outcomes("s"); !slices.Equal(got, []string{"ack", "crashed"}) {
		t.Errorf("outcomes %v", got)
	}
}

func TestADeadWorkerHasNoEffectWhateverItWasAbout(t *testing.T) {
	finished := 0
	b := one(t, func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
		if err := harness.Sleep(ctx, time.Duration(1+number(d, "n"))*time.Second); err != nil {
			return outcome.Fail(outcome.FailCanceled, "")
		}
		finished++
		return outcome.Outcome{Kind: outcome.Ack}
	}, func(s *spec.Subscription) { s.Workers.Count = 5 })
	b.arm(harness.Fault{Kind: harness.Slow, Nth: 5, For: 20 * time.Second})
	b.publish("in", `{"n":0}`, `{"n":1}`, `{"n":2}`, `{"n":3}`, `{"n":4}`)
	b.advance(1500 * time.Millisecond)
	before := b.Now()
	if err := b.Workers()[0].Kill(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !b.Now().Equal(before) {
		t.Error("time passed while it died")
	}
	b.advance(10 * time.Second)
	if got := b.outcomes("s"); !slices.Equal(got, []string{"ack", "crashed", "crashed", "crashed", "crashed"}) {
		t.Errorf("outcomes %v", got)
	}
	if got := len(b.Pending("g")); got != 4 || finished != 1 {
		t.Errorf("%d pending, want 4; %d handlers went on to their end, want 1", got, finished)
	}
}

func TestOnTheSameMachineWhatIsLeftIsTakenOverWhenTheLeaseHasRunOut(t *testing.T) {
	for _, c := range []struct {
		name   string
		claim  *spec.Claim
		before time.Duration
	}{
		{"at once where nobody claims", nil, 0},
		{"after min_idle where entries are leased", &spec.Claim{MinIdle: 30 * time.Second, Using: spec.UsingAuto}, 20 * time.Second},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := single(func(s *spec.Subscription) { s.Claim = c.claim })
			b := open(t, harness.Config{Pipeline: p, Handlers: map[string]sandbox.Handler{"s": harness.Func(ack)}})
			if _, err := b.StartOn(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			b.arm(harness.Fault{Kind: harness.Crash, At: harness.BeforeAck})
			b.publish("in", `{}`)
			b.advance(10 * time.Second)
			if _, err := b.StartOn(t.Context(), "a"); err != nil {
				t.Fatal(err)
			}
			if c.before > 0 {
				b.advance(c.before - time.Second)
				if calls := b.Calls("s"); len(calls) != 1 {
					t.Fatalf("it was taken over before min_idle: %+v", calls)
				}
				b.advance(time.Second)
			}
			calls := b.Calls("s")
			if len(calls) != 2 || calls[1].Consumer != "s-a-0.2" || calls[1].Outcome != "ack" {
				t.Errorf("calls %+v", calls)
			}
		})
	}
}

func TestASlowHandlerHoldsItsEntryAndFailsAtItsLimit(t *testing.T) {
	for _, c := range []struct {
		name string
		takes,
		elapsed time.Duration
		outcome string
		kind    outcome.FailureKind
		error   string
		ran     int
	}{
		{"in time", 50 * time.Second, 50 * time.Second, "ack", "", "", 1},
		{"at its limit", time.Minute, time.Minute, "failed", outcome.FailTimeout, `time limit of 1m0s; do less in one call, or raise limits.timeout of handler "s"`, 0},
		{"beyond it", time.Hour, time.Minute, "failed", outcome.FailTimeout, "time limit of 1m0s", 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			ran := 0
			b := one(t, func(context.Context, *sandbox.Delivery) outcome.Outcome {
				ran++
				return outcome.Outcome{Kind: outcome.Ack}
			}, func(s *spec.Subscription) { s.Handler.Limits.Timeout = time.Minute })
			b.start() // which must not claim what is renewed
			b.arm(harness.Fault{Kind: harness.Slow, Subscription: "s", Nth: 1, For: c.takes})
			b.publish("in", `{}`)
			if got := b.outcomes("s"); !slices.Equal(got, []string{"running"}) {
				t.Errorf("at first: %v", got)
			}
			b.advance(c.elapsed)
			calls := b.Calls("s")
			if len(calls) != 1 {
				t.Fatalf("calls %+v", calls)
			}
			if got := calls[0]; string(got.Outcome) != c.outcome || got.Kind != c.kind || !strings.Contains(got.Error, c.error) ||
				got.Elapsed != c.elapsed || ran != c.ran {
				t.Errorf("ran %d: %+v", ran, got)
			}
		})
	}
}

func TestSlowWithoutNthIsEveryCallUntilDisarm(t *testing.T) {
	b := one(t, ack, func(s *spec.Subscription) { s.Workers.Count = 1 })
	b.arm(harness.Fault{Kind: harness.Slow, For: time.Second})
	b.publish("in", `{}`, `{}`)
	b.advance(2 * time.Second)
	b.Disarm()
	b.publish("in", `{}`)
	var took []time.Duration
	for _, c := range b.Calls("s") {
		took = append(took, c.Elapsed)
	}
	if !slices.Equal(took, []time.Duration{time.Second, time.Second, 0}) {
		t.Errorf("took %v", took)
	}
}

func TestALostReplyIsPublishedOnceAndALostReadIsFoundAgain(t *testing.T) {
	for _, at := range []harness.Point{"", harness.AtSettle, harness.AtRead} {
		t.Run(string(at), func(t *testing.T) {
			b := one(t, func(context.Context, *sandbox.Delivery) outcome.Outcome { return replyWith(`{}`) },
				func(s *spec.Subscription) { s.Reply = &spec.Route{To: stream("out")} })
			b.arm(harness.Fault{Kind: harness.LostReply, Subscription: "s", At: at})
			b.publish("in", `{}`)
			b.advance(5 * time.Second)
			if got := len(b.Entries("out")); got != 1 || len(b.Pending("g")) != 0 || len(b.Armed()) != 0 {
				t.Errorf("%d replies, pending %v, armed %v", got, b.Pending("g"), b.Armed())
			}
			if calls := b.Calls("s"); len(calls) != 1 || !calls[0].Settled {
				t.Errorf("calls %+v", calls)
			}
		})
	}
}

func TestAServerThatIsDownComesBackAfterItsTime(t *testing.T) {
	b := one(t, ack, nil)
	b.arm(harness.Fault{Kind: harness.Slow, Nth: 1, For: 3 * time.Second})
	b.publish("in", `{"n":1}`)
	b.arm(harness.Fault{Kind: harness.ServerDown, For: 5 * time.Second})
	b.publish("in", `{"n":2}`)
	b.advance(4 * time.Second)
	if got := b.outcomes("s"); !slices.Equal(got, []string{"unsettled"}) {
		t.Errorf("while it is down: %v", got)
	}
	b.advance(20 * time.Second)
	if got := b.outcomes("s"); !slices.Equal(got, []string{"ack", "ack"}) {
		t.Errorf("then: %v", got)
	}
	var told []string
	for _, e := range b.Events() {
		if strings.HasPrefix(string(e.Name), "redis.") {
			told = append(told, string(e.Name))
		}
	}
	if !slices.Equal(told, []string{"redis.lost", "redis.back"}) {
		t.Errorf("told %v", told)
	}
}

func TestAWorkerStartsWhileTheServerIsDown(t *testing.T) {
	b := open(t, harness.Config{Pipeline: single(nil), Handlers: map[string]sandbox.Handler{"s": harness.Func(ack)}})
	b.arm(harness.Fault{Kind: harness.ServerDown, For: 10 * time.Second})
	b.start()
	b.publish("in", `{}`)
	b.advance(9 * time.Second)
	if len(b.Calls("s")) != 0 {
		t.Error("it ran without a server")
	}
	b.advance(time.Minute)
	if got := b.outcomes("s"); !slices.Equal(got, []string{"ack"}) {
		t.Errorf("outcomes %v", got)
	}
}

func TestFaultsThatCannotHappenAreRefused(t *testing.T) {
	b := one(t, ack, nil)
	for _, c := range []struct {
		fault harness.Fault
		want  string
	}{
		{harness.Fault{Kind: "explode"}, "there is no such fault"},
		{harness.Fault{Kind: harness.Crash}, "before_run"},
		{harness.Fault{Kind: harness.Crash, At: harness.AtRead}, "cannot strike at"},
		{harness.Fault{Kind: harness.LostReply, At: harness.AfterRun}, "settle"},
		{harness.Fault{Kind: harness.Crash, At: harness.AfterRun, Subscription: "z"}, `no enabled subscription "z"`},
		{harness.Fault{Kind: harness.Slow}, "set For"},
		{harness.Fault{Kind: harness.Crash, At: harness.AfterRun, Nth: -1}, "counts from 1"},
	} {
		if err := b.Arm(c.fault); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: %v, want %q", c.fault, err, c.want)
		}
	}
	if len(b.Armed()) != 0 {
		t.Errorf("armed %v", b.Armed())
	}
}
