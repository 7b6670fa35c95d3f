package lane

import (
	"context"
	"slices"

	"pipeline/engine/internal/batch"
)

// Drain hands on what has not started, to be released, however long the item
// runs that is before it. What has that one's key waits until it is settled, so
// that no other process runs it sooner; for the same reason what has finished is
// handed on first. Call it once draining is true; what is
// sent afterwards waits for its turn, unless Drain is called again.
func (l *Lane) Drain(ctx context.Context) {
	for _, free := range l.free() {
		l.hand(ctx, free)
	}
}

// release hands an item back that was never started.
func release(it *batch.Item) { it.Action = batch.Action{Verb: batch.Release} }

// free takes away what need not wait for the item that runs.
func (l *Lane) free() []batch.Share {
	l.pending.Lock()
	defer l.pending.Unlock()
	var free []batch.Share
	key := ""
	if l.from < l.done {
		free = add(free, batch.Share{Batch: l.share.Batch, Index: slices.Clone(l.share.Index[l.from:l.done])})
		l.from = l.done
	}
	if l.at >= 0 {
		key = l.share.At(l.at).Key
		let, stay := part(l.behind(), key)
		l.share.Index = append(l.share.Index[:l.at+1:l.at+1], stay.Index...)
		free = add(free, let)
	}
	for _, s := range append(l.aside, l.ahead...) {
		let, stay := part(s, key)
		free, l.later = add(free, let), add(l.later, stay)
	}
	l.ahead, l.aside = nil, nil
	for {
		select {
		case s, ok := <-l.in:
			if !ok {
				return free
			}
			let, stay := part(s, key)
			free, l.later = add(free, let), add(l.later, stay)
		default:
			return free
		}
	}
}

// released marks all of a share to be released.
func released(s batch.Share) batch.Share {
	for i := range s.Len() {
		release(s.At(i))
		s.At(i).SetState(batch.Finished)
	}
	return s
}

// part tells what has a key from the rest, which is marked to be released. Items
// without a key have no order.
func part(s batch.Share, key string) (free, stay batch.Share) {
	free.Batch, stay.Batch = s.Batch, s.Batch
	for i := range s.Len() {
		if key != "" && s.At(i).Key == key {
			stay.Index = append(stay.Index, s.Index[i])
			continue
		}
		free.Index = append(free.Index, s.Index[i])
	}
	return released(free), stay
}

func add(shares []batch.Share, s batch.Share) []batch.Share {
	if s.Len() == 0 {
		return shares
	}
	return append(shares, s)
}
