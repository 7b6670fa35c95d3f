package retry_test

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/internal/retry"
	"pipeline/engine/spec"
)

func TestDelayGrowsByItsMultiplierUpToItsMaximum(t *testing.T) {
	p := spec.Retry{Delay: time.Second, Multiplier: 4, MaxDelay: 5 * time.Minute}
	for attempt, want := range []time.Duration{1: time.Second, 2: 4 * time.Second, 3: 16 * time.Second, 4: 64 * time.Second, 5: 256 * time.Second, 6: 300 * time.Second, 7: 300 * time.Second} {
		if attempt == 0 {
			continue
		}
		if got := retry.Delay(&p, attempt, 0.5); got != want {
			t.Errorf("after attempt %d: %v, want %v", attempt, got, want)
		}
	}
}

func TestDelayIsSpreadByItsJitterAndNeverOverflows(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		p := spec.Retry{
			Delay:      time.Duration(rapid.Int64Range(1, int64(24*time.Hour)).Draw(t, "delay")),
			Multiplier: rapid.Float64Range(1, 1000).Draw(t, "multiplier"),
			Jitter:     rapid.Float64Range(0, 1).Draw(t, "jitter"),
		}
		attempt := rapid.IntRange(1, 1000).Draw(t, "attempt")
		middle := retry.Delay(&p, attempt, 0.5)
		got := retry.Delay(&p, attempt, rapid.Float64Range(0, 1).Draw(t, "random"))
		// Whole nanoseconds: the middle was cut once and may be doubled.
		low, high := float64(middle)*(1-p.Jitter), float64(middle)*(1+p.Jitter)
		if middle < math.MaxInt64/4 && (float64(got) < low-2 || float64(got) > high+2) {
			t.Fatalf("%v is outside %v to %v", got, time.Duration(low), time.Duration(high))
		}
		if got < 0 {
			t.Fatalf("negative delay %v", got)
		}
	})
}

func TestBackoffStaysWithinItsBoundsAndStartsAgainAfterSuccess(t *testing.T) {
	b := retry.NewBackoff()
	bound := b.Min
	for range 30 {
		if d := b.Next(rand.Float64()); d < b.Min/10 || d > bound {
			t.Fatalf("%v is outside %v to %v", d, b.Min/10, bound)
		}
		bound = min(2*bound, b.Max)
	}
	b.Reset()
	if d := b.Next(rand.Float64()); d > b.Min {
		t.Fatalf("after a success the first wait is %v", d)
	}
}

func TestParkedComeOutWhenDueInOrder(t *testing.T) {
	p := retry.NewParked()
	at := time.Unix(100, 0)
	id := func(n uint64) broker.ID { return broker.ID{Ms: n} }
	sooner := 0
	p.OnSooner(func() { sooner++ })
	p.Add(id(3), at.Add(3*time.Second))
	p.Add(id(1), at.Add(1*time.Second))
	p.Add(id(2), at.Add(2*time.Second))
	if sooner != 2 {
		t.Fatalf("told %d times that an entry became the first one due, want 2", sooner)
	}
	if due, ok := p.Next(); !ok || !due.Equal(at.Add(time.Second)) {
		t.Fatalf("next is due at %v, %v", due, ok)
	}
	if got := p.Take(at, 10); len(got) != 0 {
		t.Fatalf("took %v before they were due", got)
	}
	if got := p.Take(at.Add(2*time.Second), 10); !slices.Equal(got, []broker.ID{id(1), id(2)}) {
		t.Fatalf("took %v", got)
	}
	if p.Contains(id(1)) || !p.Contains(id(3)) || p.Len() != 1 {
		t.Fatal("what was taken is still parked, or what was not is gone")
	}
}
