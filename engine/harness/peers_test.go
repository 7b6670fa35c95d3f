package harness_test

import (
	"context"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// claims is a version of the pipeline single that claims after d, or not at all
// for 0.
func claims(d time.Duration, using spec.Using) *spec.Pipeline {
	return single(func(s *spec.Subscription) {
		if s.Claim = nil; d > 0 {
			s.Claim = &spec.Claim{MinIdle: d, Using: using}
		}
	})
}

// slowly takes d for an entry whose body says so.
func slowly(d time.Duration) harness.Func {
	return func(ctx context.Context, v *sandbox.Delivery) outcome.Outcome {
		if harness.Sleep(ctx, d) != nil {
			return outcome.Fail(outcome.FailCanceled, "called off")
		}
		return ack(ctx, v)
	}
}

// version starts a worker with a version of the pipeline, on a machine of its own.
func (b *bench) version(machine string, p *spec.Pipeline) *harness.Worker {
	b.t.Helper()
	w, err := b.StartVersion(b.t.Context(), machine, p)
	if err != nil {
		b.t.Fatal(err)
	}
	return w
}

func (b *bench) kill(w *harness.Worker) {
	b.t.Helper()
	if err := w.Kill(b.t.Context()); err != nil {
		b.t.Fatal(err)
	}
}

func TestANewcomerWithASmallerMinIdleRobsNobody(t *testing.T) {
	for _, c := range []struct {
		name       string
		old, fresh time.Duration
		using      spec.Using
		server     string
	}{
		{"claiming reads", 30 * time.Second, 3 * time.Second, spec.UsingAuto, ""},
		{"much smaller", 10 * time.Minute, 200 * time.Millisecond, spec.UsingAuto, ""},
		{"XAUTOCLAIM", 30 * time.Second, 3 * time.Second, spec.UsingAutoclaim, "7.0.15"},
		{"the old one claims nothing", 0, 3 * time.Second, spec.UsingAuto, ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			b := open(t, harness.Config{
				Pipeline: claims(c.old, c.using), Handlers: map[string]sandbox.Handler{"s": slowly(time.Minute)}, Version: c.server,
			})
			b.version("old", claims(c.old, c.using))
			for range 6 { // two run, four are queued
				b.publish("in", `{}`)
			}
			b.advance(4 * time.Second)
			b.version("fresh", claims(c.fresh, c.using))
			b.advance(4 * time.Minute)
			ran := map[string]int{}
			for _, call := range b.Calls("s") {
				ran[call.ID.String()]++
				if call.Outcome != "ack" || call.Deliveries != 0 {
					t.Errorf("%v by %s, %d deliveries before: %s %s", call.ID, call.Worker, call.Deliveries, call.Outcome, call.Error)
				}
			}
			if len(ran) != 6 || len(b.Pending("g")) != 0 {
				t.Errorf("%d of 6 entries ran, %d are pending", len(ran), len(b.Pending("g")))
			}
		})
	}
}

func TestWhatAStoppedWorkerLeftIsClaimedByANewcomerWithASmallerMinIdle(t *testing.T) {
	b := open(t, harness.Config{Pipeline: claims(30*time.Second, spec.UsingAuto), Handlers: map[string]sandbox.Handler{"s": slowly(time.Second)}})
	old := b.version("old", claims(30*time.Second, spec.UsingAuto))
	b.publish("in", `{}`)
	b.kill(old)
	b.version("fresh", claims(time.Second, spec.UsingAuto))
	b.advance(29 * time.Second)
	if n := len(b.Calls("s")); n != 1 {
		t.Fatalf("%d calls: it was claimed before the one that held it must be taken for dead", n)
	}
	b.advance(11 * time.Second)
	if n := len(b.Calls("s")); n != 1 {
		t.Fatalf("%d calls: it was claimed before the one that held it must be back if it was only cut off", n)
	}
	b.advance(8 * time.Second)
	if p := b.Pending("g"); len(p) != 0 {
		t.Errorf("still pending: %v", p)
	}
}

func TestTheOldMinIdleHoldsAgainWhenTheSmallerOneIsGone(t *testing.T) {
	b := open(t, harness.Config{Pipeline: claims(30*time.Second, spec.UsingAuto), Handlers: map[string]sandbox.Handler{"s": slowly(time.Hour)}})
	b.version("old", claims(30*time.Second, spec.UsingAuto))
	b.publish("in", `{}`)
	fresh := b.version("fresh", claims(3*time.Second, spec.UsingAuto))
	idlest := func() (most time.Duration) {
		for range 60 {
			b.advance(time.Second)
			most = max(most, b.Pending("g")[0].Idle)
		}
		return most
	}
	b.advance(10 * time.Second)
	if d := idlest(); d > 2*time.Second {
		t.Errorf("not renewed for %v beside one that claims after 3s", d)
	}
	if err := fresh.Stop(t.Context()); err != nil {
		t.Fatal(err)
	}
	b.advance(10 * time.Second)
	if d := idlest(); d < 8*time.Second {
		t.Errorf("renewed every %v though the one that claims after 3s is gone", d)
	}
}

// Workers of versions with any min_idle come and go, by a signal or without.
func TestNobodyAliveIsRobbedWhateverMinIdleOthersClaimWith(t *testing.T) {
	periods := []time.Duration{0, 500 * time.Millisecond, 2 * time.Second, 9 * time.Second, 30 * time.Second, 3 * time.Minute}
	rapid.Check(t, func(rt *rapid.T) {
		h, err := harness.New(harness.Config{Pipeline: claims(periods[1], spec.UsingAuto), Handlers: map[string]sandbox.Handler{"s": slowly(40 * time.Second)}})
		if err != nil {
			rt.Fatal(err)
		}
		defer func() {
			if err := h.Close(); err != nil {
				rt.Error(err)
			}
		}()
		b := &bench{h, t}
		var alive []*harness.Worker
		for step := range rapid.IntRange(4, 14).Draw(rt, "steps") {
			switch what := rapid.SampledFrom([]string{"start", "start", "publish", "publish", "stop", "kill"}).Draw(rt, "what"); {
			case what == "start" && len(alive) < 5:
				p := rapid.SampledFrom(periods).Draw(rt, "min_idle")
				alive = append(alive, b.version("m"+string(rune('a'+step)), claims(p, spec.UsingAuto)))
			case what == "publish":
				b.publish("in", `{}`)
			case len(alive) > 0 && what != "start":
				i := rapid.IntRange(0, len(alive)-1).Draw(rt, "who")
				w := alive[i]
				alive = slices.Delete(alive, i, i+1)
				if what == "kill" {
					b.kill(w)
				} else {
					_ = w.Stop(t.Context()) // what it leaves pending is claimed
				}
			}
			b.advance(time.Duration(rapid.IntRange(0, 20_000).Draw(rt, "ms")) * time.Millisecond)
		}
		for _, e := range h.Events() {
			if e.Name == "lease.lost" || e.Name == "entry.stale_settle" {
				rt.Errorf("%s: %s", e.Worker, e.Message)
			}
		}
	})
}
