package harness_test

import (
	"context"
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

// replier is a bench whose subscription replies, with a worker.
func replier(t *testing.T, wrap func(string, broker.Broker) broker.Broker) *bench {
	t.Helper()
	answer := harness.Func(func(context.Context, *sandbox.Delivery) outcome.Outcome { return replyWith(`{}`) })
	b := open(t, harness.Config{
		Pipeline: single(func(s *spec.Subscription) { s.Reply = &spec.Route{To: stream("out")} }),
		Handlers: map[string]sandbox.Handler{"s": answer}, Wrap: wrap,
	})
	b.start()
	return b
}

func TestWhatAStalledWorkerHeldIsTakenOverAndItsOutcomeIsNotPublished(t *testing.T) {
	for _, at := range []harness.Point{harness.BeforeRun, harness.AfterRun, harness.BeforeAck, harness.AfterAck} {
		t.Run(string(at), func(t *testing.T) {
			b := replier(t, nil)
			b.start()
			b.arm(harness.Fault{Kind: harness.Stall, At: at, For: 35 * time.Second})
			b.publish("in", `{}`)
			stalled := b.Workers()[0]
			if !stalled.Stalled() || !stalled.Alive() {
				t.Fatalf("stalled %v, alive %v", stalled.Stalled(), stalled.Alive())
			}
			b.advance(31 * time.Second)
			if got := len(b.Entries("out")); got != 1 {
				t.Errorf("%d replies after min_idle", got)
			}
			b.advance(30 * time.Second)
			if got := len(b.Entries("out")); got != 1 || stalled.Stalled() || len(b.Pending("g")) != 0 {
				t.Errorf("%d replies in the end, stalled %v, pending %v", got, stalled.Stalled(), b.Pending("g"))
			}
			if p := stalled.Pauses(); len(p) != 1 || p[0].To.Sub(p[0].From) != 35*time.Second {
				t.Errorf("pauses %v", p)
			}
		})
	}
}

// A process that stands still for longer than its lease, and for less than
// min_idle, loses its name and goes on with what it holds under it. The next
// holder of its slot must not take that.
func TestAWorkerThatLostItsNameKeepsWhatItHolds(t *testing.T) {
	calls := 0
	p := single(func(s *spec.Subscription) { s.Claim.MinIdle = 12 * time.Second })
	b := open(t, harness.Config{Pipeline: p, Handlers: map[string]sandbox.Handler{
		"s": harness.Func(func(ctx context.Context, _ *sandbox.Delivery) outcome.Outcome {
			calls++
			if harness.Sleep(ctx, 25*time.Second) != nil { // shorter than the drain of the lost name
				return outcome.Fail(outcome.FailCanceled, "called off")
			}
			return outcome.Outcome{Kind: outcome.Ack}
		}),
	}})
	first, err := b.StartOn(t.Context(), "a")
	if err != nil {
		t.Fatal(err)
	}
	b.publish("in", `{}`)
	if err := first.Stall(t.Context(), 10*time.Second); err != nil {
		t.Fatal(err)
	}
	b.advance(15 * time.Second)
	if _, err := b.StartOn(t.Context(), "a"); err != nil {
		t.Fatal(err)
	}
	b.advance(2 * time.Minute)
	if got := b.outcomes("s"); !slices.Equal(got, []string{"ack"}) || calls != 1 {
		t.Errorf("outcomes %q of %d calls, want one ack\n%s", got, calls, b)
	}
}

func TestAStalledWorkerStandsStillUntilItGoesOn(t *testing.T) {
	b := replier(t, nil)
	w := b.Workers()[0]
	if err := w.Stall(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	b.publish("in", `{}`)
	b.advance(time.Hour)
	if got := len(b.Entries("out")); got != 0 || !strings.Contains(b.String(), "worker1 stalled") {
		t.Errorf("%d replies\n%s", got, b)
	}
	if err := w.Resume(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.advance(time.Minute)
	if got := len(b.Entries("out")); got != 1 {
		t.Errorf("%d replies when it went on", got)
	}
}

func TestAStalledWorkerCanBeKilled(t *testing.T) {
	b := replier(t, nil)
	w := b.Workers()[0]
	for _, step := range []func(context.Context) error{func(ctx context.Context) error { return w.Stall(ctx, time.Minute) }, w.Kill} {
		if err := step(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if w.Alive() || w.Stalled() {
		t.Errorf("alive %v, stalled %v", w.Alive(), w.Stalled())
	}
	b.advance(2 * time.Minute)
}

func TestAWorkerWhoseClockJumpsGoesOn(t *testing.T) {
	b := replier(t, nil)
	b.Workers()[0].Jump(100 * time.Hour)
	b.publish("in", `{}`)
	b.advance(time.Minute)
	b.publish("in", `{}`)
	if got := len(b.Entries("out")); got != 2 || b.Now().Sub(harness.DefaultStart) != time.Minute {
		t.Errorf("%d replies, the time of all is %v", got, b.Now())
	}
}

// deaf is a server that renews nothing.
type deaf struct{ broker.Broker }

func (deaf) Renew(_ context.Context, _ broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return make([]broker.Holding, len(ids)), nil
}

func TestWrapStandsBetweenAWorkerAndTheServer(t *testing.T) {
	var asked []string
	b := replier(t, func(worker string, server broker.Broker) broker.Broker {
		asked = append(asked, worker)
		return deaf{server}
	})
	b.start()
	if want := []string{"none", "worker1", "worker2"}; !slices.Equal(asked, want) {
		t.Errorf("asked for %q, want %q", asked, want)
	}
}

func TestTwoVersionsRunBesideEachOther(t *testing.T) {
	b := replier(t, nil)
	next := single(func(s *spec.Subscription) { s.Workers.Count, s.Reply = 5, &spec.Route{To: stream("out")} })
	next.Version = "2"
	w, err := b.StartVersion(t.Context(), "there", next)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.Workers()[0].Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.publish("in", `{}`)
	if calls := b.Calls("s"); len(calls) != 1 || calls[0].Worker != w.Name() || !strings.HasPrefix(calls[0].Consumer, "s-there-") {
		t.Errorf("calls %+v", calls)
	}
}
