package lease_test

import (
	"testing"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/internal/lease"
)

func TestTheServersTimeGoesOnByTheClockHere(t *testing.T) {
	here := clock.NewVirtual(time.Unix(1_000_000, 0))
	s := lease.NewServerTime(here)
	expect := func(when string, want time.Time) {
		t.Helper()
		if got := s.Now(); !got.Equal(want) {
			t.Errorf("%s it is %v there, want %v", when, got, want)
		}
	}
	expect("before anything was heard", here.Now())
	there := time.Unix(5_000_000, 0)
	s.Hear(there)
	expect("as it was heard", there)
	here.Advance(time.Minute)
	expect("a minute later", there.Add(time.Minute))
	s.Hear(there.Add(-time.Hour))
	expect("set back", there.Add(-time.Hour))
	(*lease.ServerTime)(nil).Hear(there) // where nobody needs it
}
