package settle

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/tally"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// written reports whether the outcome of an entry that is no longer pending was
// written by an earlier attempt to write it, whose answer was lost: the key is
// marked by the entry itself.
func (s *Settler) written(it *batch.Item, m *broker.Mark) bool {
	return s.work.resent && m.Found() && m.By == it.Delivery.ID
}

// duplicate turns the outcome of an entry whose key had been marked meanwhile
// into that of a duplicate.
func (s *Settler) duplicate(it *batch.Item, m *broker.Mark) {
	if it.Lease() == batch.BodyGone && s.written(it, m) {
		// Without a fence, that is how a second attempt looks.
		s.Tally.Count(tally.Published, len(it.Action.Publish))
		return
	}
	it.Duplicate(*m)
}

// recognize asks about the entries that an earlier attempt has settled without
// marking their keys: these were duplicates. Where that is not known any more, for
// want of an answer or because the window has passed, their own word counts: what
// marks a key by then was set after the first attempt.
func (s *Settler) recognize(ctx context.Context) {
	w := &s.work
	if len(w.unmarked) == 0 {
		return
	}
	passed := s.Clock.Now().Sub(w.sent) >= s.Marks.Window
	request := broker.MarkedRequest{Stream: s.Owner.Stream, Group: s.Owner.Group, Marks: s.Marks}
	for _, it := range w.unmarked {
		request.Keys = append(request.Keys, it.Mark)
	}
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	marks, err := s.Broker.Marked(call, request)
	for i, it := range w.unmarked {
		if err == nil && !passed && marks[i].Found() && marks[i].By != it.Delivery.ID {
			it.Duplicate(marks[i])
		} else {
			s.Tally.Count(tally.Published, len(it.Action.Publish))
		}
	}
}

// tellDuplicates tells of the duplicates of a settlement, in one event.
func (s *Settler) tellDuplicates() {
	w := &s.work
	if s.Marks.Window == 0 {
		return
	}
	for _, it := range w.stepItems {
		if it.Outcome.Result == observe.ResultDuplicate && !w.kept[it] {
			if w.duplicates++; w.duplicates == 1 {
				w.first = it
			}
		}
	}
	if w.duplicates == 0 {
		return
	}
	s.Event(observe.Event{
		Name: observe.EventDuplicate, Level: sandbox.Info, Count: w.duplicates,
		Message: "acknowledged, with nothing published: entry " + w.first.Delivery.ID.String() + " is a duplicate " + w.first.Outcome.Why().Reason,
	})
	w.first = nil
}
