package sim

import "pipeline/engine/broker"

// holders is under whom each entry is pending that a settlement may only touch
// where that is its consumer.
func (m *model) holders(s *broker.Settlement) map[broker.ID]string {
	held := map[broker.ID]string{}
	for i := range s.Steps {
		held[s.Steps[i].ID] = m.sim.holder(s.Group, s.Steps[i].ID)
	}
	for i := range s.Waits {
		held[s.Waits[i].ID] = m.sim.holder(s.Group, s.Waits[i].ID)
	}
	return held
}

// fenced checks that the server has written nothing for a consumer that had lost
// the entry, but for what is said to be written because it was before, and for a
// step of an entry whose body is gone.
func (m *model) fenced(s *broker.Settlement, res *broker.SettleResult, held map[broker.ID]string) {
	for i := range s.Steps {
		step := &s.Steps[i]
		switch status := res.Steps[i].Status; {
		case step.Gone || held[step.ID] == s.Consumer:
		case status == broker.Done || status == broker.Torn || status == broker.Duplicate:
			m.wrong("fence: %s settled entry %v of %s, which was pending under %q", s.Consumer, step.ID, s.Group, held[step.ID])
		}
	}
	for i := range s.Waits {
		w := &s.Waits[i]
		before := w.Delivery > 0 && m.put[putBack{holding{s.Consumer, w.ID}, w.Delivery}]
		if res.Waits[i] == broker.Done && held[w.ID] != s.Consumer && !before {
			m.wrong("fence: %s put entry %v of %s back, which was pending under %q", s.Consumer, w.ID, s.Group, held[w.ID])
		}
	}
}
