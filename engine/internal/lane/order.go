package lane

import (
	"slices"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
)

// queued is an item that has not started, where it stands.
type queued struct {
	share batch.Share
	place int
}

func (q queued) item() *batch.Item { return q.share.At(q.place) }

// behind is what of the share comes after the item that runs.
func (l *Lane) behind() batch.Share {
	return batch.Share{Batch: l.share.Batch, Index: l.share.Index[l.at+1:]}
}

// pull takes all that was sent out of the channel. The caller holds pending, and the
// lane has a share in hand, so that it does not receive meanwhile.
func (l *Lane) pull() {
	for {
		select {
		case s, ok := <-l.in:
			if !ok {
				return
			}
			l.ahead = append(l.ahead, s)
		default:
			return
		}
	}
}

// sort puts what is queued in order: of the items of a key the lower ids come
// first, and take the places that the key has in the queue, so that nothing moves
// for another key. The caller holds pending; nothing behind l.at has started.
//
// New entries come in order. What was handed back, claimed or retried is older
// than some of those that came before it; only shares that say so (batch.Old)
// have the queue sorted.
func (l *Lane) sort() {
	l.unsorted.Store(false) // before the channel is emptied: see Send
	l.pull()
	shares := append(add(nil, l.behind()), l.ahead...)
	if queue := inOrder(shares); queue != nil {
		l.share.Index = slices.Clip(l.share.Index[:l.at+1])
		l.ahead = pieces(queue)
		l.join()
	}
}

// join takes the first piece for the share that is worked on, where it is of the
// same batch or the share is empty.
func (l *Lane) join() {
	switch {
	case len(l.share.Index) == 0:
		l.share = l.ahead[0]
	case l.share.Batch == l.ahead[0].Batch:
		l.share.Index = append(l.share.Index, l.ahead[0].Index...)
	default:
		return
	}
	l.ahead = l.ahead[1:]
}

// inOrder is what the shares hold in the order in which it is to run; nil where
// that is how it stands already.
func inOrder(shares []batch.Share) []queued {
	var queue []queued
	places := map[string][]int{}
	last, sorted := map[string]broker.ID{}, true
	for _, s := range shares {
		for i := range s.Len() {
			q := queued{s, i}
			if it := q.item(); it.Key != "" {
				places[it.Key] = append(places[it.Key], len(queue))
				sorted = sorted && !it.Delivery.ID.Less(last[it.Key])
				last[it.Key] = it.Delivery.ID
			}
			queue = append(queue, q)
		}
	}
	if sorted {
		return nil
	}
	ordered := slices.Clone(queue)
	for _, at := range places {
		of := make([]queued, len(at))
		for i, place := range at {
			of[i] = queue[place]
		}
		slices.SortStableFunc(of, func(a, b queued) int { return a.item().Delivery.ID.Compare(b.item().Delivery.ID) })
		for i, place := range at {
			ordered[place] = of[i]
		}
	}
	return ordered
}

// pieces makes shares of a queue: one for each run of items of one batch.
func pieces(queue []queued) []batch.Share {
	var shares []batch.Share
	for _, q := range queue {
		if n := len(shares); n == 0 || shares[n-1].Batch != q.share.Batch {
			shares = append(shares, batch.Share{Batch: q.share.Batch})
		}
		s := &shares[len(shares)-1]
		s.Index = append(s.Index, q.share.Index[q.place])
	}
	return shares
}
