package work

import (
	"errors"
	"fmt"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
)

// compileMark compiles what entries are marked by.
func (p *Plan) compileMark() (err error) {
	p.fenced = slices.ContainsFunc(p.sub.Group.Subscriptions, func(s *spec.Subscription) bool { return s.Idempotency != nil })
	i := p.sub.Idempotency
	switch {
	case i == nil:
		return nil
	case i.Window < time.Millisecond:
		return errors.New("window: it is shorter than a millisecond")
	}
	if p.mark, err = codec.CompileIdentity(i.Key); err != nil {
		return fmt.Errorf("key: %w", err)
	}
	return nil
}

// Marks is where the keys of settled entries are marked, zero where they are not.
// A key that is computed in another way belongs to another set: an order's number
// is never taken for a customer's because the pipeline was changed.
func (p *Plan) Marks() broker.Marks {
	if p.mark == nil {
		return broker.Marks{}
	}
	return broker.Marks{Set: p.mark.Fingerprint(), Window: p.sub.Idempotency.Window}
}

// acknowledge ends an entry without publishing anything. Where somebody in the
// group marks keys, what is acknowledged is also fenced: an outcome that came too
// late must not take an entry from under one that would mark its key.
func (r *Runner) acknowledge(it *batch.Item, mark bool) {
	it.Action = batch.Action{Verb: batch.Ack}
	if r.plan.fenced {
		it.Action = batch.Action{Verb: batch.Step, Mark: mark && it.Mark != ""}
	}
}

// duplicate ends an entry whose key was marked before it ran.
func (r *Runner) duplicate(it *batch.Item) {
	it.Duplicate(*it.Marked)
	r.acknowledge(it, false)
}

// tooWide refuses a reply that cannot be written in one step with a mark.
func (r *Runner) tooWide(it *batch.Item) *outcome.Failure {
	if it.Mark == "" {
		return nil
	}
	for i := range r.adds {
		if n := len(r.adds[i].Fields); n > broker.MaxMarkedFields {
			return &outcome.Failure{
				Kind: outcome.FailResult,
				Message: fmt.Sprintf("reply to %s: it has %d fields; with idempotency, a reply has at most %d: no server can write more in one step with the key",
					r.adds[i].Stream, n, broker.MaxMarkedFields),
			}
		}
	}
	return nil
}
