package memory

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// Settle implements broker.Broker. The whole settlement is one atomic step. As
// on a server, acknowledging in a group that does not exist is no error.
func (b *Broker) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	var out broker.SettleResult
	marks, err := s.Check()
	if err != nil {
		return out, on(s.Owner, "settle").fail(err)
	}
	err = b.do(ctx, on(s.Owner, "settle"), func(now int64) (err error) {
		out, err = b.settle(s, b.marker(s, marks), now)
		return err
	})
	if err != nil {
		return broker.SettleResult{}, err
	}
	return out, nil
}

func (b *Broker) settle(settlement *broker.Settlement, m *marker, now int64) (broker.SettleResult, error) {
	out := broker.SettleResult{
		Steps: make([]broker.StepResult, len(settlement.Steps)), Waits: make([]broker.Status, len(settlement.Waits)),
	}
	if len(settlement.Acks)+len(settlement.Steps)+len(settlement.Waits) == 0 {
		return out, nil
	}
	s, err := b.stream(settlement.Stream)
	var g *group
	if s != nil {
		g = s.groups[settlement.Group]
	}
	forget := b.forgetting(settlement)
	for _, id := range settlement.Acks {
		if g != nil && g.acknowledge(id) {
			b.changed()
		}
		forget(id)
	}
	switch {
	case err != nil:
		return out, err
	case g == nil && len(settlement.Steps)+len(settlement.Waits) > 0:
		return out, noGroup(settlement.Stream, settlement.Group)
	}
	b.steps(g, settlement, m, now, forget, out.Steps)
	var back map[broker.ID]bool
	for i := range settlement.Waits {
		w := &settlement.Waits[i]
		if out.Waits[i] = broker.NotOwned; !back[w.ID] { // one that comes twice is put back once
			out.Waits[i] = b.putBack(s, g, settlement, w, now)
		}
		back = with(back, w.ID)
	}
	return out, nil
}

// steps does the steps of a settlement.
func (b *Broker) steps(g *group, s *broker.Settlement, m *marker, now int64, forget func(broker.ID), out []broker.StepResult) {
	var refused map[broker.ID]bool
	for i := range s.Steps {
		step := &s.Steps[i]
		to, wide := step.Wide()
		switch {
		case wide:
			out[i] = broker.TooWide(to)
			continue
		case refused[step.ID] && !step.Gone: // one that comes twice is done once, or tried once
			out[i] = notOwned(m, step, now)
			continue
		}
		out[i] = b.step(g, s.Consumer, step, m, now)
		switch out[i].Status {
		case broker.Done, broker.Torn, broker.Duplicate:
			forget(step.ID)
		case broker.Refused:
			refused = with(refused, step.ID)
		}
	}
}

// notOwned is the result of a step whose entry is not pending under the owner. It
// tells whether that is because it was done before.
func notOwned(m *marker, step *broker.Step, now int64) broker.StepResult {
	r := broker.StepResult{Status: broker.NotOwned}
	if mark := m.find(step, now); mark.Found() && mark.By == step.ID {
		r.Mark = &mark
	}
	return r
}

// with is a set with one more id in it, made when it is needed.
func with(set map[broker.ID]bool, id broker.ID) map[broker.ID]bool {
	if set == nil {
		set = map[broker.ID]bool{}
	}
	set[id] = true
	return set
}

// forgetting returns what drops the record of a settled entry, if it is among
// those to be forgotten.
func (b *Broker) forgetting(s *broker.Settlement) func(broker.ID) {
	if len(s.Forget) == 0 {
		return func(broker.ID) {}
	}
	names := make(map[broker.ID]bool, len(s.Forget))
	for _, id := range s.Forget {
		names[id] = true
	}
	records := &b.besideOf(s.Stream, s.Group).records
	return func(id broker.ID) {
		if names[id] {
			records.remove(byID(id))
		}
	}
}

// step publishes the messages of one entry and acknowledges it. A destination
// of another type refuses all of them, before anything is written. An entry whose
// key is marked is only acknowledged.
func (b *Broker) step(g *group, owner string, step *broker.Step, m *marker, now int64) broker.StepResult {
	p := g.held(step.ID, owner)
	if p == nil && !step.Gone {
		return notOwned(m, step, now)
	}
	if mark := m.find(step, now); mark.Found() {
		b.acknowledged(g, step.ID)
		return broker.StepResult{Status: broker.Duplicate, Mark: &mark}
	}
	for i := range step.Publish {
		if _, err := b.stream(step.Publish[i].Stream); err != nil {
			return broker.StepResult{Status: broker.Refused, Err: publishing(&step.Publish[i], err)}
		}
	}
	if err := b.room(); err != nil && m != nil && step.Mark != "" { // what is to be published is refused by itself
		return broker.StepResult{Status: broker.Refused, Err: err}
	}
	result := broker.StepResult{Status: broker.Done}
	for i := range step.Publish {
		if _, err := b.add(&step.Publish[i], now); err != nil {
			result = broker.StepResult{Status: broker.Torn, Err: publishing(&step.Publish[i], err)}
			if i == 0 {
				result.Status = broker.Refused
				return result
			}
			break
		}
	}
	m.mark(step, now)
	b.acknowledged(g, step.ID)
	return result
}

// acknowledged takes an entry that was settled out of the pending list.
func (b *Broker) acknowledged(g *group, id broker.ID) {
	g.acknowledge(id)
	b.changed()
}

func publishing(m *broker.Add, err error) error {
	return operation{name: "publish", stream: m.Stream}.fail(err)
}

// putBack leaves an entry in the pending list and writes down why. One that
// carries nothing to remember leaves the record as it is.
func (b *Broker) putBack(s *stream, g *group, settlement *broker.Settlement, w *broker.Wait, now int64) broker.Status {
	records := &b.besideOf(settlement.Stream, settlement.Group).records
	old, _ := records.get(byID(w.ID))
	writes := w.Timed || w.Asked || w.Error != ""
	if writes && w.Delivery > 0 && old.Ended && old.Delivery == w.Delivery && old.By == settlement.Consumer {
		return broker.Done // written before, and its answer was lost
	}
	p := g.held(w.ID, settlement.Consumer)
	if p == nil {
		return broker.NotOwned
	}
	after, aged := max(0, milliseconds(w.After)), int64(0)
	if w.Timed && w.MinIdle > 0 {
		aged = max(0, milliseconds(w.MinIdle)-after)
	}
	delivery := p.count
	b.changed()
	if !b.claim(s, g, p, settlement.Consumer, now, now-aged, counted(w, p.count)) {
		return broker.Gone
	}
	if !writes {
		return broker.Done
	}
	record := old
	record.Error, record.At, record.By, record.Due = w.Error, instant(now), settlement.Consumer, time.Time{}
	if !w.Uncount {
		record.Delivery, record.Ended = delivery, true
		if delivery == 1 && record.First.IsZero() {
			record.First = instant(now - milliseconds(w.Ago))
		}
	}
	if w.Asked {
		record.Asked++
	}
	if w.Timed {
		record.Due = instant(now + after)
	}
	records.set(byID(w.ID), record)
	return broker.Done
}

// counted is the count of deliveries of what was delivered n times and is put
// back.
func counted(w *broker.Wait, n int64) int64 {
	switch {
	case !w.Uncount:
		return n
	case w.Delivery > 0: // the same however often it is sent
		return w.Delivery - 1
	}
	return max(0, n-1)
}
