package settle

import (
	"errors"
	"fmt"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// refuse handles an outcome that the server does not take. One that it may take
// later is held and settled again. What does not pass by waiting (a destination
// of another type, a right that is missing, keys that no step can write together)
// ends the subscription: the entry stays pending, for a run after it was mended.
func (s *Settler) refuse(it *batch.Item, err error) {
	if errors.Is(err, broker.ErrWrongType) || errors.Is(err, broker.ErrNoPermission) || errors.Is(err, broker.ErrUnsupported) {
		it.Action = batch.Action{Verb: batch.Leave}
		s.Fatal(fmt.Errorf("entry %s stays pending: %w", it.Delivery.ID, err))
		return
	}
	s.work.kept[it] = true
	if s.work.refusal == nil {
		s.work.refusal, s.work.refused = err, it.Delivery.ID
	}
}

// tellRefused tells once of each cause why outcomes are refused, however many there
// are and how often they are tried, and once that none is any more.
func (s *Settler) tellRefused() {
	err, n := s.work.refusal, len(s.work.kept)
	switch {
	case err != nil && !s.told[cause(err)]:
		if s.told == nil {
			s.told = map[string]bool{}
		}
		s.told[cause(err)] = true
		s.Event(observe.Event{
			Name: observe.EventSettleRefused, Level: sandbox.Error, Count: n, Err: err,
			Message: "the server refuses what entry " + s.work.refused.String() +
				" and perhaps others came to; they are held and settled again until it takes them",
		})
	case err == nil && len(s.told) > 0 && len(s.refused) == 0 && len(s.queue) == 0:
		clear(s.told)
		s.Event(observe.Event{
			Name: observe.EventSettleAccepted, Level: sandbox.Info, Message: "the server takes what it refused before",
		})
	}
}

// cause tells refusals apart. A full server is one cause, whichever stream the
// message that it refused was for.
func cause(err error) string {
	if errors.Is(err, broker.ErrOutOfMemory) {
		return broker.ErrOutOfMemory.Error()
	}
	return err.Error()
}
