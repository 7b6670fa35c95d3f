package engine

import (
	"testing"
	"time"
)

// TestFloorsAreAskedForNoMoreThanAHundredTimesASecond, however many groups there are.
func TestFloorsAreAskedForNoMoreThanAHundredTimesASecond(t *testing.T) {
	for groups, want := range map[int]time.Duration{0: floorEvery, 1: floorEvery, 500: floorEvery, 501: 5010 * time.Millisecond, 3000: 30 * time.Second} {
		if d := betweenFloors(groups); d != want {
			t.Errorf("%d groups: a round every %v, want %v", groups, d, want)
		}
	}
}
