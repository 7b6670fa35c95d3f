package harness

import (
	"context"
	"maps"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// Outcomes of calls beside those of observe.Result.
const (
	// Running: the handler has not returned yet.
	Running observe.Result = "running"
	// Unsettled: the handler has returned and the outcome is not written yet.
	Unsettled observe.Result = "unsettled"
	// Crashed: the worker died before the outcome was written. Nothing came of
	// the call but what the handler did itself.
	Crashed observe.Result = "crashed"
	// Canceled: the worker stopped before the handler had finished.
	Canceled observe.Result = "canceled"
)

// Call is one delivery of one entry in one subscription that came to an outcome
// or to a call of the handler.
type Call struct {
	// Worker and Consumer are who it was delivered to.
	Worker, Consumer, Subscription string
	ID                             broker.ID
	// Deliveries is how often it was delivered before; Attempt is 1 for the first.
	Deliveries int64
	Attempt    int
	// Time is when the handler was called, or the outcome written without a call.
	Time time.Time
	// Entry is the decoded body; null where it could not be decoded.
	Entry   value.Value
	Headers []outcome.Header
	// Key is the lane key.
	Key string
	// Ran: the handler was called. Without it the engine decided alone: the entry
	// is invalid, another group's copy, or had used up its attempts.
	Ran bool
	// Said is what the handler returned, empty until then.
	Said string
	// Outcome is what became of the delivery. It is one of the results in observe
	// or of those in this package.
	Outcome observe.Result
	// Settled: the server has written the outcome. After a crash at AfterAck, too.
	Settled bool
	// Dead: the entry went to the dead-letter stream.
	Dead bool
	// Replies are what was published, in order.
	Replies []Reply
	// After is how long the entry waits at least, when HasAfter.
	After    time.Duration
	HasAfter bool
	// Reason, Error and Kind are those of observe.Outcome, or after a crash what
	// the handler said.
	Reason, Error string
	Kind          outcome.FailureKind
	// Logs are what the handler wrote: see Config.KeepLogs.
	Logs []sandbox.LogLine
	// Elapsed is how long the handler took, in the harness's time.
	Elapsed time.Duration

	began time.Time
	// calledOff: the handler was called off, whatever became of the entry.
	calledOff bool
}

// Reply is one published message.
type Reply struct {
	// Stream is the label of the stream; its key on the server where it has none.
	Stream  string
	Body    value.Value
	Key     string
	Headers []outcome.Header
}

// callKey finds the call of an entry that one worker has open.
type callKey struct {
	subscription string
	id           broker.ID
}

// Calls are the calls of a subscription by its label, in the order in which they
// were made. A subscription that is disabled or absent has none.
func (h *Harness) Calls(subscription string) []Call {
	calls := make([]Call, len(h.calls[subscription]))
	for i, c := range h.calls[subscription] {
		calls[i] = *c
	}
	return calls
}

// LastCall is the last call about an entry in a subscription, the zero Call where
// there was none.
func (h *Harness) LastCall(subscription string, id broker.ID) Call {
	for _, c := range slices.Backward(h.calls[subscription]) {
		if c.ID == id {
			return *c
		}
	}
	return Call{}
}

// called opens a call.
func (w *Worker) called(id broker.ID, d *sandbox.Delivery) *Call {
	c := &Call{
		Worker: w.name, Consumer: w.consumers[d.Subscription], Subscription: d.Subscription,
		ID: id, Deliveries: d.Deliveries, Attempt: d.Attempt, Time: w.clock.Now(),
		Entry: clone(d.Body), Headers: slices.Clone(d.Headers), Key: d.Key, Ran: true, Outcome: Running, began: w.clock.Now(),
	}
	w.open[callKey{d.Subscription, id}] = c
	w.harness.calls[d.Subscription] = append(w.harness.calls[d.Subscription], c)
	return c
}

// returned writes down what the handler said.
func (c *Call) returned(h *Harness, d *sandbox.Delivery, said *outcome.Outcome) {
	c.Elapsed = h.Now().Sub(c.began)
	c.Outcome, c.Said = Unsettled, said.Kind.String()
	c.After, c.HasAfter, c.Reason = said.After, said.HasAfter, said.Reason
	if f := said.Failure; said.Kind == outcome.Failed && f != nil {
		c.Kind, c.Error = f.Kind, f.Message
		if f.Kind == outcome.FailCanceled {
			c.Outcome, c.calledOff = Canceled, true
		}
	}
	if h.cfg.KeepLogs != nil {
		c.Logs = h.cfg.KeepLogs.Take(d)
	}
}

// finishing are the entries of a settlement that end a call.
func (w *Worker) finishing(subscription string, s *broker.Settlement) []broker.ID {
	var ids []broker.ID
	add := func(id broker.ID) {
		if c := w.open[callKey{subscription, id}]; c != nil && c.Outcome == Unsettled {
			ids = append(ids, id)
		}
	}
	for _, id := range s.Acks {
		add(id)
	}
	for i := range s.Steps {
		add(s.Steps[i].ID)
	}
	for i := range s.Waits {
		if !w.handsBack(subscription, &s.Waits[i]) {
			add(s.Waits[i].ID)
		}
	}
	slices.SortFunc(ids, broker.ID.Compare)
	return ids
}

// handsBack reports whether a wait is not the outcome of a call: it takes the
// delivery back, or hands an entry back of which a reply, or what comes after a
// reply under its key, could not be written.
func (w *Worker) handsBack(subscription string, wait *broker.Wait) bool {
	c := w.open[callKey{subscription, wait.ID}]
	return wait.Uncount || wait.Asked && c != nil && c.Said != outcome.Retry.String()
}

// settles notes that a subscription asks for a settlement: see Worker.last.
func (w *Worker) settles(subscription string) {
	maps.DeleteFunc(w.last, func(k callKey, _ bool) bool { return k.subscription == subscription })
}

// wrote notes what the server has written of a settlement, or of a part of one:
// what Config.Wrap puts between a worker and the server may send it in several.
func (w *Worker) wrote(subscription string, s *broker.Settlement, res *broker.SettleResult) {
	note := func(id broker.ID, uncount bool) {
		k := callKey{subscription, id}
		w.last[k] = true
		if c := w.open[k]; c != nil && !uncount {
			c.Settled = true
		}
	}
	for _, id := range s.Acks {
		note(id, false)
	}
	for i, step := range res.Steps {
		if n := len(s.Steps[i].Publish); step.Status == broker.Done && n > 0 {
			w.published(subscription, s.Steps[i].ID, n)
		}
		if step.Status == broker.Done || step.Status == broker.Torn || step.Status == broker.Duplicate {
			note(s.Steps[i].ID, false)
		}
	}
	for i, status := range res.Waits {
		if status == broker.Done {
			note(s.Waits[i].ID, w.handsBack(subscription, &s.Waits[i]))
		}
	}
}

// settled ends a call with what the engine tells of it, or writes down what was
// decided without one. Of a dead worker only what its last settlement wrote
// counts.
func (w *Worker) settled(s *spec.Subscription, o *observe.Outcome) {
	k := callKey{s.Label, o.ID}
	if w.crashed && !w.last[k] {
		return
	}
	c := w.open[k]
	if c == nil {
		c = w.decided(s, o)
	}
	delete(w.open, k)
	c.Outcome, c.Dead, c.Replies = o.Result, o.Dead, w.harness.replies(o.Replies)
	c.After, c.HasAfter = o.After, o.HasAfter
	c.Reason, c.Error, c.Kind = o.Reason, o.Error, o.Kind
}

// decided writes down an outcome for which no handler was called.
func (w *Worker) decided(s *spec.Subscription, o *observe.Outcome) *Call {
	c := &Call{
		Worker: w.name, Consumer: w.consumers[s.Label], Subscription: s.Label,
		ID: o.ID, Deliveries: o.Deliveries, Attempt: o.Attempt, Time: w.harness.Now(), Key: o.Key,
		Settled: o.Result != observe.ResultStale,
	}
	entries, err := w.harness.server.Range(context.Background(), s.Group.Stream.Name, o.ID, o.ID, 1)
	if err == nil && len(entries) == 1 {
		e := w.harness.decode(s.Group.Stream.Name, entries[0])
		c.Entry, c.Headers = e.Body, e.Headers
	}
	w.harness.calls[s.Label] = append(w.harness.calls[s.Label], c)
	return c
}

// replies decodes what was published.
func (h *Harness) replies(published []observe.Reply) []Reply {
	if len(published) == 0 {
		return nil
	}
	replies := make([]Reply, len(published))
	for i, p := range published {
		replies[i] = Reply{Stream: h.labelOf(p.Stream), Body: bodyOf(p), Key: p.Key, Headers: slices.Clone(p.Headers)}
	}
	return replies
}

// bodyOf is the body of a message, which the engine itself has encoded.
func bodyOf(p observe.Reply) value.Value {
	if p.Codec == spec.CodecJSON || p.Codec == spec.CodecFields {
		if v, err := value.ParseJSON(p.Body, new(value.Arena)); err == nil {
			return v
		}
	}
	return value.NewString(p.Body)
}

// clone copies a value out of the arena that it lives in.
func clone(v *value.Value) value.Value {
	if v == nil {
		return value.Value{}
	}
	kids := make([]value.Value, v.Len())
	for i := range kids {
		kids[i] = clone(&v.Items()[i])
	}
	copied := *v
	switch v.Kind() {
	case value.Array:
		copied = value.NewArray(kids)
	case value.Object:
		copied = value.NewObject(kids)
	}
	return copied.Named(v.Name())
}

// labelOf is the label of the stream with a key.
func (h *Harness) labelOf(name string) string {
	for _, s := range h.streams() {
		if s.Name == name {
			return s.Label
		}
	}
	return name
}
