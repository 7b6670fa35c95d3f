package redis_test

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/tests/redistest"
)

// fillScript adds entries in one step, whose ids are 1-0 and up.
const fillScript = `for i = 1, ARGV[1] do redis.call('XADD', KEYS[1], i .. '-0', '_payload', string.rep('x', 100)) end return 1`

// calls is how often a command ran on a server, in scripts too.
func calls(t *testing.T, s *redistest.Server, command string) int64 {
	t.Helper()
	_, rest, _ := strings.Cut(s.CLI("INFO", "commandstats"), "cmdstat_"+command+":calls=")
	rest, _, _ = strings.Cut(rest, ",")
	n, _ := strconv.ParseInt(rest, 10, 64)
	return n
}

// However much there is to trim, one call removes little of it, so that nobody waits
// long for the server.
func TestTrimGoesInBoundedSteps(t *testing.T) {
	const entries, keep = 100_000, 10_000
	for name, c := range map[string]struct {
		request broker.TrimRequest
		step    int64
	}{
		"to a length":              {broker.TrimRequest{MaxLen: keep}, 10_000},
		"to an id":                 {broker.TrimRequest{MinID: broker.ID{Ms: entries - keep + 1}}, 10_000},
		"to a length, protected":   {broker.TrimRequest{MaxLen: keep, Protect: true}, 1_000},
		"to both bounds protected": {broker.TrimRequest{MaxLen: keep, MinID: broker.ID{Ms: entries}, Protect: true}, 1_000},
	} {
		t.Run(name, func(t *testing.T) {
			for _, version := range redistest.Versions {
				t.Run(version, func(t *testing.T) {
					s := redistest.Start(t, version)
					b := open(t, s)
					if err := s.Client().Eval(t.Context(), fillScript, []string{stream}, entries).Err(); err != nil {
						t.Fatal(err)
					}
					c.request.Stream = stream
					if _, err := b.CreateGroup(t.Context(), stream, group, "$"); err != nil { // it has all behind it
						t.Fatal(err)
					}
					s.CLI("CONFIG", "RESETSTAT")
					s.CLI("SLOWLOG", "RESET")
					s.CLI("CONFIG", "SET", "slowlog-log-slower-than", "0")
					steps, removed := 0, int64(0)
					for {
						n, err := b.Trim(t.Context(), c.request)
						if err != nil {
							t.Fatal(err)
						}
						if n == 0 {
							break
						}
						if steps, removed = steps+1, removed+n; n > c.step {
							t.Errorf("step %d removed %d entries", steps, n)
						}
					}
					want := int64(entries - keep)
					if c.request.MaxLen > 0 && !c.request.MinID.IsZero() {
						want = entries - 1
					}
					if removed != want || s.Client().XLen(t.Context(), stream).Val() != entries-want {
						t.Errorf("%d entries went in %d steps, want %d", removed, steps, want)
					}
					if c.request.Protect && calls(t, s, "xrange") > int64(15*(steps+1)) {
						t.Errorf("%d looks in %d steps", calls(t, s, "xrange"), steps)
					}
					t.Logf("%d steps, %d calls of xtrim, the slowest %v", steps, calls(t, s, "xtrim"), slowest(t, s))
				})
			}
		})
	}
}

// What is pending holds up a step for no longer than what can go.
func TestTrimLooksAtLittleOfWhatIsPending(t *testing.T) {
	everyVersion(t, func(t *testing.T, s *redistest.Server, b *redis.Broker) {
		if err := s.Client().Eval(t.Context(), fillScript, []string{stream}, 20_000).Err(); err != nil {
			t.Fatal(err)
		}
		if _, err := b.CreateGroup(t.Context(), stream, group, "0"); err != nil {
			t.Fatal(err)
		}
		if err := s.Client().Do(t.Context(), "XREADGROUP", "GROUP", group, "c", "COUNT", 20_000, "STREAMS", stream, ">").Err(); err != nil {
			t.Fatal(err)
		}
		s.CLI("XACK", stream, group, "500-0", "1500-0")
		n, err := b.Trim(t.Context(), broker.TrimRequest{Stream: stream, MaxLen: 1, Protect: true})
		if err != nil || n != 1 {
			t.Errorf("removed %d, %v; want the one within a step's reach", n, err)
		}
	})
}

// slowest is the longest that the server took for a command since the log was reset.
func slowest(t *testing.T, s *redistest.Server) (most time.Duration) {
	t.Helper()
	slow, err := s.Client().SlowLogGet(t.Context(), 1000).Result()
	if err != nil {
		t.Fatal(err)
	}
	for _, entry := range slow {
		most = max(most, entry.Duration)
	}
	return most
}
