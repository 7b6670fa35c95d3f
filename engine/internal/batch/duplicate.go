package batch

import (
	"pipeline/engine/broker"
	"pipeline/engine/observe"
)

// Duplicate makes the item's outcome that of a duplicate: nothing is published.
// The reason completes "a duplicate …".
func (it *Item) Duplicate(m broker.Mark) {
	it.Outcome.Result, it.Outcome.Replies = observe.ResultDuplicate, nil
	o := it.Outcome.Explain()
	o.Error, o.Kind = "", ""
	switch {
	case m.By == it.Delivery.ID:
		o.Reason = "of itself: it was settled before and delivered again"
	case m.By.IsZero():
		o.Reason = "of a key that was marked by hand"
	default:
		o.Reason = "of " + m.By.String()
	}
}
