package harness_test

import (
	"context"
	"crypto/sha256"
	"errors"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/harness"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// repeat is how often the hard scenario is run. It has been run 200 times, with
// the race detector too; a few runs in between find what changes break.
var repeat = flag.Int("repeat", 12, "how often to run the scenario that has to be the same every time")

// TestTheSameInputsGiveTheSameStateInEveryRun runs a pipeline with everything
// that could tell runs apart many times, on different numbers of processors and
// beside a load, and compares the whole state byte by byte.
func TestTheSameInputsGiveTheSameStateInEveryRun(t *testing.T) {
	runs := *repeat
	if testing.Short() {
		runs = min(runs, 6)
	}
	first := scenario(t)
	for _, part := range []string{
		"worker1 crashed", "worker2 alive", "worker3 alive", ": crashed", ": retry", ": failed", ": invalid",
		"dead-lettered", "reply results", "reply final", "redis.lost", "redis.back", "entry.handed_back",
	} {
		if !strings.Contains(first, part) {
			t.Fatalf("the scenario lacks %q:\n%s", part, first)
		}
	}
	sum := fmt.Sprintf("%x", sha256.Sum256([]byte(first)))
	if other := elsewhere(t); other != sum {
		t.Fatalf("another process comes to the state %s, this one to %s", other, sum)
	}
	before := runtime.GOMAXPROCS(0)
	defer runtime.GOMAXPROCS(before)
	stop := make(chan struct{})
	var load sync.WaitGroup
	defer load.Wait()
	defer close(stop)
	for range 2 {
		load.Go(func() { disturb(stop) })
	}
	for run := range runs {
		runtime.GOMAXPROCS([]int{1, 2, 8}[run%3])
		if again := scenario(t); again != first {
			t.Fatalf("run %d differs: %s", run, difference(first, again))
		}
	}
}

// asked tells the test binary to print the sum of the scenario's state.
const asked = "HARNESS_PRINT_STATE"

// elsewhere runs the scenario in another process, where hashes have other seeds,
// and returns the sum of its state.
func elsewhere(t *testing.T) string {
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.CommandContext(t.Context(), self, "-test.run=^TestPrintTheStateForAnotherProcess$", "-test.v")
	cmd.Env = append(os.Environ(), asked+"=1")
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	_, after, _ := strings.Cut(string(out), "state: ")
	sum, _, _ := strings.Cut(after, "\n")
	return sum
}

func TestPrintTheStateForAnotherProcess(t *testing.T) {
	if os.Getenv(asked) == "" {
		t.Skip("only for TestTheSameInputsGiveTheSameStateInEveryRun")
	}
	fmt.Printf("state: %x\n", sha256.Sum256([]byte(scenario(t))))
}

// disturb keeps processors and the collector busy in bursts.
func disturb(stop chan struct{}) {
	trash := make([][]byte, 64)
	for n := 0; ; n++ {
		select {
		case <-stop:
			return
		default:
		}
		trash[n%len(trash)] = make([]byte, 4096)
		for range n % 7 {
			runtime.Gosched()
		}
	}
}

// difference is the first line in which two texts differ.
func difference(a, b string) string {
	as, bs := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(as), len(bs)) {
		if as[i] != bs[i] {
			return fmt.Sprintf("line %d is\n%s\nand was\n%s", i+1, bs[i], as[i])
		}
	}
	return fmt.Sprintf("%d lines, and was %d", len(bs), len(as))
}

// hard is a pipeline of three streams in a row, four groups, and subscriptions
// that compete: double and triple read "in" and both reply into "results", which
// sum and its rival read together and reply to "final", which audit reads.
func hard() (*spec.Pipeline, map[string]sandbox.Handler) {
	in, results, final, dead := stream("in"), stream("results"), stream("final"), stream("dead")
	key := func(s *spec.Subscription) {
		s.Workers = spec.Workers{Count: 8, Key: &spec.Path{Root: spec.RootEntry, Steps: []spec.Step{{Name: "account"}}}}
		s.Batch = 7
	}
	double, triple := group("double", in, dead), group("triple", in, dead)
	sum, audit := group("sum", results, dead), group("audit", final, dead)
	for _, s := range []*spec.Subscription{subscribe(double, "double", key), subscribe(triple, "triple", key)} {
		s.Reply = &spec.Route{To: results}
	}
	for _, s := range []*spec.Subscription{subscribe(sum, "sum", key), subscribe(sum, "rival", key)} {
		s.Reply = &spec.Route{To: final}
	}
	subscribe(audit, "audit", func(s *spec.Subscription) {
		key(s)
		s.Claim.Using = spec.UsingAutoclaim
	})
	p := pipeline(double, triple, sum, audit)
	p.Streams = []*spec.Stream{in, results, final, dead}
	in.Retention = &spec.Retention{MaxLength: 1000, ProtectUnacknowledged: true}
	times := func(n int) harness.Func {
		return func(ctx context.Context, d *sandbox.Delivery) outcome.Outcome {
			v := number(d, "n")
			switch {
			case v%11 == 3 && d.Deliveries == 0:
				return outcome.Outcome{Kind: outcome.Retry, Reason: "later"}
			case v%13 == 5 && d.Attempt < 3:
				return outcome.Fail(outcome.FailError, "not yet")
			case v%17 == 7:
				return outcome.Fail(outcome.FailError, "never")
			case v%5 == 1:
				if harness.Sleep(ctx, time.Duration(v)*700*time.Millisecond) != nil {
					return outcome.Fail(outcome.FailCanceled, "")
				}
			}
			return replyWith(fmt.Sprintf(`{"n":%d,"account":"%d"}`, n*v, v%4))
		}
	}
	return p, map[string]sandbox.Handler{
		"double": times(2), "triple": times(3), "sum": times(1), "rival": times(1), "audit": harness.Func(ack),
	}
}

// scenario is one run over hard, as text.
func scenario(t *testing.T) string {
	p, handlers := hard()
	h, err := harness.New(harness.Config{Pipeline: p, Handlers: handlers})
	if err != nil {
		t.Fatal(err)
	}
	b := &bench{h, t}
	add := func(from, to int) {
		for n := from; n < to; n++ {
			body := fmt.Sprintf(`{"n":%d,"account":"a%d"}`, n, n%9)
			if n%19 == 8 {
				body = `{"n":`
			}
			if _, err := h.Publish(broker.Add{Stream: "in", Fields: []broker.Field{{Name: spec.DefaultBody, Value: body}}}); err != nil {
				t.Fatal(err)
			}
		}
	}
	add(0, 20)
	b.start()
	b.start()
	b.arm(harness.Fault{Kind: harness.Crash, Subscription: "triple", At: harness.BeforeAck, Nth: 5})
	b.arm(harness.Fault{Kind: harness.LostReply, Subscription: "sum"})
	b.arm(harness.Fault{Kind: harness.Slow, Subscription: "rival", Nth: 2, For: 3 * time.Second})
	add(20, 45)
	b.settle()
	b.advance(10 * time.Second)
	b.revive()
	b.arm(harness.Fault{Kind: harness.ServerDown, For: 7 * time.Second})
	add(45, 60)
	b.advance(time.Minute)
	b.arm(harness.Fault{Kind: harness.Slow, Subscription: "audit", For: 40 * time.Second})
	add(60, 70)
	b.advance(3 * time.Minute)
	state := h.String()
	// The slow handlers of audit do not finish within drain_timeout.
	left := h.Stop(t.Context())
	if _, ok := errors.AsType[*engine.LeftError](left); !ok {
		t.Fatalf("stopped with %v", left)
	}
	state += h.String() + left.Error()
	if err := h.Close(); err != nil {
		t.Fatal(err)
	}
	return state
}
