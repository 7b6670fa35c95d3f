package sandboxtest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
	"time"
)

const (
	// childVariable holds the number of the first attack in a child process.
	childVariable = "SANDBOXTEST_FIRST_ATTACK"
	// secretVariable is what an attack would find in the environment.
	secretVariable = "SANDBOXTEST_SECRET"
	secret         = "the-password-of-the-host"
	// maxResident is the most memory that the process may ever use.
	maxResident = 256 << 20
	// loadTimeout bounds reading a hostile source.
	loadTimeout = 3 * time.Second
	// keptRate is the part of its rate that the neighbour keeps at least. An
	// attack that lasts takes one processor, and the collector of garbage that
	// it makes another; the neighbour competes with both.
	keptRate = 0.4
)

// report is one line that the child writes for an attack: when it begins, and
// again when it has ended.
type report struct {
	Attack  string
	Ended   bool
	End     string
	Message string
	// Took is without the time in which others had the processors.
	Took time.Duration
	// Leak is what the handler said that it must not know, Changed what later
	// entries saw differently, Broken what else is wrong with the instance.
	Leak, Changed, Broken string
	// Beside is the neighbour during the attack, Alone just before.
	Beside, Alone pace
	Resident      int64
	// Fenced tells that a file or a socket would have killed the process.
	Fenced bool
}

// Main runs a package's tests, or, in a child process, the attacks. Call it
// from TestMain.
func Main(m *testing.M, s Suite) {
	s = s.thinned()
	first := os.Getenv(childVariable)
	if first == "" {
		os.Exit(m.Run())
	}
	var n int
	if _, err := fmt.Sscan(first, &n); err != nil || n >= len(s.Attacks) {
		os.Exit(2)
	}
	s.child(s.Attacks[n:])
	os.Exit(0)
}

// Hostile runs the attacks in child processes, which Main has to serve, and
// checks how each ends.
func Hostile(t *testing.T, s Suite) {
	s = s.thinned()
	seen := s.collect(t)
	for _, a := range s.Attacks {
		t.Run(a.Name, func(t *testing.T) {
			for _, wrong := range s.judge(&a, seen[a.Name]) {
				t.Error(wrong)
			}
		})
	}
	s.sum(t, seen)
}

// thinned is a part of a long suite where the race detector runs: there is
// neither a fence nor a bound on memory then, and everything takes ten times as
// long. The whole suite has to be run without it as well.
func (s Suite) thinned() Suite {
	const whole, part = 50, 4
	if slowness == 1 || len(s.Attacks) <= whole {
		return s
	}
	var some []Attack
	for i := 0; i < len(s.Attacks); i += part {
		some = append(some, s.Attacks[i])
	}
	s.Attacks = some
	return s
}

// collect runs the attacks. A child that dies ends one attack; another child
// goes on after it. A child may die of what an attack left behind as well.
func (s Suite) collect(t *testing.T) map[string]report {
	t.Helper()
	seen := map[string]report{}
	for first := 0; first < len(s.Attacks); {
		reports, fate := runChild(t, first)
		for _, r := range reports {
			seen[r.Attack] = r
		}
		if len(reports) == 0 {
			t.Fatalf("the child process did nothing: %s", fate)
		}
		last := reports[len(reports)-1]
		first += countAttacks(reports)
		switch {
		case !last.Ended:
			last.End, last.Message = "killed the process", fate
		case first < len(s.Attacks):
			last.Broken = "the process died after it had ended: " + fate
		}
		seen[last.Attack] = last
	}
	return seen
}

// sum prints the figures over all attacks and checks those of the neighbour.
func (s Suite) sum(t *testing.T, seen map[string]report) {
	var beside, alone pace
	var peak int64
	var slowest, largest string
	unfenced := 0
	for name, r := range seen {
		if beside.add(r.Beside); r.Beside.Slowest == beside.Slowest {
			slowest = name
		}
		alone.add(r.Alone)
		if r.Resident > peak {
			peak, largest = r.Resident, name
		}
		if !r.Fenced {
			unfenced++
		}
	}
	t.Logf("%d attacks, %d of them without a fence; peak memory of the process %d MiB (by %q)", len(seen), unfenced, peak>>20, largest)
	t.Logf("the healthy neighbour: %.0f calls a second beside them, %.0f alone; %d of %d wrong; slowest call %s (beside %q), alone %s",
		beside.rate(), alone.rate(), beside.Harmed, beside.Calls, beside.Slowest, slowest, alone.Slowest)
	if slowness == 1 && beside.rate() < keptRate*alone.rate() {
		t.Error("the neighbour lost too much of its rate")
	}
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
	cmd.Env = append(os.Environ(), fmt.Sprintf("%s=%d", childVariable, first), secretVariable+"="+secret,
		// For how many processors there are, Go looks into files now and then, and the C library when a
		// thread first wants memory and finds others there.
		"GODEBUG=updatemaxprocs=0", "MALLOC_ARENA_MAX=1", "GOTRACEBACK=none")
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

// bound is the longest that an attack may take.
func (s Suite) bound(a *Attack) time.Duration {
	if a.Loads {
		return slowness * loadTimeout
	}
	return slowness * 3 * s.limits().Timeout
}

// judge is what is wrong with how an attack ended.
func (s Suite) judge(a *Attack, r report) (wrong []string) {
	bad := func(format string, args ...any) { wrong = append(wrong, fmt.Sprintf(format, args...)) }
	// Under the race detector work that is ten times as slow may reach the time limit
	// before it reaches what it would end by.
	late := slowness > 1 && r.End == "timeout"
	if !slices.Contains(a.Ends, r.End) && !late {
		bad("ended as %q, want one of %q: %s", r.End, a.Ends, r.Message)
	}
	if r.Leak != "" {
		bad("the handler said %q", r.Leak)
	}
	if r.Changed != "" {
		bad("a later entry sees something else: %s", r.Changed)
	}
	if r.Broken != "" {
		bad("%s", r.Broken)
	}
	if r.Took > s.bound(a) {
		bad("took %s of at most %s", r.Took, s.bound(a))
	}
	if r.Beside.Harmed > 0 {
		bad("%d of %d calls of the neighbour went wrong", r.Beside.Harmed, r.Beside.Calls)
	}
	if slowness == 1 && r.Resident > maxResident {
		bad("the process used %d MiB", r.Resident>>20)
	}
	return wrong
}
