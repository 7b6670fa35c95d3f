package sim

import (
	"time"

	"pipeline/engine/broker"
)

// reach is when each worker last reached the server. "A live worker is never
// robbed while it reaches the server at least every min_idle": one whose operations
// fail waits longer and longer before it asks again, so that it may find the server
// long after that is back.
type reach struct {
	// answered is when something of a worker was answered last, failing that
	// something failed since.
	answered map[string]time.Time
	failing  map[string]bool
	// failed is when something of it failed last.
	failed map[string]time.Time
}

func (r *reach) init() {
	r.answered, r.failing, r.failed = map[string]time.Time{}, map[string]bool{}, map[string]time.Time{}
}

// reaches is told what came of an operation of a worker.
func (m *model) reaches(worker string, err error) {
	now := m.sim.Now()
	if err != nil {
		m.reach.failed[worker] = now
	}
	if err != nil && broker.Transient(err) {
		m.reach.failing[worker] = true
		return
	}
	if err == nil {
		if from := m.reach.answered[worker]; m.reach.failing[worker] && m.gap(from, now) {
			m.breaks = append(m.breaks, interruption{worker, from, now})
		}
		m.reach.answered[worker], m.reach.failing[worker] = now, false
	}
}

// unreached reports whether a worker has not reached the server for so long that it
// may have been robbed.
func (m *model) unreached(worker string, at time.Time) bool {
	return m.reach.failing[worker] && m.gap(m.reach.answered[worker], at)
}

// gap reports whether between two answers a lease can have run out: what is held is
// renewed every third of the smallest min_idle.
func (m *model) gap(from, to time.Time) bool {
	return to.Sub(from) >= min(minIdle, m.sim.plan.shape.NewMinIdle)/2
}
