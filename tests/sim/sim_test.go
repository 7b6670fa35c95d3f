package sim

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"go.uber.org/goleak"
	"pgregory.net/rapid"
)

var (
	runs = flag.Int("sim.runs", 400, "how many histories to play for each server version")
	span = flag.Duration("sim.time", 0, "play histories for so long for each server version, instead of sim.runs")
	seed = flag.Uint64("sim.seed", 1, "the seed of the first history; 0 is one of its own in each run")
)

// withoutIDs is a server whose XAUTOCLAIM does not tell of entries without a body.
const withoutIDs = "6.2.14"

// versions are the servers that are played: one with claiming reads, and two with
// XAUTOCLAIM alone.
var versions = []string{"8.6.3", "7.0.15", withoutIDs}

func TestMain(m *testing.M) {
	flag.Parse()
	// What fails is printed; files about it would only lie in the way.
	_ = flag.Set("rapid.nofailfile", "true") // fails only where there is no such flag
	goleak.VerifyTestMain(m)
}

// check has rapid look for a history for which the test fails, and cut it down.
func check(t *testing.T, first uint64, count int, test func(*rapid.T)) {
	t.Helper()
	for name, value := range map[string]string{"rapid.seed": fmt.Sprint(first), "rapid.checks": fmt.Sprint(count)} {
		if err := flag.Set(name, value); err != nil {
			t.Fatal(err)
		}
	}
	rapid.Check(t, test)
}

func TestHistories(t *testing.T) {
	first := *seed
	if first == 0 {
		first = uint64(time.Now().UnixNano())
	}
	all, most := &tally{}, 0
	for i, version := range versions {
		t.Run(version, func(t *testing.T) {
			began, played := time.Now(), 0
			defer func() { most += played }()
			for round := uint64(0); !t.Failed() && (round == 0 || time.Since(began) < *span); round++ {
				at, count := first+round, *runs
				if *span > 0 {
					count = 200
				}
				// Each version has histories of its own.
				check(t, at*uint64(len(versions))+uint64(i), count, func(t *rapid.T) {
					played++
					p := drawPlan(t)
					p.tally = all
					problems, state := play(version, p, nil)
					if len(problems) > 0 {
						t.Fatalf("%s\n%v%s\nagain: go test ./tests/sim -run 'TestHistories/%s' -sim.seed %d -sim.runs %d",
							strings.Join(problems, "\n"), p, shown(state()), version, at, count)
					}
				})
			}
			t.Logf("%d histories from seed %d in %v", played, first, time.Since(began).Round(time.Millisecond))
		})
	}
	for _, what := range all.names() {
		t.Logf("%6d %s", all.of(what), what)
	}
	if most < enough || t.Failed() {
		return
	}
	for _, f := range failpoints {
		if all.of(f.String()) == 0 {
			t.Errorf("nothing went wrong %q, in %d histories", f, most)
		}
	}
	for _, w := range withheld {
		if all.of(w) == 0 {
			t.Errorf("there are no %s, in %d histories", w, most)
		}
	}
	for _, e := range effects {
		if all.of("failpoints: "+string(e)) == 0 {
			t.Errorf("no failpoint has the effect that it %s", e)
		}
	}
}

// enough is how many histories have to come by all failpoints: those of a run
// without flags.
const enough = 1000

// shown is a state as a failure prints it: all of it where PIPELINE_SIM_STATE
// says so.
func shown(state string) string {
	const most = 6000
	if len(state) <= most || os.Getenv("PIPELINE_SIM_STATE") != "" {
		return state
	}
	return state[:most] + "…\n(PIPELINE_SIM_STATE=1 shows all)"
}
