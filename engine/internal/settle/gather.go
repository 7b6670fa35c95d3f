package settle

import (
	"context"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
)

// MaxItems and maxBytes bound one settlement, so that it is sent and answered
// well within its deadline: one that cannot be would be sent again for ever.
// An entry whose outcome alone is larger goes by itself.
const (
	MaxItems = 4096
	maxBytes = 4 << 20
)

// ready is closed: receiving from it never waits.
var ready = func() chan struct{} {
	c := make(chan struct{})
	close(c)
	return c
}()

// queued is ready when there is something to settle already, more when there
// is not: what lanes hand over then starts the next settlement.
func (s *Settler) queued() <-chan struct{} {
	if len(s.queue) > 0 {
		return ready
	}
	return nil
}

func (s *Settler) more() <-chan batch.Share {
	if len(s.queue) > 0 {
		return nil
	}
	return s.in
}

// turn waits, where goroutines take turns, until Run can go on, and then lets
// everything else run that can: like under load, what is finished by then goes
// out as one settlement.
func (s *Settler) turn(ctx context.Context, again, room *reminder) {
	turns := clock.TurnsOf(ctx)
	if turns == nil {
		return
	}
	turns.Until(func() bool {
		return len(s.queue) > 0 || len(s.in) > 0 || s.in != nil && s.closed.Load() || len(again.due) > 0 || len(room.due) > 0 ||
			s.withheld.isCalledOff() || ctx.Err() != nil
	})
	turns.Yield(clock.Rank{Later: clock.LaterSettle})
}

// reminder is a timer whose firing can be seen before it is received.
type reminder struct {
	timer clock.Timer
	due   chan struct{}
	armed bool
	// fired: its firing was received and not acted on yet.
	fired bool
}

func newReminder(c clock.Clock) *reminder {
	r := &reminder{due: make(chan struct{}, 1)}
	r.timer = c.AfterFunc(time.Hour, func() { r.due <- struct{}{} })
	r.timer.Stop()
	return r
}

// arm sets it. It must not be armed.
func (r *reminder) arm(d time.Duration) {
	r.armed = true
	r.timer.Reset(d)
}

// over reports, once, that it has fired.
func (r *reminder) over() bool {
	select {
	case <-r.due:
	default:
		if !r.fired {
			return false
		}
	}
	r.armed, r.fired = false, false
	return true
}

func (r *reminder) stop() { r.timer.Stop() }

// gather takes one settlement's worth out of the queue and of what else has
// been finished meanwhile.
func (s *Settler) gather() []batch.Share {
	s.work.shares = s.work.shares[:0]
	items, bytes := MaxItems, maxBytes
	for items > 0 && bytes > 0 && s.refill() {
		share := s.queue[0]
		n := 0
		for n < share.Len() && items > 0 && bytes > 0 {
			items--
			bytes -= size(share.At(n))
			n++
		}
		s.work.shares = append(s.work.shares, batch.Share{Batch: share.Batch, Index: share.Index[:n]})
		if n < share.Len() {
			s.queue[0].Index = share.Index[n:]
		} else {
			s.queue = s.queue[1:]
		}
	}
	if len(s.queue) == 0 {
		s.queue = nil // its array is not kept
	}
	return s.work.shares
}

// refill sees to it that the queue is not empty and reports false when nothing
// more is finished. A closed channel is left for Run to find.
func (s *Settler) refill() bool {
	if len(s.queue) > 0 {
		return true
	}
	select {
	case share, ok := <-s.in:
		if ok {
			s.queue = append(s.queue, share)
		}
		return ok
	default:
		return false
	}
}

// size is how many bytes the outcome of an item sends.
func size(it *batch.Item) int {
	n := 0
	if it.Action.Wait != nil {
		n = len(it.Action.Wait.Error)
	}
	for i := range it.Action.Publish {
		fields := it.Action.Publish[i].Fields
		for j := range fields {
			n += len(fields[j].Name) + len(fields[j].Value)
		}
	}
	return n
}
