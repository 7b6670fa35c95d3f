package brokertest

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// settlement settles and says what came of it.
func (s *side) settlement(st *broker.Settlement) string {
	r, err := s.Broker.Settle(s.Context(), st)
	s.learn()
	if err != nil {
		return kindOf(s, err) // of the rest nothing is known
	}
	var said strings.Builder
	for _, step := range r.Steps {
		fmt.Fprintf(&said, "%d%s ", step.Status, kindOf(s, step.Err))
		if step.Mark.Found() {
			fmt.Fprintf(&said, "(%s) ", s.id(step.Mark.By))
		}
	}
	fmt.Fprintf(&said, "%d", r.Waits)
	return said.String()
}

func (m *comparison) ack(rt *rapid.T) {
	p := m.where(rt)
	entries, forget := m.doubled(rt, p.group), rapid.Bool().Draw(rt, "forget")
	m.both(rt, fmt.Sprintf("acknowledge %v of %v, forget %v", entries, p, forget), func(s *side) string {
		st := &broker.Settlement{Owner: s.at(p, "a"), Acks: s.picked(entries)}
		if forget {
			st.Forget = st.Acks
		}
		return s.settlement(st)
	})
}

// message is what a step publishes, as both sides understand it.
type published struct {
	to     string
	fields []broker.Field
	length int64
}

func (p published) String() string { return fmt.Sprintf("%s to %s", short(p.fields), p.to) }

// anyPublished draws the messages of a step.
func anyPublished(rt *rapid.T) []published {
	list := make([]published, rapid.IntRange(0, 3).Draw(rt, "messages"))
	for i := range list {
		p := &list[i]
		p.to, p.fields = "replies", fields("e", "1")
		switch rapid.IntRange(0, 15).Draw(rt, "message") {
		case 9:
			p.fields = body(rt, "replies")
		case 10:
			p.to = "text"
		case 11:
			p.to = "payments"
		case 12:
			p.fields = nil
		case 13:
			p.to, p.length = "bounded", 3
		}
	}
	return list
}

// stepped is a step without its entry.
type stepped struct {
	messages []published
	key      string
	gone     bool
}

func (s stepped) String() string {
	text := fmt.Sprint(s.messages)
	if s.key != "" {
		text += fmt.Sprintf(" marks %.10q", s.key)
	}
	if s.gone {
		text += " (gone)"
	}
	return text
}

// anySteps draws a step for each entry, and the marks of all.
func anySteps(rt *rapid.T, entries picked) ([]stepped, broker.Marks) {
	steps := make([]stepped, len(entries))
	marking := rapid.Bool().Draw(rt, "marking")
	marks := rapid.SampledFrom([]broker.Marks{longMarks, longMarks, shortMarks}).Draw(rt, "marks")
	for i := range steps {
		steps[i].messages = anyPublished(rt)
		if marking && rapid.IntRange(0, 3).Draw(rt, "marks a key") > 0 {
			steps[i].key = rapid.SampledFrom(comparedKeys).Draw(rt, "key")
			steps[i].gone = rarely(rt, "gone", 8)
		}
	}
	return steps, marks
}

func (s *side) steps(entries picked, steps []stepped) []broker.Step {
	out := make([]broker.Step, len(entries))
	for i, at := range entries {
		out[i].ID, out[i].Mark, out[i].Gone = s.pick(at), steps[i].key, steps[i].gone
		for _, p := range steps[i].messages {
			out[i].Publish = append(out[i].Publish, broker.Add{Stream: s.key(p.to), Fields: p.fields, MaxLen: p.length})
		}
	}
	return out
}

func (m *comparison) step(rt *rapid.T) {
	p, consumer := m.where(rt), anyConsumer.Draw(rt, "consumer")
	entries := m.doubled(rt, p.group)
	steps, marks := anySteps(rt, entries)
	forget := rapid.IntRange(0, len(entries)).Draw(rt, "forget")
	m.both(rt, fmt.Sprintf("steps of %v for %v by %q: %v, forget %d", p, entries, consumer, steps, forget), func(s *side) string {
		return s.settlement(&broker.Settlement{
			Owner: s.at(p, consumer), Steps: s.steps(entries, steps), Forget: s.picked(entries[:forget]), Marks: marks,
		})
	})
}

// anyWait draws a wait without its entry.
func anyWait(rt *rapid.T) broker.Wait {
	return broker.Wait{
		Delivery: rapid.Int64Range(0, 3).Draw(rt, "delivery"), Ago: rapid.SampledFrom([]time.Duration{0, 3 * time.Hour}).Draw(rt, "ago"),
		Timed: rapid.Bool().Draw(rt, "timed"), After: anyDelay.Draw(rt, "after"), Asked: rapid.Bool().Draw(rt, "asked"),
		Error: anyError.Draw(rt, "error"), Uncount: rapid.Bool().Draw(rt, "uncount"),
		MinIdle: rapid.SampledFrom([]time.Duration{0, minIdle}).Draw(rt, "min idle"),
	}
}

func (s *side) waits(entries picked, w broker.Wait) []broker.Wait {
	out := make([]broker.Wait, len(entries))
	for i, at := range entries {
		out[i] = w
		out[i].ID = s.pick(at)
	}
	return out
}

func (m *comparison) wait(rt *rapid.T) {
	p, consumer := m.where(rt), anyConsumer.Draw(rt, "consumer")
	entries, w := m.doubled(rt, p.group), anyWait(rt)
	m.both(rt, fmt.Sprintf("waits of %v for %v by %q: %.100v", p, entries, consumer, fmt.Sprintf("%+v", w)), func(s *side) string {
		said := s.settlement(&broker.Settlement{Owner: s.at(p, consumer), Waits: s.waits(entries, w)})
		s.Advance(2 * time.Millisecond) // longer than the shortest wait
		return said
	})
}

// settle settles entries in all ways at once.
func (m *comparison) settle(rt *rapid.T) {
	p, consumer := m.where(rt), anyConsumer.Draw(rt, "consumer")
	entries := m.some(rt, p.group)
	a, b := rapid.IntRange(0, len(entries)).Draw(rt, "acks"), rapid.IntRange(0, len(entries)).Draw(rt, "steps")
	a, b = min(a, b), max(a, b)
	steps, marks := anySteps(rt, entries[a:b])
	w := anyWait(rt)
	forget := rapid.IntRange(a, len(entries)).Draw(rt, "forget")
	what := fmt.Sprintf("settle %v by %q: acknowledge %v, steps %v %v, waits %v, forget %d", p, consumer, entries[:a], entries[a:b], steps, entries[b:], forget)
	m.both(rt, what, func(s *side) string {
		return s.settlement(&broker.Settlement{
			Owner: s.at(p, consumer), Acks: s.picked(slices.Clone(entries[:a])), Steps: s.steps(entries[a:b], steps),
			Waits: s.waits(entries[b:], w), Forget: s.picked(entries[a:forget]), Marks: marks,
		})
	})
}
