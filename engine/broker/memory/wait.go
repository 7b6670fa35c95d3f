package memory

import (
	"context"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// waiter is a blocked read. It is served by whoever brings it something: an
// operation that adds an entry, or the clock, under the broker's lock.
type waiter struct {
	r        broker.ReadRequest
	stream   *stream
	group    *group
	deadline time.Time
	// claimAt is when the next pending entry becomes idle long enough, as it
	// looked when the read blocked, in milliseconds; 0 if none will. A server
	// does not look again when an entry is aged meanwhile.
	claimAt int64
	timer   clock.Timer

	// done is closed when the read is over; out and err are its result.
	done   chan struct{}
	ended  bool
	result []broker.Delivery
	err    error
}

// block parks a read that found nothing.
func (b *Broker) block(s *stream, g *group, r *broker.ReadRequest, now int64) *waiter {
	w := &waiter{r: *r, stream: s, group: g, done: make(chan struct{}), deadline: b.clock.Now().Add(r.Block)}
	s.waiters = append(s.waiters, w)
	b.blocked++
	b.arm(w, now)
	return w
}

// arm sets the timer to what comes first, the end of the block or an entry
// that becomes idle.
func (b *Broker) arm(w *waiter, now int64) {
	next := w.deadline
	w.claimAt = 0
	if w.r.MinIdle > 0 {
		least := milliseconds(w.r.MinIdle)
		at := w.group.byTime.from(key{at: now - least + 1})
		if _, p, ok := at.next(); ok {
			w.claimAt = p.at + least
			if t := time.UnixMilli(w.claimAt); t.Before(next) {
				next = t
			}
		}
	}
	d := max(1, next.Sub(b.clock.Now()))
	if w.timer == nil {
		w.timer = b.clock.AfterFunc(d, func() { b.ring(w) })
	} else {
		w.timer.Reset(d)
	}
}

// ring is the waiter's timer.
func (b *Broker) ring(w *waiter) {
	b.mu.Lock()
	defer b.mu.Unlock()
	if w.ended {
		return
	}
	now := b.now()
	if w.claimAt != 0 && w.claimAt <= now && b.serve(w, now) {
		return
	}
	if !b.clock.Now().Before(w.deadline) {
		b.end(w, nil, nil)
		return
	}
	b.arm(w, now)
}

// serve gives the waiter what there is for it, and reports whether that was
// anything.
func (b *Broker) serve(w *waiter, now int64) bool {
	out := b.take(w.stream, w.group, &w.r, now)
	if len(out) == 0 {
		return false
	}
	b.end(w, out, nil)
	return true
}

// end ends a blocked read with a result.
func (b *Broker) end(w *waiter, result []broker.Delivery, err error) {
	w.ended, w.result, w.err = true, result, err
	w.timer.Stop()
	w.stream.waiters = slices.DeleteFunc(w.stream.waiters, func(x *waiter) bool { return x == w })
	b.blocked--
	close(w.done)
}

// await returns the result of a blocked read, which its context may end
// early. What was delivered before that is returned all the same.
func (b *Broker) await(ctx context.Context, w *waiter) ([]broker.Delivery, error) {
	if clock.Wait(ctx, w.done) != nil {
		b.mu.Lock()
		if !w.ended {
			b.end(w, nil, nil)
		}
		b.mu.Unlock()
	}
	return w.result, w.err
}

// stir has the stream's blocked reads look again when the operation is done.
func (b *Broker) stir(s *stream) {
	if len(s.waiters) > 0 && !s.stirred {
		s.stirred = true
		b.stirred = append(b.stirred, s)
	}
}

// wake serves the blocked reads of streams that were added to, longest blocked
// first. One that finds nothing, because others took it, blocks again.
func (b *Broker) wake(now int64) {
	for i, s := range b.stirred {
		s.stirred = false
		b.stirred[i] = nil
		for _, w := range slices.Clone(s.waiters) {
			if !b.serve(w, now) {
				b.arm(w, now)
			}
		}
	}
	b.stirred = b.stirred[:0]
}

// endReadsOf ends the blocked reads of a stream, of one group or of all groups.
func (b *Broker) endReadsOf(s *stream, g *group, err error) {
	for _, w := range slices.Clone(s.waiters) {
		if g == nil || w.group == g {
			b.end(w, nil, err)
		}
	}
}

// endEmpty ends, before 7.2, the blocked reads of a stream one of whose groups is
// destroyed that lie before its last id, though nothing is left behind them: they bring
// nothing, and their consumers are known from then on. A server looks at all that are
// blocked on the key then, and goes by that id alone.
func (b *Broker) endEmpty(s *stream) {
	if b.version.atLeast(7, 2) {
		return
	}
	now := b.now()
	for _, w := range slices.Clone(s.waiters) {
		if w.group.last.Less(s.last) {
			w.group.meet(b.reader(w.group, w.r.Consumer, now), now)
			b.end(w, nil, nil)
		}
	}
}

// endReads ends all blocked reads.
func (b *Broker) endReads(err error) {
	for _, name := range sortedNames(b.keys) {
		b.endReadsOf(b.keys[name], nil, err)
	}
}
