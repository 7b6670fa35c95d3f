package batch

import (
	"strings"
	"time"

	"pipeline/engine/codec"
	"pipeline/engine/observe"
	"pipeline/engine/outcome"
	"pipeline/sandbox"
)

// Outcome is what became of an item, as far as the rest of the item does not say
// it: Told is the whole.
type Outcome struct {
	// Result is empty where nothing is to be told.
	Result  observe.Result
	Replies []observe.Reply
	// Began is when the handler was called, zero when it was not; Elapsed is its time.
	Began   time.Time
	Elapsed time.Duration
	Usage   sandbox.Usage
	// why is set where there is more to tell.
	why *Why
	// Attempt is that of the delivery: 1 is the first.
	Attempt int
}

// Why is what few outcomes have to tell: those that are no plain acknowledgement or
// reply. The fields are those of observe.Outcome.
type Why struct {
	After    time.Duration
	HasAfter bool
	Reason   string
	Error    string
	Kind     outcome.FailureKind
	Dead     bool
	Letter   string
	Logs     []sandbox.LogLine
}

// Why is what there is more to tell, for reading.
func (o *Outcome) Why() Why {
	if o.why == nil {
		return Why{}
	}
	return *o.why
}

// Explain is what there is more to tell, for writing: it is made where there is
// nothing yet.
func (o *Outcome) Explain() *Why {
	if o.why == nil {
		o.why = new(Why)
	}
	return o.why
}

// Dead reports whether the entry goes to the dead-letter stream.
func (o *Outcome) Dead() bool { return o.why != nil && o.why.Dead }

// Void makes it one of which nothing was written, neither a reply nor a dead
// letter, with a result in place of its own.
func (o *Outcome) Void(r observe.Result) {
	o.Result, o.Replies = r, nil
	if o.why != nil {
		o.why.Dead = false
	}
}

// Tell writes what became of the item to out, as observers are told.
func (it *Item) Tell(out *observe.Outcome) {
	o := &it.Outcome
	*out = observe.Outcome{
		ID: it.Delivery.ID, Key: it.Key, Deliveries: it.Delivery.Deliveries, Attempt: o.Attempt,
		Result: o.Result, Replies: o.Replies, Elapsed: o.Elapsed, Began: o.Began, Usage: o.Usage,
	}
	if !o.Began.IsZero() {
		out.Bytes = it.size()
	}
	if it.Invalid == nil {
		out.Body = &it.Body.Value
	}
	if w := o.why; w != nil {
		out.After, out.HasAfter, out.Reason, out.Error, out.Kind = w.After, w.HasAfter, w.Reason, w.Error, w.Kind
		out.Dead, out.Letter, out.Logs = w.Dead, w.Letter, w.Logs
	}
}

// Told is what became of the item.
func (it *Item) Told() observe.Outcome {
	var out observe.Outcome
	it.Tell(&out)
	return out
}

// size is that of the body as it stands on the wire: of its field, or of all
// fields that are no headers where the entry has none.
func (it *Item) size() int {
	if n := len(it.Body.Raw); n > 0 {
		return n
	}
	n := 0
	for i := range it.Delivery.Fields {
		if f := &it.Delivery.Fields[i]; !strings.HasPrefix(f.Name, codec.HeaderPrefix) {
			n += len(f.Name) + len(f.Value)
		}
	}
	return n
}
