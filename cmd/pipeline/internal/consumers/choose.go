package consumers

import (
	"slices"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/engine/broker/redis"
)

// Filter chooses consumers.
type Filter struct {
	// Names are the consumers; none is every one.
	Names []string
	// Idle is how long a consumer has not read or claimed at least.
	Idle time.Duration
}

// Why a consumer is left out of a selection, or is kept when it is acted on.
const (
	WhyHolds   = "entries are pending under it"
	WhyAlive   = "a process lives behind it"
	WhySeen    = "it has read or claimed since"
	WhyUnknown = "its lease cannot be looked at"
	WhyAbsent  = "it is gone already"
)

// Choose divides the consumers that are named into those to remove and, counted by
// why, those that stay. The server decides again when it acts.
func (f Filter) Choose(list []Consumer, leftOut *deadletters.Counts) (chosen []Consumer) {
	for i := range list {
		c := &list[i]
		if len(f.Names) > 0 && !slices.Contains(f.Names, c.Name) {
			continue
		}
		switch {
		case c.Pending > 0:
			leftOut.Add(WhyHolds)
		case c.Lease == redis.LeaseHeld:
			leftOut.Add(WhyAlive)
		case c.Lease == redis.LeaseUnknown:
			leftOut.Add(WhyUnknown)
		case c.Idle < f.Idle:
			leftOut.Add(WhySeen)
		default:
			chosen = append(chosen, *c)
		}
	}
	slices.SortStableFunc(chosen, func(a, b Consumer) int { return strings.Compare(a.Group.Name, b.Group.Name) })
	return chosen
}

// why is why a consumer was kept.
func why(s redis.PruneStatus) string {
	switch s {
	case redis.PruneHolds:
		return WhyHolds
	case redis.PruneAlive:
		return WhyAlive
	case redis.PruneSeen:
		return WhySeen
	case redis.PruneAbsent:
		return WhyAbsent
	}
	return ""
}
