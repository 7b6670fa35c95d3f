package redis_test

import (
	"fmt"
	"regexp"
	"strconv"
	"testing"

	"pipeline/engine/broker"
	"pipeline/tests/redistest"
)

// TestASurveyOf200GroupsTakesAFewTrips counts how often the server found something
// to read on its connections.
func TestASurveyOf200GroupsTakesAFewTrips(t *testing.T) {
	const groups = 200
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Start(t, version)
			b := open(t, s)
			var asks []broker.Ask
			for i := range groups {
				name := fmt.Sprintf("stream-%d", i)
				if _, err := b.CreateGroup(t.Context(), name, "g", "0"); err != nil {
					t.Fatal(err)
				}
				if _, err := b.Add(t.Context(), []broker.Add{message(name, field("a", "b"))}); err != nil {
					t.Fatal(err)
				}
				o := broker.Owner{Stream: name, Group: "g", Consumer: "c"}
				if _, err := b.Read(t.Context(), broker.ReadRequest{Owner: o, Count: 1}); err != nil {
					t.Fatal(err)
				}
				if _, err := b.Add(t.Context(), []broker.Add{message(name, field("a", "b"))}); err != nil {
					t.Fatal(err)
				}
				asks = append(asks, broker.Ask{Stream: name, Groups: []string{"g"}})
			}
			before := reads(t, s)
			survey, err := b.Survey(t.Context(), asks)
			if err != nil {
				t.Fatal(err)
			}
			// 1001 commands in 5 trips, a trip in at most 2 reads of 16 KiB; INFO is one.
			if n := reads(t, s) - before; n > 15 {
				t.Errorf("the server had to read %d times", n)
			}
			for i, found := range survey.Streams {
				if g := found.Groups[0]; found.Err != nil || g.Err != nil || g.Pending != 1 || g.OldestUndelivered != found.LastID || len(g.Consumers) != 1 {
					t.Fatalf("%d: %+v", i, found)
				}
			}
		})
	}
}

// reads is how often a server has read from its connections.
func reads(t *testing.T, s *redistest.Server) int {
	t.Helper()
	found := regexp.MustCompile(`total_reads_processed:(\d+)`).FindStringSubmatch(s.Client().Info(t.Context(), "stats").Val())
	if found == nil {
		t.Fatal("the server does not tell how often it read")
	}
	n, err := strconv.Atoi(found[1])
	if err != nil {
		t.Fatal(err)
	}
	return n
}
