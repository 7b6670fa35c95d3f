package metrics

import (
	"time"

	"pipeline/engine/outcome"
)

// HandlerReport is what was counted of a handler since the process began, over all
// subscriptions that it runs for.
type HandlerReport struct {
	Engine string
	Calls  uint64
	// Half and P99 are the times that half and 99 of 100 calls did not take longer
	// than, estimated within the buckets of the histogram; 0 without a call. Beyond
	// says that P99 is more than the largest bucket, whose bound it is then.
	Half, P99 time.Duration
	Beyond    bool
	// Memory is the most that one call was charged for, in bytes.
	Memory int64
	// Failures are calls that failed, by kind, in a fixed order.
	Failures []Failures
	// Alive are instances of it, Busy those that run a call now.
	Alive, Busy int64
}

// Failures is how often calls failed in one way.
type Failures struct {
	Kind  outcome.FailureKind
	Count int64
}

// HandlerReport reports what was counted of the handler of that label.
func (m *Metrics) HandlerReport(label string) HandlerReport {
	var r HandlerReport
	for _, k := range kinds {
		r.Failures = append(r.Failures, Failures{Kind: k})
	}
	all := newSpread(callScale)
	for _, sub := range m.subs {
		if sub.spec.Handler.Label == label {
			r.Engine = engineOf(sub.spec.Handler)
			sub.report(&r, &all)
		}
	}
	if of := m.instances[label]; of != nil {
		r.Alive = of.alive.Load()
	}
	if e := m.engine.Load(); e != nil {
		for _, now := range (*e).Snapshot().Subscriptions {
			if sub := m.byLabel[now.Label]; sub != nil && sub.spec.Handler.Label == label {
				r.Busy += int64(now.Busy)
			}
		}
	}
	r.Busy = min(r.Busy, r.Alive)
	for _, n := range all.counts {
		r.Calls += n
	}
	half, _ := all.quantile(0.5)
	p99, beyond := all.quantile(0.99)
	r.Half, r.P99, r.Beyond = time.Duration(half), time.Duration(p99), beyond
	return r
}

func (s *subscription) report(r *HandlerReport, all *spread) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, n := range s.process.counts {
		all.counts[i] += n
	}
	for i, n := range s.kinds {
		r.Failures[i].Count += n
	}
	r.Memory = max(r.Memory, s.memory)
}

// quantile estimates a quantile, as if values were spread evenly in each bucket.
// beyond says that it is above all bounds, the last of which is returned.
func (s *spread) quantile(q float64) (value float64, beyond bool) {
	total := uint64(0)
	for _, n := range s.counts {
		total += n
	}
	rank, below := q*float64(total), 0.0
	low := 0.0
	for i, bound := range s.bounds {
		n := float64(s.counts[i])
		if n > 0 && below+n >= rank {
			return low + (float64(bound)-low)*(rank-below)/n, false
		}
		below, low = below+n, float64(bound)
	}
	return low * boolean(total > 0), total > 0
}
