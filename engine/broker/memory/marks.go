package memory

import (
	"context"
	"strings"

	"pipeline/engine/broker"
)

// markSet is where the keys of one set are remembered: in two maps, as in two
// hashes on a server. The one that was begun later is written to; when the window
// has passed since then, nothing in the other one is younger than the window, and
// that one is emptied and takes its place.
type markSet struct {
	maps [2]map[string]broker.Mark
	// begun is when each was begun, in milliseconds; latest is the later one.
	begun  [2]int64
	latest int
}

// marksOf returns a set of marks beside a group, and makes it where there is none.
func (x *beside) marksOf(set string) *markSet {
	m := x.marks[set]
	if m == nil {
		if x.marks == nil {
			x.marks = map[string]*markSet{}
		}
		m = &markSet{}
		x.marks[set] = m
	}
	return m
}

// find returns the mark of a key that is not older than the window.
func (m *markSet) find(key string, window, now int64) broker.Mark {
	for _, i := range [2]int{m.latest, 1 - m.latest} {
		if mark, ok := m.maps[i][key]; ok && now-mark.At.UnixMilli() < window {
			return mark
		}
	}
	return broker.Mark{}
}

// set marks a key.
func (m *markSet) set(key string, by broker.ID, window, now int64) {
	if m.maps[m.latest] != nil && now-m.begun[m.latest] >= window {
		m.latest = 1 - m.latest
		m.maps[m.latest] = nil
	}
	if m.maps[m.latest] == nil {
		m.maps[m.latest], m.begun[m.latest] = map[string]broker.Mark{}, now
	}
	m.maps[m.latest][strings.Clone(key)] = broker.Mark{By: by, At: instant(now)}
}

// Marked implements broker.Broker.
func (b *Broker) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	op := operation{name: "look up marks of", stream: r.Stream, group: r.Group}
	if err := r.Check(); err != nil {
		return nil, op.fail(err)
	}
	out := make([]broker.Mark, len(r.Keys))
	err := b.do(ctx, op, func(now int64) error {
		m := b.besideOf(r.Stream, r.Group).marksOf(r.Set)
		for i, key := range r.Keys {
			out[i] = m.find(key, milliseconds(r.Window), now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// marker is what one settlement marks keys with; nil marks none.
type marker struct {
	set    *markSet
	window int64
}

// marker returns that of a settlement.
func (b *Broker) marker(s *broker.Settlement, marks bool) *marker {
	if !marks {
		return nil
	}
	return &marker{set: b.besideOf(s.Stream, s.Group).marksOf(s.Marks.Set), window: milliseconds(s.Marks.Window)}
}

// find returns the mark of a step's key.
func (m *marker) find(step *broker.Step, now int64) broker.Mark {
	if m == nil || step.Mark == "" {
		return broker.Mark{}
	}
	return m.set.find(step.Mark, m.window, now)
}

// mark marks a step's key.
func (m *marker) mark(step *broker.Step, now int64) {
	if m != nil && step.Mark != "" {
		m.set.set(step.Mark, step.ID, m.window, now)
	}
}
