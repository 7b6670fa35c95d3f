package waiting

import (
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// When a pending entry is due: by its record, by the group's claims, by both.
func TestDueAt(t *testing.T) {
	t.Parallel()
	now := time.Unix(1_700_000_000, 0)
	claims := &spec.Group{Subscriptions: []*spec.Subscription{
		{}, {Claim: &spec.Claim{MinIdle: time.Minute}}, {Claim: &spec.Claim{MinIdle: 30 * time.Second}},
	}}
	for name, c := range map[string]struct {
		group  *spec.Group
		idle   time.Duration
		record time.Duration
		want   time.Duration
		ok     bool
	}{
		"claimed when idle":        {claims, 10 * time.Second, 0, 20 * time.Second, true},
		"idle long enough":         {claims, time.Hour, 0, 0, true},
		"the record is later":      {claims, 29 * time.Second, time.Hour, time.Hour, true},
		"its consumer is first":    {claims, 29 * time.Second, time.Second / 2, time.Second / 2, true},
		"its consumer is gone":     {claims, 29 * time.Second, -time.Minute, time.Second, true},
		"only a record":            {&spec.Group{}, 0, time.Second, time.Second, true},
		"nothing brings it back":   {&spec.Group{}, time.Hour, 0, 0, false},
		"handed back with no idle": {claims, 1000000000 * time.Second, 0, 0, true},
	} {
		var r broker.Record
		if c.record != 0 {
			r.Due = now.Add(c.record)
		}
		due, ok := dueAt(c.group, broker.Pending{Idle: c.idle}, r, now)
		if ok != c.ok || ok && !due.Equal(now.Add(c.want)) {
			t.Errorf("%s: %v, %v; want in %v, %v", name, due.Sub(now), ok, c.want, c.ok)
		}
	}
}
