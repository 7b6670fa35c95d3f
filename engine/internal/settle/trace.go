package settle

import (
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// endSpans ends the spans of the items that this settlement is done with; what is
// refused goes on. Without an answer, nothing is known to be written.
func (s *Settler) endSpans(answered bool) {
	if !s.Traced {
		return
	}
	var told observe.Outcome
	e := observe.Ending{Outcome: &told, Sent: s.work.sent, Written: s.Clock.Now()}
	for _, it := range s.work.items {
		if it.Span == nil || s.work.kept[it] {
			continue
		}
		it.Tell(&told)
		e.Publish = nil
		if !answered {
			told.Result = ""
		} else if wrote(it) {
			e.Publish = it.Action.Publish
		}
		it.Span.End(&e)
		it.Span = nil
	}
}

// wrote reports whether what the item was to publish was written.
func wrote(it *batch.Item) bool {
	return it.Outcome.Result != observe.ResultStale && it.Outcome.Result != observe.ResultDuplicate
}
