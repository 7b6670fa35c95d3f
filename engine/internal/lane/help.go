package lane

import (
	"slices"

	"pipeline/engine/internal/batch"
)

// Wake has a lane that waits look for what it may run. Safe for concurrent use.
func (l *Lane) Wake() {
	select {
	case l.wake <- struct{}{}:
	default: // it is about to
	}
}

func (l *Lane) wakePeers() {
	for i, p := range l.peers {
		if i != l.self {
			p.Wake()
		}
	}
}

// offer lets other lanes have what is queued here and has no key. Quick entries
// are not offered: to run them takes less than to move them.
func (l *Lane) offer() {
	if l.at < 0 || len(l.peers) < 2 {
		return
	}
	l.slow.Store(true)
	if l.behind().Len()+len(l.ahead)+len(l.aside)+len(l.in) > 0 {
		l.wakePeers()
	}
}

// help takes from a lane that is slow, where there is nothing to do here.
func (l *Lane) help() (s batch.Share, ok bool) {
	if len(l.in) > 0 {
		return batch.Share{}, false
	}
	for i := range l.peers {
		if p := l.peers[(l.self+i)%len(l.peers)]; p != l && p.slow.Load() {
			if s = p.give(); s.Len() > 0 {
				p.depth.Add(-int64(s.Len()))
				l.depth.Add(int64(s.Len()))
				return s, true
			}
		}
	}
	return batch.Share{}, false
}

// give gives away half of the items without a key of the first queued share that
// has any. Items with a key stay in their lane, which runs them in order.
func (l *Lane) give() batch.Share {
	l.pending.Lock()
	defer l.pending.Unlock()
	if !l.slow.Load() || l.draining.Load() {
		return batch.Share{}
	}
	l.recall()
	given, left := half(l.behind())
	if given.Len() > 0 {
		l.share.Index = append(l.share.Index[:l.at+1:l.at+1], left.Index...)
		return given
	}
	l.pull()
	for i, s := range l.ahead {
		if given, l.ahead[i] = half(s); l.ahead[i].Len() == 0 {
			l.ahead = slices.Delete(l.ahead, i, i+1)
		}
		if given.Len() > 0 {
			return given
		}
	}
	return batch.Share{}
}

// half parts a share: given are as many of its items without a key as are left, or
// one more.
func half(s batch.Share) (given, left batch.Share) {
	count := 0
	for i := range s.Len() {
		if s.At(i).Key == "" {
			count++
		}
	}
	if count == 0 {
		return batch.Share{}, s
	}
	given.Batch, left.Batch = s.Batch, s.Batch
	for i, index := range s.Index {
		if s.At(i).Key == "" && given.Len() < (count+1)/2 {
			given.Index = append(given.Index, index)
		} else {
			left.Index = append(left.Index, index)
		}
	}
	return given, left
}
