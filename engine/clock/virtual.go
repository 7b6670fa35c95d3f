package clock

import (
	"container/heap"
	"sync"
	"time"
)

// Virtual is a clock that stands still until Advance or AdvanceToNext moves
// it. Timers fire in the order of their due times and, at the same time, in
// the order in which they were armed. It is safe for concurrent use.
type Virtual struct {
	mu     sync.Mutex
	now    time.Time
	timers timerHeap
	armed  uint64 // breaks ties between timers due at the same time
}

// NewVirtual returns a clock that stands at start.
func NewVirtual(start time.Time) *Virtual { return &Virtual{now: start} }

// Now is where the clock stands.
func (v *Virtual) Now() time.Time {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.now
}

// NewTimer arms a timer that fires when the clock reaches d from now.
func (v *Virtual) NewTimer(d time.Duration) Timer {
	t := &virtualTimer{clock: v, c: make(chan time.Time, 1), index: idle}
	t.Reset(d)
	return t
}

// AfterFunc arms a timer that calls f, on the goroutine that moves the clock,
// or at once on a goroutine of its own when d is zero or less.
func (v *Virtual) AfterFunc(d time.Duration, f func()) Timer {
	t := &virtualTimer{clock: v, f: f, index: idle}
	t.Reset(d)
	return t
}

// Next is the due time of the earliest pending timer; ok is false when there
// is none.
func (v *Virtual) Next() (due time.Time, ok bool) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.timers) == 0 {
		return time.Time{}, false
	}
	return v.timers[0].due, true
}

// AdvanceToNext moves the clock to the earliest pending timer that is due at
// or before limit, fires it alone, and reports whether there was one. Without
// one the clock moves to limit. Callers that must let woken work finish
// before the next timer fires loop over it.
func (v *Virtual) AdvanceToNext(limit time.Time) bool {
	v.mu.Lock()
	if len(v.timers) == 0 || v.timers[0].due.After(limit) {
		if limit.After(v.now) {
			v.now = limit
		}
		v.mu.Unlock()
		return false
	}
	t := heap.Pop(&v.timers).(*virtualTimer)
	if t.due.After(v.now) {
		v.now = t.due
	}
	t.fire(v.now)
	v.mu.Unlock()
	if t.f != nil {
		t.f()
	}
	return true
}

// MoveTo moves the clock forward to t, but not past its earliest pending timer,
// and fires nothing. Several clocks are kept together by it: the one whose
// timer is next fires it, and the others follow.
func (v *Virtual) MoveTo(t time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if len(v.timers) > 0 && v.timers[0].due.Before(t) {
		t = v.timers[0].due
	}
	if t.After(v.now) {
		v.now = t
	}
}

// Jump moves the clock forward to t, past timers that are due before, and fires
// nothing: they are overdue then, and AdvanceToNext fires them where the clock
// stands. It is what a process finds that was stopped for a while.
func (v *Virtual) Jump(t time.Time) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if t.After(v.now) {
		v.now = t
	}
}

// Advance moves the clock by d, firing every timer that becomes due on the
// way, each at its own time.
func (v *Virtual) Advance(d time.Duration) {
	limit := v.Now().Add(d)
	for v.AdvanceToNext(limit) {
	}
}

// idle is the heap index of a timer that is not pending.
const idle = -1

type virtualTimer struct {
	clock *Virtual
	c     chan time.Time
	f     func()
	due   time.Time
	order uint64
	index int
}

func (t *virtualTimer) C() <-chan time.Time { return t.c }

func (t *virtualTimer) Stop() bool {
	t.clock.mu.Lock()
	defer t.clock.mu.Unlock()
	return t.disarm()
}

func (t *virtualTimer) Reset(d time.Duration) {
	v := t.clock
	v.mu.Lock()
	t.disarm()
	if d <= 0 {
		t.fire(v.now)
		v.mu.Unlock()
		if t.f != nil {
			go t.f()
		}
		return
	}
	v.armed++
	t.due, t.order = v.now.Add(d), v.armed
	heap.Push(&v.timers, t)
	v.mu.Unlock()
}

// disarm takes the timer out of the heap and empties its channel, and reports
// whether it was pending. The clock's lock is held.
func (t *virtualTimer) disarm() bool {
	if t.c != nil {
		select {
		case <-t.c:
		default:
		}
	}
	if t.index == idle {
		return false
	}
	heap.Remove(&t.clock.timers, t.index)
	return true
}

// fire puts the time into the channel. The clock's lock is held; functions of
// AfterFunc are called by the caller once it is free.
func (t *virtualTimer) fire(now time.Time) {
	if t.c != nil {
		select {
		case t.c <- now:
		default:
		}
	}
}

type timerHeap []*virtualTimer

func (h timerHeap) Len() int { return len(h) }

func (h timerHeap) Less(i, j int) bool {
	if h[i].due.Equal(h[j].due) {
		return h[i].order < h[j].order
	}
	return h[i].due.Before(h[j].due)
}

func (h timerHeap) Swap(i, j int) {
	h[i], h[j] = h[j], h[i]
	h[i].index, h[j].index = i, j
}

func (h *timerHeap) Push(x any) {
	t := x.(*virtualTimer)
	t.index = len(*h)
	*h = append(*h, t)
}

func (h *timerHeap) Pop() any {
	old := *h
	t := old[len(old)-1]
	old[len(old)-1] = nil
	*h = old[:len(old)-1]
	t.index = idle
	return t
}
