package settle

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
)

// ours reports whether a step that was sent again, of an entry that is no longer
// pending here, was written by an earlier attempt whose answer was lost. It was if
// nobody has the entry and nobody could have claimed it since the first attempt.
//
// A renewal that came in between does not find it either, and cannot tell who has
// it. It speaks against us only where another one could have had it: leases are
// renewed every third of min_idle, so not for as long after the first attempt.
func (s *Settler) ours(ctx context.Context, it *batch.Item) bool {
	if it.Action.Verb == batch.Ack && it.Lease() == batch.BodyGone {
		return true // a renewal took it out of the pending list: nothing was left to do
	}
	safe := s.MinIdle
	switch it.Lease() {
	case batch.Ours:
	case batch.Taken:
		safe = s.MinIdle / 3
	default:
		return false
	}
	if !s.work.resent || s.work.lost[it] || s.MinIdle > 0 && s.Clock.Now().Sub(s.work.sent) >= safe {
		return false
	}
	return s.work.found.look(ctx, s, it.Delivery.ID) == absent
}

// foundPage is how many pending entries are looked at in one step.
const foundPage = 250

// found is what is known of pending entries after an answer was lost: which ones
// there are up to an id.
type found struct {
	pending map[broker.ID]bool
	upTo    broker.ID
	// failed: the server does not answer this either, and is not asked again.
	failed bool
}

type presence uint8

const (
	unknown presence = iota
	absent
	present
)

// look says whether an entry is pending in the group. Ids have to rise.
func (f *found) look(ctx context.Context, s *Settler, id broker.ID) presence {
	if f.failed {
		return unknown
	}
	if f.upTo.Less(id) {
		call, cancel := context.WithTimeout(ctx, callTimeout)
		defer cancel()
		page, err := s.Broker.Pending(call, s.Owner.Stream, s.Owner.Group, "", id.Prev(), foundPage)
		if err != nil {
			f.failed = true
			return unknown
		}
		f.pending, f.upTo = make(map[broker.ID]bool, len(page)), broker.MaxID
		for i := range page {
			f.pending[page[i].ID] = true
		}
		if len(page) == foundPage {
			f.upTo = page[len(page)-1].ID
		}
	}
	if f.pending[id] {
		return present
	}
	return absent
}
