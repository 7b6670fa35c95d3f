package harness_test

import (
	"flag"
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"pipeline/engine/broker/redis/aging"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
	"pipeline/tests/redistest"
)

var aged = flag.Int("aged", 10, "how many random plays are compared on each server")

// TestARealServerOnTheSameClockIsLikeTheOneInMemory plays the same acts on both:
// what was called when, what came of it, what is pending for how long and what
// was told is the same.
func TestARealServerOnTheSameClockIsLikeTheOneInMemory(t *testing.T) {
	besideMemory(t, func(t *testing.T, played string, redis *aging.Redis) {
		for seed := range *aged {
			acts := rapid.Custom(drawActs).Example(seed)
			memory := play(t, harness.Config{Version: played}, acts)
			server := play(t, onRedis(t, redis), acts)
			if a, b := nameless(memory), nameless(server); a != b {
				t.Fatalf("seed %d, %+v: %s", seed, acts, difference(a, b))
			}
		}
	})
}

// besideMemory runs a test on each server, with the version that the one in
// memory has to play beside it.
func besideMemory(t *testing.T, test func(t *testing.T, played string, redis *aging.Redis)) {
	for version, played := range map[string]string{"8.6": "8.6.3", "7.0": "7.0.15"} {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			redis, err := aging.Open(t.Context(), redistest.Shared(t, version).URL(), clock.Real())
			if err != nil {
				t.Fatal(err)
			}
			defer func() { _ = redis.Close() }()
			test(t, played, redis)
		})
	}
}

// onRedis has a harness run on keys of its own.
func onRedis(t *testing.T, redis *aging.Redis) harness.Config {
	t.Helper()
	now, err := redis.Now(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return harness.Config{Start: now, Open: func(c clock.Clock) (harness.Server, error) { return redis.Keyspace(t.Context(), c) }}
}

var idInText = regexp.MustCompile(`\b[0-9]{13}-[0-9]+\b`)

// nameless replaces ids by the order in which they are told of in their stream,
// and drops the line with the time.
func nameless(state string) string {
	names := map[string]string{}
	_, state, _ = strings.Cut(state, "\n")
	var b strings.Builder
	for line := range strings.Lines(state) {
		stream := streamOf(line)
		b.WriteString(idInText.ReplaceAllStringFunc(line, func(id string) string {
			id = stream + id
			if names[id] == "" {
				names[id] = fmt.Sprint("#", len(names)+1)
			}
			return names[id]
		}))
	}
	return b.String()
}

// streamOf is the stream of a relay that a line is about.
func streamOf(line string) string {
	for stream, about := range map[string][]string{"out": {"entry out"}, "middle": {"entry middle", "pending b", " second "}} {
		for _, words := range about {
			if strings.Contains(line, words) {
				return stream
			}
		}
	}
	return "in"
}
