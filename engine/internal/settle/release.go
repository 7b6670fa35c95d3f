package settle

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// release hands back what was never started. If the answer is lost the entries
// stay pending and come back when they have been idle. What is behind an entry of
// its key whose outcome is not written yet, because the server refuses it or it
// waits for room, is kept until it is: somebody else would run it sooner.
func (s *Settler) release(ctx context.Context) {
	w := &s.work
	if len(w.releases) == 0 {
		return
	}
	unwritten := s.unwrittenKeys()
	var ids []broker.ID
	for _, it := range w.releases {
		if isBehind(unwritten, it) {
			w.kept[it] = true
		} else {
			ids = append(ids, it.Delivery.ID)
		}
	}
	if len(ids) == 0 {
		return
	}
	err := s.handBack(ctx, ids)
	s.Event(observe.Event{
		Name: observe.EventHandedBack, Level: sandbox.Info, Count: len(ids), Err: err,
		Message: "handed back what was not started",
	})
}

func (s *Settler) handBack(ctx context.Context, ids []broker.ID) error {
	s.afterRenewal(ctx)
	call, cancel := context.WithTimeout(ctx, callTimeout)
	defer cancel()
	return s.Broker.Release(call, s.Owner, ids, s.Claimable)
}

// unwrittenKeys are the keys with outcomes that are not written yet, and the first
// entry of each.
func (s *Settler) unwrittenKeys() map[string]broker.ID {
	keys := map[string]broker.ID{}
	note := func(it *batch.Item) {
		if first, known := keys[it.Key]; it.Key != "" && (!known || it.Delivery.ID.Less(first)) {
			keys[it.Key] = it.Delivery.ID
		}
	}
	for it := range s.work.kept {
		note(it)
	}
	for _, shares := range [][]batch.Share{s.refused, s.withheld.shares} {
		for _, share := range shares {
			for i := range share.Len() {
				note(share.At(i))
			}
		}
	}
	return keys
}

func isBehind(unwritten map[string]broker.ID, it *batch.Item) bool {
	first, known := unwritten[it.Key]
	return known && first.Less(it.Delivery.ID)
}

// letGo queues what was not handed back yet and is behind nothing any more.
func (s *Settler) letGo() {
	if len(s.behind) == 0 {
		return
	}
	unwritten := s.unwrittenKeys()
	shares := s.behind
	s.behind = nil
	for _, share := range shares {
		var stays, goes []int32
		for i, index := range share.Index {
			if it := share.At(i); isBehind(unwritten, it) {
				stays = append(stays, index)
			} else {
				it.SetState(batch.Finished)
				goes = append(goes, index)
			}
		}
		if len(stays) > 0 {
			s.behind = append(s.behind, batch.Share{Batch: share.Batch, Index: stays})
		}
		if len(goes) > 0 {
			s.queue = append(s.queue, batch.Share{Batch: share.Batch, Index: goes})
		}
	}
}
