package metrics

import (
	"testing"
	"time"
)

// TestManySubscriptionsAreLookedAtLessOften, but at least once a second, which is
// what the watchdog counts on.
func TestManySubscriptionsAreLookedAtLessOften(t *testing.T) {
	for subs, want := range map[int]time.Duration{0: sampling, 1: sampling, 100: sampling, 300: 300 * time.Millisecond, 5000: time.Second} {
		if d := between(subs); d != want {
			t.Errorf("%d subscriptions: a look every %v, want %v", subs, d, want)
		}
	}
}
