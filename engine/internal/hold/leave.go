package hold

import (
	"slices"
	"time"

	"pipeline/engine/broker"
)

// Left is an entry that is handed back.
type Left struct {
	ID broker.ID
	// Due is when it may run; zero for at once.
	Due time.Time
	// Counted: the server counts deliveries of it beside the present one, and
	// there may be a record of it.
	Counted bool
}

// Leave forgets what waits, and returns it sorted by id, to be handed back.
// Without all these are the keys of which nothing is on its way: an entry must
// not be run elsewhere while one before it still runs here.
func (k *Keys) Leave(all bool) []Left {
	if k == nil {
		return nil
	}
	var left []Left
	k.update(func() {
		for _, q := range k.keys {
			if all || q.waits() {
				left = k.leave(q, left)
			}
		}
	})
	slices.SortFunc(left, func(a, b Left) int { return a.ID.Compare(b.ID) })
	return left
}

func (k *Keys) leave(q *queue, left []Left) []Left {
	for at, e := range slices.Backward(q.entries) {
		if e.state != waiting {
			continue
		}
		l := Left{ID: e.id, Counted: e.counted}
		if e.due != 0 {
			l.Due = k.began.Add(time.Duration(e.due))
		}
		left = append(left, l)
		k.remove(q, at)
	}
	k.place(q)
	return left
}

// trail notes that the entry with that place was written to the server: those
// behind it that wait were renewed less lately.
func (k *Keys) trail(q *queue, at int) {
	if !q.trails && slices.ContainsFunc(q.entries[at+1:], func(e entry) bool { return e.state == waiting }) {
		q.trails = true
		k.trailed = append(k.trailed, q)
	}
}

// Trailing returns up to n entries that wait and are to be renewed now, because
// one before them was renewed alone, by being fetched or put back. If this
// process dies they must not be claimed before that one. Of a long queue it is
// the part that is next.
func (k *Keys) Trailing(n int) []broker.ID {
	if k == nil {
		return nil
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	var ids []broker.ID
	for _, q := range k.trailed {
		q.trails = false
		for i := 0; i < len(q.entries) && len(ids) < n; i++ {
			if q.entries[i].state == waiting {
				ids = append(ids, q.entries[i].id)
			}
		}
	}
	clear(k.trailed)
	k.trailed = k.trailed[:0]
	slices.SortFunc(ids, broker.ID.Compare)
	return ids
}
