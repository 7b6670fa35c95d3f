package sim

import (
	"slices"
	"time"

	"pipeline/engine/broker"
)

// marking is one settlement that marked a key, by the server's clock.
type marking struct {
	at time.Time
	by broker.ID
}

// marks checks the promise of idempotency: of the entries with one key that are
// settled within a window, one is; the others are acknowledged with nothing
// published, and neither what is outside the window nor what no handler has ended
// counts for it. What the server says of keys is checked, too.
type marks struct {
	sim *sim
	// set are the markings of each key in a group, in order.
	set map[placeOfKey][]marking
	// known are the keys that each worker was told are marked.
	known map[toldKey]bool
	// duplicates are how often an entry was acknowledged as one.
	duplicates map[place]int
	// latest is the latest that the server's clock has shown.
	latest time.Time
}

type placeOfKey struct{ group, key string }

type toldKey struct{ worker, group, key string }

func (m *marks) init(s *sim) {
	m.sim = s
	m.set, m.known = map[placeOfKey][]marking{}, map[toldKey]bool{}
	m.duplicates = map[place]int{}
}

func (m *marks) window() time.Duration { return m.sim.plan.shape.Window }

// found says whether a key is marked now: it must be, or it may be. A marking that
// has been out of the window once may be back in it where the clock was set back.
func (m *marks) found(k placeOfKey) (must, may bool) {
	now := m.sim.time().Truncate(time.Millisecond)
	if now.After(m.latest) {
		m.latest = now
	}
	for _, one := range m.set[k] {
		if now.Sub(one.at) < m.window() {
			may = true
			must = must || m.latest.Sub(one.at) < m.window()
		}
	}
	return must, may
}

// asked is told of what the server answered about keys.
func (m *marks) asked(r *broker.MarkedRequest, answers []broker.Mark) {
	for i, key := range r.Keys {
		must, may := m.found(placeOfKey{r.Group, key})
		switch got := answers[i].Found(); {
		case must && !got:
			m.sim.model.wrong("marks: key %s was marked in %s within the window and is not known", key, r.Group)
		case !may && got:
			m.sim.model.wrong("marks: key %s is known in %s and was not marked within the window", key, r.Group)
		}
	}
}

// told is told of the answer that a worker got.
func (m *marks) told(worker string, r *broker.MarkedRequest, answers []broker.Mark) {
	for i, key := range r.Keys {
		if answers[i].Found() {
			m.known[toldKey{worker, r.Group, key}] = true
		}
	}
}

// settled is told of what the server has written.
func (m *marks) settled(s *broker.Settlement, res *broker.SettleResult) {
	if m.window() == 0 {
		return
	}
	model := &m.sim.model
	for _, id := range s.Acks {
		if said := model.said[holding{s.Consumer, id}]; (said == "ack" || said == "drop") && model.epoch == 0 {
			model.wrong("marks: entry %v of %s was acknowledged without its key", id, s.Group)
		}
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		k := placeOfKey{s.Group, model.keyOf(step.ID)}
		switch res.Steps[i].Status {
		case broker.Duplicate:
			if _, may := m.found(k); !may {
				model.wrong("marks: entry %v of %s is a duplicate of nothing: key %s is not marked", step.ID, s.Group, k.key)
			}
			m.duplicates[place{s.Group, model.number(step.ID)}]++
		case broker.Done, broker.Torn:
			m.done(s, step, k, model.said[holding{s.Consumer, step.ID}])
		case broker.NotOwned, broker.Refused, broker.Gone:
		}
	}
}

// done is told of a step that was done.
func (m *marks) done(s *broker.Settlement, step *broker.Step, k placeOfKey, said string) {
	model := &m.sim.model
	publishes := len(step.Publish) > 0 && step.Publish[0].Stream == "out"
	switch {
	case publishes || len(step.Publish) == 0 && (said == "ack" || said == "drop") && (step.Mark != "" || model.epoch == 0):
		must, _ := m.found(k)
		if must {
			model.wrong("marks: entry %v of %s was settled though its key %s is marked: %v", step.ID, s.Group, k.key, m.set[k])
		}
		if model.epoch == 0 && step.Mark == "" {
			model.wrong("marks: entry %v of %s was settled without its key", step.ID, s.Group)
		}
		m.set[k] = append(m.set[k], marking{m.sim.time().Truncate(time.Millisecond), step.ID})
	case step.Mark != "":
		model.wrong("marks: entry %v of %s marks its key %s, and was not settled by its handler: %q", step.ID, s.Group, k.key, said)
	case len(step.Publish) == 0 && model.counts.foreign(s.Group, step.ID):
		// Acknowledged behind a fence, because its group may have been lost meanwhile.
	case len(step.Publish) == 0:
		if worker := model.counts.worker(s.Consumer); model.epoch == 0 && (len(m.set[k]) == 0 || !m.known[toldKey{worker, s.Group, k.key}]) {
			model.wrong("marks: entry %v of %s was acknowledged unrun, and nobody was told of its key %s", step.ID, s.Group, k.key)
		}
		m.duplicates[place{s.Group, model.number(step.ID)}]++
	}
}

// copy is what is marked now, for a server that is to forget what comes after.
func (m *marks) copy() map[placeOfKey][]marking {
	c := map[placeOfKey][]marking{}
	for k, set := range m.set {
		c[k] = slices.Clip(set)
	}
	return c
}
