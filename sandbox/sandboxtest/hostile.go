package sandboxtest

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/outcome"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Limits of an attack. A healthy machine is done with each in a few
// milliseconds or at these.
var attackLimits = sandbox.Limits{Timeout: 250 * time.Millisecond, Memory: 32 << 20, Instructions: 20_000_000}

const (
	// childVariable holds the number of the first attack in a child process.
	childVariable = "SANDBOXTEST_FIRST_ATTACK"
	// maxResident is the most memory that the process may ever use.
	maxResident = 256 << 20
	// aloneFor is how long the neighbour runs before the first attack.
	aloneFor = 300 * time.Millisecond
	// loadTimeout bounds reading a hostile source.
	loadTimeout = 3 * time.Second
)

// report is one line that the child writes for an attack: when it begins, and
// again when it has ended.
type report struct {
	Attack  string
	Ended   bool
	End     string
	Message string
	Took    time.Duration
	// Usable tells whether the instance served an honest call afterwards.
	Usable bool
	// Healthy is how many calls the neighbour made meanwhile, Harmed how many
	// of them went wrong.
	Healthy, Harmed int64
	// Elapsed is the time in which the neighbour made them, and Alone how many
	// calls a second it makes with no attack beside it.
	Elapsed  time.Duration
	Alone    int64
	Resident int64
}

// Main runs a package's tests, or, in a child process, the attacks. Call it
// from TestMain.
func Main(m *testing.M, e Engine, attacks []Attack, healthy string) {
	first := os.Getenv(childVariable)
	if first == "" {
		os.Exit(m.Run())
	}
	var n int
	if _, err := fmt.Sscan(first, &n); err != nil || n >= len(attacks) {
		os.Exit(2)
	}
	limitAddressSpace()
	child(e, attacks[n:], healthy)
	os.Exit(0)
}

// Hostile runs the attacks in child processes, which Main has to serve, and
// checks how each ends.
func Hostile(t *testing.T, attacks []Attack) {
	seen := map[string]report{}
	for first := 0; first < len(attacks); {
		reports, fate := runChild(t, first)
		for _, r := range reports {
			seen[r.Attack] = r
		}
		if len(reports) == 0 {
			t.Fatalf("the child process did nothing: %s", fate)
		}
		last := reports[len(reports)-1]
		first += countAttacks(reports)
		if !last.Ended {
			last.End, last.Message = "killed the process", fate
			seen[last.Attack] = last
		}
	}
	var calls, harmed, peak, alone int64
	var elapsed time.Duration
	for _, a := range attacks {
		r := seen[a.Name]
		calls, harmed, peak = calls+r.Healthy, harmed+r.Harmed, max(peak, r.Resident)
		elapsed, alone = elapsed+r.Elapsed, max(alone, r.Alone)
		t.Run(a.Name, func(t *testing.T) { judge(t, a, r) })
	}
	rate := int64(float64(calls) / elapsed.Seconds())
	t.Logf("%d attacks; the healthy neighbour made %d calls a second beside them and %d alone, %d of %d wrong; peak memory %d MiB",
		len(attacks), rate, alone, harmed, calls, peak>>20)
}

func countAttacks(reports []report) int {
	names := map[string]bool{}
	for _, r := range reports {
		names[r.Attack] = true
	}
	return len(names)
}

// runChild starts a child at attack number first and returns what it reported
// and, if it died, its last words.
func runChild(t *testing.T, first int) ([]report, string) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^$")
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childVariable, first), "GOTRACEBACK=none")
	var words strings.Builder
	cmd.Stderr = &words
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var reports []report
	lines := bufio.NewScanner(out)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var r report
		if json.Unmarshal(lines.Bytes(), &r) == nil && r.Attack != "" {
			reports = append(reports, r)
		}
	}
	err = cmd.Wait()
	return reports, fmt.Sprintf("%v: %.300s", err, words.String())
}

// leaks are parts of texts that no handler may ever see or cause.
var leaks = []string{"0xc0", "goroutine", "runtime error", ".go:", "root:", "interface conversion"}

// bound is the longest that an attack may take.
func (a Attack) bound() time.Duration {
	if strings.HasPrefix(a.Name, "source: ") {
		return slowness * loadTimeout
	}
	return slowness * 3 * attackLimits.Timeout
}

func judge(t *testing.T, a Attack, r report) {
	if !slices.Contains(a.Ends, r.End) {
		t.Errorf("ended as %q, want one of %q: %s", r.End, a.Ends, r.Message)
	}
	for _, leak := range leaks {
		if strings.Contains(r.Message, leak) {
			t.Errorf("the message shows %q: %s", leak, r.Message)
		}
	}
	if r.Took > a.bound() {
		t.Errorf("took %s of at most %s", r.Took, a.bound())
	}
	if r.End != "load" && !r.Usable {
		t.Error("the instance is not usable afterwards")
	}
	if r.Harmed > 0 {
		t.Errorf("%d of %d calls of the neighbour went wrong", r.Harmed, r.Healthy)
	}
	if slowness == 1 && r.Resident > maxResident {
		t.Errorf("the process used %d MiB", r.Resident>>20)
	}
}

// child runs attacks beside a healthy neighbour and reports each on stdout.
func child(e Engine, attacks []Attack, healthy string) {
	n := startNeighbour(e, healthy)
	defer n.stop()
	out := json.NewEncoder(os.Stdout)
	c := clock.Real()
	_ = clock.Sleep(context.Background(), c, aloneFor)
	alone := int64(float64(n.calls.Load()) / aloneFor.Seconds())
	for _, a := range attacks {
		runtime.GC()
		_ = out.Encode(report{Attack: a.Name})
		resetPeak()
		start := c.Now()
		calls, harmed := n.calls.Load(), n.harmed.Load()
		r := attack(e, a)
		// A busy machine can hold up any process; three times in a row it is
		// the attack.
		for tries := 1; tries < 3 && r.Took > a.bound(); tries++ {
			r = attack(e, a)
		}
		r.Healthy, r.Harmed = n.calls.Load()-calls, n.harmed.Load()-harmed
		r.Elapsed, r.Alone, r.Resident = clock.Since(c, start), alone, residentPeak()
		_ = out.Encode(r)
	}
}

// attack runs one attack, and then an honest entry on the same instance.
func attack(e Engine, a Attack) report {
	r := report{Attack: a.Name, Ended: true}
	c := clock.Real()
	start := c.Now()
	h, err := e.Compile(sandbox.Spec{Label: "attack", Source: sandbox.Source{Name: "attack.lua", Code: a.Code}, Function: "handle", Limits: attackLimits})
	if err != nil {
		r.End, r.Message, r.Took = "load", err.Error(), clock.Since(c, start)
		return r
	}
	defer h.Close()
	in, err := h.NewInstance(context.Background())
	if err != nil {
		r.End, r.Message, r.Took = "load", err.Error(), clock.Since(c, start)
		return r
	}
	defer in.Close()
	start = c.Now()
	out, _ := in.Call(context.Background(), Delivery(a.Body))
	r.Took = clock.Since(c, start)
	r.End, r.Message = ending(out)
	// The second call attacks again: it has to end in the same way, which a
	// spoilt state would not.
	again, _ := in.Call(context.Background(), Delivery(a.Body))
	end, message := ending(again)
	r.Usable = slices.Contains(a.Ends, end)
	if !r.Usable {
		r.Message += "; again: " + end + ": " + message
	}
	return r
}

// ending is the name of an outcome and its text.
func ending(out outcome.Outcome) (end, message string) {
	if out.Kind == outcome.Failed {
		return string(out.Failure.Kind), out.Failure.Message
	}
	return out.Kind.String(), out.Reason
}

// neighbour is a healthy handler in the same process.
type neighbour struct {
	calls, harmed atomic.Int64
	quit          chan struct{}
	done          sync.WaitGroup
}

func startNeighbour(e Engine, code string) *neighbour {
	n := &neighbour{quit: make(chan struct{})}
	h, err := e.Compile(sandbox.Spec{Label: "healthy", Source: sandbox.Source{Name: "healthy.lua", Code: []byte(code)}, Function: "handle"})
	if err != nil {
		panic(err)
	}
	in, err := h.NewInstance(context.Background())
	if err != nil {
		panic(err)
	}
	n.done.Go(func() {
		defer in.Close()
		d := Delivery(`{"id":18446744073709551615,"amount_cents":1200001}`)
		for {
			select {
			case <-n.quit:
				return
			default:
			}
			out, _ := in.Call(context.Background(), d)
			n.calls.Add(1)
			if out.Kind != outcome.Reply || out.Replies[0].Body.Get("id").Text() != "18446744073709551615" {
				n.harmed.Add(1)
			}
			// As many calls as a busy subscription makes, and no more, so that
			// the attack has a processor too.
			_ = clock.Sleep(context.Background(), clock.Real(), 200*time.Microsecond)
		}
	})
	return n
}

func (n *neighbour) stop() {
	close(n.quit)
	n.done.Wait()
}

// Delivery is a delivery with that body, JSON; an empty body is {}.
func Delivery(body string) *sandbox.Delivery {
	if body == "" {
		body = "{}"
	}
	v, err := value.ParseJSON(body, nil)
	if err != nil {
		panic(err)
	}
	return &sandbox.Delivery{
		ID: "1700000000000-0", Stream: "payments", Group: "ledger", Subscription: "s", Key: "acct-1",
		Headers: []outcome.Header{{Name: "correlation-id", Value: "c-1"}},
		Fields:  []outcome.Header{{Name: "_payload", Value: body}},
		Attempt: 1, MaxAttempts: 5, Now: time.UnixMilli(1_700_000_000_500), Replies: true, Body: &v,
	}
}
