package redis_test

import (
	"context"
	"errors"
	"slices"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/tests/redistest"
)

// followed are the ids that Follow gives.
func followed(entries []broker.Entry) (ids []broker.ID) {
	for _, e := range entries {
		ids = append(ids, e.ID)
	}
	return ids
}

func TestFollowGivesWhatComesAndTouchesNoGroup(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, version)
			b := open(t, s)
			if none, err := b.Follow(t.Context(), "absent", broker.ID{}, 10, time.Millisecond); err != nil || len(none) > 0 {
				t.Errorf("an absent stream: %v, %v", none, err)
			}
			all := fill(t, b, 10)
			first, err := b.Follow(t.Context(), stream, broker.ID{}, 4, time.Second)
			if err != nil || !slices.Equal(followed(first), all[:4]) {
				t.Errorf("from the beginning: %v, %v", followed(first), err)
			}
			rest, err := b.Follow(t.Context(), stream, all[3], 100, 0)
			if err != nil || !slices.Equal(followed(rest), all[4:]) {
				t.Errorf("the rest: %v, %v", followed(rest), err)
			}
			groups, err := b.GroupInfos(t.Context(), stream)
			if err != nil || len(groups) > 1 || len(groups) == 1 && (groups[0].Pending != 0 || groups[0].Consumers != 0) {
				t.Errorf("the groups are %+v, %v", groups, err)
			}
			if _, err := b.Follow(t.Context(), stream, all[9], 0, 0); err == nil {
				t.Error("a count of 0 is taken")
			}
			s.CLI("SET", "text", "x")
			if _, err := b.Follow(t.Context(), "text", broker.ID{}, 1, 0); !errors.Is(err, broker.ErrWrongType) {
				t.Errorf("a string: %v", err)
			}
		})
	}
}

func TestFollowWaitsForAnEntryAndEndsWithItsContext(t *testing.T) {
	for _, version := range redistest.Versions {
		t.Run(version, func(t *testing.T) {
			t.Parallel()
			s := redistest.Shared(t, version)
			b, other := open(t, s), open(t, s)
			all := fill(t, other, 1)
			type answer struct {
				entries []broker.Entry
				err     error
			}
			follow := func(ctx context.Context) chan answer {
				out := make(chan answer, 1)
				go func() {
					entries, err := b.Follow(ctx, stream, all[0], 1, time.Minute)
					out <- answer{entries, err}
				}()
				return out
			}
			waits := follow(t.Context())
			added, err := other.Add(t.Context(), []broker.Add{{Stream: stream, Fields: []broker.Field{{Name: "a", Value: "b"}}}})
			if err != nil {
				t.Fatal(err)
			}
			if got := <-waits; got.err != nil || !slices.Equal(followed(got.entries), added) {
				t.Errorf("it gave %v, %v", got.entries, got.err)
			}
			ctx, cancel := context.WithCancel(t.Context())
			all[0] = added[0]
			waits = follow(ctx)
			cancel()
			if got := <-waits; len(got.entries) > 0 { // a minute's wait would outlast the test's bound
				t.Errorf("it gave %v", got.entries)
			}
		})
	}
}
