package settle

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/tally"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// publishUnfenced publishes the outcomes of entries that were trimmed while
// they ran: they are no longer pending, so that nothing can fence them. A dead
// letter, the last that there is of its entry, is published until the server takes
// it; a reply once, because it must not be published twice.
func (s *Settler) publishUnfenced(ctx context.Context) {
	for _, it := range s.work.unfenced {
		if len(it.Action.Publish) == 0 {
			continue // an acknowledgement, which there is no need for any more
		}
		call, cancel := context.WithTimeout(ctx, callTimeout)
		_, err := s.Broker.Add(call, it.Action.Publish)
		cancel()
		if err != nil && it.Outcome.Dead() {
			s.refuseLetter(it, err)
			continue
		}
		if err == nil {
			s.Tally.Count(tally.Published, len(it.Action.Publish))
		}
		s.Event(observe.Event{
			Name: observe.EventBodyMissing, Level: sandbox.Warn, Count: 1, Err: err,
			Message: "entry " + it.Delivery.ID.String() + " was trimmed while it ran; its outcome was published without a fence",
		})
	}
}

func (s *Settler) refuseLetter(it *batch.Item, err error) {
	if broker.Transient(err) {
		s.work.kept[it] = true
		return
	}
	s.refuse(it, err)
	if s.work.kept[it] {
		return
	}
	s.Event(observe.Event{
		Name: observe.EventBodyMissing, Level: sandbox.Error, Count: 1, Err: err,
		Message: "entry " + it.Delivery.ID.String() + " was trimmed while it ran, and its dead letter cannot be written: " + s.said(it),
	})
}

// buryTrimmed makes letters of entries that were to wait and turned out to be
// trimmed when that was written.
func (s *Settler) buryTrimmed(ctx context.Context, res broker.SettleResult) {
	w := &s.work
	w.unfenced = w.unfenced[:0]
	for i, it := range w.waitItems {
		if res.Waits[i] == broker.Gone && it.Action.Verb == batch.Wait && s.Bury != nil {
			it.SetLease(batch.BodyGone)
			s.Bury(it)
			w.unfenced = append(w.unfenced, it)
		}
	}
	s.publishUnfenced(ctx)
}
