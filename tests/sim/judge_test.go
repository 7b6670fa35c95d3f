package sim

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/observe"
)

// found is what came of an entry in a group.
type found struct {
	// replies are how many there are, by their place among those of the entry.
	replies map[int]int
	letters []*codec.DeadLetter
	// runs are its calls, asked those that asked for a retry, written those whose
	// outcome ended it.
	runs, asked, written int
}

// judge says what is wrong at the end, when everything has recovered.
func (m *model) judge() {
	m.look()
	for _, group := range []string{ledger, fraud} {
		if left := m.sim.left(group); len(left) > 0 {
			m.wrong("%d entries stay pending in %s, the first is %+v", len(left), group, left[0])
		}
	}
	if !m.sim.quiet() {
		m.wrong("the groups have not read everything")
	}
	m.recordless()
	all := m.gather()
	for n, e := range m.entries {
		for _, group := range []string{ledger, fraud} {
			f := all[place{group, n}]
			if f == nil {
				f = &found{}
			}
			if problem := m.verdict(e, place{group, n}, f); problem != "" {
				m.wrong("entry %d (%v, %+v) in %s: %s: replies %v, %d letters, %d runs, %d asked",
					n, e.id, e.order, group, problem, f.replies, len(f.letters), f.runs, f.asked)
			}
		}
	}
}

// recordless checks that no record of an entry is left.
func (m *model) recordless() {
	if slices.ContainsFunc(m.entries, func(e *entry) bool { return e.gone }) {
		return // where a server does not tell of those without a body, they stay
	}
	ids := slices.Collect(maps.Keys(m.known))
	for _, group := range []string{ledger, fraud} {
		records, err := m.sim.Server().Records(context.Background(), "in", group, ids)
		if err != nil {
			m.wrong("records: %v", err)
		}
		for i := range records {
			if records[i] != (broker.Record{}) {
				m.wrong("a record of entry %v of %s is left: %+v", ids[i], group, records[i])
			}
		}
	}
}

// gather finds what came of all entries.
func (m *model) gather() map[place]*found {
	all := map[place]*found{}
	at := func(k place) *found {
		if all[k] == nil {
			all[k] = &found{replies: map[int]int{}}
		}
		return all[k]
	}
	for _, e := range m.sim.Entries("out") {
		if e.Invalid != nil {
			m.wrong("reply %v is invalid: %v", e.ID, e.Invalid)
			continue
		}
		at(place{e.Body.Get("g").Text(), number(&e.Body, "n")}).replies[number(&e.Body, "i")]++
	}
	for _, e := range m.sim.Entries("dead") {
		m.letter(e.Fields, e.Letter, at)
	}
	for _, sub := range m.sim.first.Subscriptions() {
		for _, c := range m.sim.Calls(sub.Label) {
			f := at(place{sub.Group.Label, m.number(c.ID)})
			if c.Ran {
				f.runs++
			}
			switch {
			case !c.Settled:
			case c.Outcome == observe.ResultRetry || c.Said == "retry":
				f.asked++
			case c.Said == "ack", c.Said == "drop":
				f.written++
			}
		}
	}
	for k, n := range m.backlog.back {
		at(k).asked += n
	}
	return all
}

// letter checks that a dead letter is the entry byte for byte.
func (m *model) letter(fields []broker.Field, l *codec.DeadLetter, at func(place) *found) {
	if l == nil {
		m.wrong("an entry of the dead-letter stream is no dead letter: %q", fields)
		return
	}
	id, err := broker.ParseID(l.ID)
	if err != nil {
		m.wrong("a dead letter of no entry: %+v", l)
		return
	}
	n := m.number(id)
	original := m.known[id].fields
	if len(fields) < len(original) || !slices.Equal(fields[:len(original)], original) {
		m.wrong("the dead letter of entry %v is not what it was: %q, want %q", id, fields, original)
	}
	f := at(place{l.Group, n})
	f.letters = append(f.letters, l)
}

// verdict is what is wrong with what came of an entry in a group; empty if
// nothing is.
func (m *model) verdict(e *entry, k place, f *found) string {
	// Of a group that was lost each copy is delivered again, too.
	most := 1 + e.again[k.group]*(1+len(e.copies))
	if e.gone && m.epoch > 0 {
		most++ // it was published without a fence, and a server that forgot that it is gone has it again
	}
	ends := len(f.letters)
	letters := max(0, ends-m.unheard[k])
	for i := range e.order.replies() {
		ends = max(ends, f.replies[i])
		if f.replies[i] > most || f.replies[i]+letters > most {
			return "published twice"
		}
		if f.replies[i] != f.replies[0] {
			return "some of its replies are missing"
		}
	}
	if len(f.replies) > e.order.replies() {
		return "it must not have replies"
	}
	if letters > most {
		return "dead-lettered twice"
	}
	if e.gone {
		return ""
	}
	if problem := m.attempts(e, k, f); problem != "" {
		return problem
	}
	if ends == 0 && f.written == 0 && m.marks.duplicates[k] == 0 {
		return "lost"
	}
	return ""
}

// attempts checks how often an entry ran, and the reason of its dead letter.
func (m *model) attempts(e *entry, k place, f *found) string {
	limit := m.sim.plan.shape.Attempts
	if m.epoch == 0 && f.runs-f.asked > limit {
		return fmt.Sprintf("more than %d attempts", limit)
	}
	for _, l := range f.letters {
		if l.Reason != "failed" && l.Reason != e.order.letter() {
			return "dead-lettered for " + l.Reason
		}
		if l.Reason == "failed" && m.epoch == 0 && len(e.copies) == 0 && !m.starts.exhausted(k, limit) {
			return fmt.Sprintf("dead-lettered though it was started %d times from the third delivery on", m.starts.begun[k])
		}
		if l.Reason == "failed" && f.runs == 0 && e.order.letter() != "failed" && m.calm() {
			return "dead-lettered without a run"
		}
		if m.calm() && l.Reason == "failed" && (e.order.letter() != "failed" || f.runs-f.asked != limit) {
			return "dead-lettered though it had attempts left"
		}
	}
	return ""
}

// calm reports whether nothing in the history can have used up attempts that did
// not fail.
func (m *model) calm() bool {
	return m.epoch == 0 && !slices.ContainsFunc(m.sim.plan.acts, func(a act) bool {
		return a.kind != publish && a.kind != advance && a.kind != start && a.kind != stop && a.kind != full && a.kind != room && a.kind != still && a.kind != reads
	})
}
