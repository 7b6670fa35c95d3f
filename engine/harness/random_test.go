package harness_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// act is one thing that happens to a pipeline, as numbers.
type act struct {
	kind  string
	fault harness.Fault
	n     int
	d     time.Duration
}

// drawActs draws what happens: entries come, time passes, workers crash, stop
// and start, the server goes away, answers are lost.
func drawActs(t *rapid.T) []act {
	kinds := []string{"publish", "publish", "advance", "advance", "fault", "fault", "start", "stop", "kill", "disarm"}
	acts := make([]act, rapid.IntRange(1, 14).Draw(t, "acts"))
	for i := range acts {
		a := act{kind: rapid.SampledFrom(kinds).Draw(t, "kind")}
		a.n = rapid.IntRange(1, 6).Draw(t, "n")
		a.d = time.Duration(rapid.IntRange(1, 400).Draw(t, "d")) * 100 * time.Millisecond
		if a.kind == "fault" {
			a.fault = drawFault(t)
		}
		acts[i] = a
	}
	return acts
}

func drawFault(t *rapid.T) harness.Fault {
	f := harness.Fault{
		Kind:         rapid.SampledFrom([]harness.FaultKind{harness.Crash, harness.Slow, harness.ServerDown, harness.LostReply}).Draw(t, "fault"),
		Subscription: rapid.SampledFrom([]string{"", "first", "second"}).Draw(t, "in"),
		Nth:          rapid.IntRange(1, 3).Draw(t, "nth"),
		For:          time.Duration(rapid.IntRange(1, 250).Draw(t, "for")) * 100 * time.Millisecond,
	}
	switch f.Kind {
	case harness.Crash:
		f.At = rapid.SampledFrom([]harness.Point{harness.BeforeRun, harness.AfterRun, harness.BeforeAck, harness.AfterAck}).Draw(t, "at")
	case harness.LostReply:
		f.At = rapid.SampledFrom([]harness.Point{harness.AtSettle, harness.AtRead}).Draw(t, "at")
	}
	return f
}

// TestWhateverHappensNothingIsLostAndNothingPublishedTwice plays random faults,
// then lets everything recover: each entry has exactly one reply, nothing is
// pending, and a second run is the same byte by byte.
func TestWhateverHappensNothingIsLostAndNothingPublishedTwice(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		version := rapid.SampledFrom([]string{"8.6.3", "7.0.15", "6.2"}).Draw(t, "version")
		acts := drawActs(t)
		first := play(t, harness.Config{Version: version}, acts)
		if again := play(t, harness.Config{Version: version}, acts); again != first {
			t.Fatalf("the second run differs: %s", difference(first, again))
		}
	})
}

// relay are two groups in a row: first replies to "middle", second from there to
// "out".
func relay() *spec.Pipeline {
	in, middle, out, dead := stream("in"), stream("middle"), stream("out"), stream("dead")
	a, b := group("a", in, dead), group("b", middle, dead)
	subscribe(a, "first", nil).Reply = &spec.Route{To: middle}
	subscribe(b, "second", nil).Reply = &spec.Route{To: out}
	for _, g := range []*spec.Group{a, b} {
		// Crashes count as attempts from the third delivery on.
		g.Subscriptions[0].Retry.MaxAttempts = 1000
	}
	return pipeline(a, b)
}

// teller is a test, one of package rapid's or not.
type teller interface {
	Fatal(...any)
	Fatalf(string, ...any)
}

// play plays acts on what the configuration says of the server.
func play(t teller, cfg harness.Config, acts []act) string {
	pass := harness.Func(func(_ context.Context, d *sandbox.Delivery) outcome.Outcome { return replyWith(d.Raw) })
	cfg.Pipeline, cfg.Handlers = relay(), map[string]sandbox.Handler{"first": pass, "second": pass}
	h, err := harness.New(cfg)
	if err != nil {
		t.Fatal(err)
	}
	defer func() {
		if err := h.Close(); err != nil {
			t.Fatal(err)
		}
	}()
	ctx := context.Background()
	published := 0
	check := func(err error) {
		if err != nil {
			t.Fatalf("%v\n%s", err, h)
		}
	}
	start := func() {
		_, err := h.Start(ctx)
		check(err)
	}
	start()
	for _, a := range acts {
		switch a.kind {
		case "publish":
			for range a.n {
				published++
				_, err := h.Publish(broker.Add{Stream: "in", Fields: []broker.Field{{Name: spec.DefaultBody, Value: fmt.Sprintf(`{"n":%d}`, published)}}})
				check(err)
			}
			check(h.Settle(ctx))
		case "advance":
			check(h.Advance(ctx, a.d))
		case "fault":
			check(h.Arm(a.fault))
			check(h.Settle(ctx))
		case "start":
			start()
		case "stop":
			_ = h.Workers()[a.n%len(h.Workers())].Stop(ctx) // what it leaves is pending
		case "kill":
			check(h.Workers()[a.n%len(h.Workers())].Kill(ctx))
		case "disarm":
			h.Disarm()
		}
	}
	h.Disarm()
	start()
	check(h.Advance(ctx, 3*time.Minute))
	for _, stream := range []string{"middle", "out"} {
		times := map[string]int{}
		for _, e := range h.Entries(stream) {
			times[e.Body.Get("n").Text()]++
		}
		for n := 1; n <= published; n++ {
			if got := times[fmt.Sprint(n)]; got != 1 {
				t.Fatalf("entry %d is %d times in %s\n%s", n, got, stream, h)
			}
		}
	}
	if state := h.String(); strings.Contains(state, "\npending ") || len(h.Entries("dead")) > 0 {
		t.Fatalf("something is pending or dead\n%s", state)
	}
	return h.String()
}
