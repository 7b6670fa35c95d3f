package sim

import (
	"context"

	"pipeline/engine/broker"
)

// starts count what uses up attempts, from what the server was told: starts from
// the third delivery on, and retries that were asked for.
type starts struct {
	sim *sim
	// begun is how often a start was told of, again after lost answers, too.
	begun map[place]int
	asked map[askedFor]bool
	count map[place]int
}

// askedFor is a delivery that ended in a retry that was asked for.
type askedFor struct {
	place
	delivery int64
}

func (s *starts) init(sim *sim) {
	s.sim, s.begun, s.asked, s.count = sim, map[place]int{}, map[askedFor]bool{}, map[place]int{}
}

func (s *starts) began(o broker.Owner, ids []broker.ID, holdings []broker.Holding) {
	for i, id := range ids {
		if holdings[i] != broker.Held {
			continue
		}
		// By the pending list, which counts deliveries.
		p, err := s.sim.memory.Pending(context.Background(), o.Stream, o.Group, "", id.Prev(), 1)
		if err == nil && len(p) == 1 && p[0].ID == id && p[0].Deliveries > broker.Recorded {
			s.begun[place{o.Group, s.sim.model.number(id)}]++
		}
	}
}

func (s *starts) settled(set *broker.Settlement, res *broker.SettleResult) {
	for i := range set.Waits {
		w := &set.Waits[i]
		if !w.Asked || res.Waits[i] != broker.Done {
			continue
		}
		k := place{set.Group, s.sim.model.number(w.ID)}
		if a := (askedFor{k, w.Delivery}); !s.asked[a] || w.Delivery == 0 {
			s.asked[a] = true
			s.count[k]++
		}
	}
}

// exhausted reports whether an entry can have used up that many attempts: the first
// two deliveries count as started, all others by what was told of them.
func (s *starts) exhausted(k place, limit int) bool {
	return broker.Recorded+s.begun[k]-s.count[k] >= limit
}
