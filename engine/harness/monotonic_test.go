package harness

import (
	"testing"
	"time"
)

func TestAReadingHasTwoClocks(t *testing.T) {
	wall := DefaultStart.Add(1234567891 * time.Nanosecond)
	a, b := reading(wall, time.Hour), reading(wall.Add(-24*time.Hour), 2*time.Hour)
	if got := b.Sub(a); got != time.Hour || !a.Before(b) {
		t.Errorf("by the monotonic reading %v passed, want 1h", got)
	}
	if got := b.Round(0).Sub(a.Round(0)); got != -24*time.Hour {
		t.Errorf("by the wall clock %v passed, want -24h", got)
	}
	if !a.Round(0).Equal(wall) || a.UnixNano() != wall.UnixNano() {
		t.Errorf("the wall clock shows %v, want %v", a, wall)
	}
	if got := a.Add(time.Minute).Sub(a); got != time.Minute {
		t.Errorf("a minute later is %v later", got)
	}
}
