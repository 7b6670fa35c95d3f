package work

import (
	"cmp"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/codec"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/retry"
)

// bury moves the entry to the dead-letter stream, its fields byte for byte with
// headers that say where it comes from and why it is there.
func (r *Runner) bury(it *batch.Item, reason, message string) {
	s := r.plan.sub
	out := it.Outcome.Explain()
	out.Dead, out.Letter = true, reason
	if out.Reason == "" {
		out.Reason = reason
	}
	now := r.clock.Now()
	letter := codec.DeadLetter{
		Reason: reason, Error: message,
		Stream: s.Group.Stream.Name, ID: it.Delivery.ID.String(), Group: s.Group.Name,
		Subscription: s.Label, Consumer: r.consumer, Attempts: it.Outcome.Attempt,
		LastDelivery: now, PipelineVersion: r.plan.version,
	}
	switch {
	case !it.Redelivered():
		letter.FirstDelivery = now
	case it.Past != nil:
		letter.FirstDelivery = it.Past.First
	}
	to := s.Group.DeadLetter
	add := broker.Add{Stream: to.Name, Fields: letter.Fields(it.Delivery.Fields)}
	if ret := to.Retention; ret != nil && !ret.ProtectUnacknowledged {
		add.MaxLen = ret.MaxLength
	}
	it.Action = batch.Action{Verb: batch.Step, Publish: []broker.Add{add}}
}

// BodyMissing buries an entry that was to be tried again and was trimmed from its
// stream while it ran: this is the last that there is of it.
func (r *Runner) BodyMissing(it *batch.Item) {
	out := it.Outcome.Explain()
	message := "the entry was trimmed from its stream while it ran and cannot be tried again"
	if why := cmp.Or(out.Error, out.Reason); why != "" {
		message += ": " + why
	}
	out.After, out.HasAfter, out.Reason = 0, false, ""
	r.bury(it, codec.ReasonBodyMissing, message)
}

// copyBack appends a copy of the entry and acknowledges the original, in one
// step: the retry of a subscription whose pending entries nobody claims.
func (r *Runner) copyBack(it *batch.Item) {
	s := r.plan.sub
	count, _ := codec.Retries(it.Body.Headers, s.Group.Name)
	fields := codec.RetryCopy(it.Delivery.Fields, count+1, s.Group.Name)
	it.Action = batch.Action{Verb: batch.Step, Publish: []broker.Add{{Stream: s.Group.Stream.Name, Fields: fields}}}
}

// tooEarly is how much longer a copy that a retry made has to wait before it
// runs. A copy is in the stream at once, so that a handler which asks for a
// retry again and again would keep the stream and the server busy with nothing
// else; it runs no sooner than a failed attempt would, by the server's clock. It
// waits once: a server's clock that is set back makes ids times to come.
func (r *Runner) tooEarly(it *batch.Item) time.Duration {
	if len(it.Body.Headers) == 0 || r.plan.sub.Claim != nil || r.consumer == "" || it.Waited {
		return 0 // a dry-run says what comes of the entry, not when
	}
	count, _ := codec.Retries(it.Body.Headers, r.plan.sub.Group.Name)
	if count == 0 {
		return 0
	}
	delay := max(leastWait, retry.Delay(&r.plan.sub.Retry, count, 0.5))
	return min(delay, delay-r.age(it))
}
