package alerts

import (
	"math"
	"time"

	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// longest is how old a pending entry of the group may become while all goes as the
// file says: it waits to be read, runs as often as its policy lets it, with the
// longest pauses between, and each time a worker may die and its entry be claimed.
// It is in whole seconds.
func longest(g *spec.Group, behind time.Duration) time.Duration {
	var most time.Duration
	for _, s := range g.Subscriptions {
		most = max(most, attempts(s))
	}
	return (behind + most + time.Second - 1).Truncate(time.Second)
}

// attempts is how long all attempts of a subscription take at most.
func attempts(s *spec.Subscription) time.Duration {
	call := s.Handler.Limits.Timeout
	if call == 0 {
		call = sandbox.DefaultTimeout
	}
	if s.Claim != nil {
		call += s.Claim.MinIdle
	}
	const most = float64(365 * 24 * time.Hour)
	total, delay := 0.0, float64(s.Retry.Delay)
	for i := range allowed(s) {
		if i > 0 {
			total += min(delay, float64(s.Retry.MaxDelay)) * (1 + s.Retry.Jitter)
			delay *= max(1, s.Retry.Multiplier)
		}
		if total += float64(call); total > most {
			total = most
			break
		}
	}
	if s.Retry.MaxAge > 0 { // the attempt that is under way then is the last
		total = min(total, float64(s.Retry.MaxAge+call))
	}
	return time.Duration(total)
}

// allowed is how many attempts an entry has.
func allowed(s *spec.Subscription) int {
	switch s.OnFailure {
	case spec.PolicyDead, spec.PolicyDrop, spec.PolicyStop:
		return 1
	}
	return max(1, s.Retry.MaxAttempts)
}

// exhausted is how many failures an entry comes to that fails each time: the fewest
// of the subscriptions.
func exhausted(subs []*spec.Subscription) int {
	fewest := math.MaxInt
	for _, s := range subs {
		fewest = min(fewest, allowed(s))
	}
	return fewest
}
