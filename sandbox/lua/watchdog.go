package lua

import (
	"runtime/metrics"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/clock"
)

// DefaultHeapLimit is by how many bytes the heap of the process may grow while
// a handler runs before that handler is stopped.
const DefaultHeapLimit = 96 << 20

// SetHeapLimit changes the bound of DefaultHeapLimit for the whole process; 0
// restores it. The tables that a script builds are not counted one by one, so
// this is what bounds them: a watchdog looks every two milliseconds, and the
// heap can overshoot by what is allocated in between. Safe for concurrent use.
func SetHeapLimit(bytes int64) {
	if bytes <= 0 {
		bytes = DefaultHeapLimit
	}
	theWatchdog.limit.Store(bytes)
}

const (
	tick = 2 * time.Millisecond
	// idleTicks without a running call let the watchdog sleep.
	idleTicks = 25
	// graceTicks is how long a stopped call has to give its memory back
	// before the next one is stopped too.
	graceTicks = 10
	// recycleEvery is the least time between two renewals of all states.
	recycleEvery = 10 * time.Second
)

// theWatchdog is one for the process, because the heap is.
var theWatchdog = newWatchdog(clock.Real())

// watchdog stops calls that run too long or while the heap grows too much. It
// runs while there are instances and sleeps while no call is running. Time
// limits are kept here, so that a call reads no clock: a call counts from the
// first tick that sees it.
type watchdog struct {
	clock clock.Clock
	limit atomic.Int64
	// generation rises when states should be renewed because they hold on to
	// too much between calls.
	generation atomic.Uint64
	// size is the heap at the last look.
	size   atomic.Int64
	parked atomic.Bool
	wake   chan struct{}

	mu   sync.Mutex
	all  []*watched
	quit chan struct{}
	done chan struct{}

	// The rest belongs to the goroutine.
	heap     []metrics.Sample
	grace    int
	recycled time.Time
}

// watched is a meter as the watchdog last saw it.
type watched struct {
	m     *meter
	seq   uint64
	since time.Time
	// heap is the size that growth is measured from: the heap when the call was
	// first seen, or what it may well grow to by itself before the collector
	// runs, which is twice what was alive.
	heap int64
}

func newWatchdog(c clock.Clock) *watchdog {
	w := &watchdog{
		clock: c,
		wake:  make(chan struct{}, 1),
		heap:  []metrics.Sample{{Name: "/memory/classes/heap/objects:bytes"}, {Name: "/gc/heap/live:bytes"}},
	}
	w.limit.Store(DefaultHeapLimit)
	return w
}

// started tells the watchdog that a call has begun.
func (w *watchdog) started() {
	if w.parked.Load() {
		select {
		case w.wake <- struct{}{}:
		default:
		}
	}
}

// add watches m, starting the goroutine for the first.
func (w *watchdog) add(m *meter) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.all = append(w.all, &watched{m: m})
	if w.quit == nil {
		before := w.done
		w.quit, w.done = make(chan struct{}), make(chan struct{})
		go w.run(before, w.quit, w.done)
	}
}

// remove forgets m; with the last one the goroutine ends before it returns.
func (w *watchdog) remove(m *meter) {
	w.mu.Lock()
	w.all = slices.DeleteFunc(w.all, func(x *watched) bool { return x.m == m })
	var done chan struct{}
	if len(w.all) == 0 && w.quit != nil {
		close(w.quit)
		done = w.done
		w.quit = nil
	}
	w.mu.Unlock()
	if done != nil {
		<-done
	}
}

// run is the goroutine. It waits for the one before it, if that is still
// ending, so that there is never more than one.
func (w *watchdog) run(before, quit, done chan struct{}) {
	defer close(done)
	if before != nil {
		<-before
	}
	t := w.clock.NewTimer(tick)
	defer t.Stop()
	idle := 0
	for {
		select {
		case <-quit:
			return
		case <-t.C():
		}
		if w.look() {
			idle = 0
		} else if idle++; idle >= idleTicks {
			if !w.park(quit) {
				return
			}
			idle = 0
		}
		t.Reset(tick)
	}
}

// park sleeps until a call starts; it reports false when the watchdog ends.
func (w *watchdog) park(quit chan struct{}) bool {
	w.parked.Store(true)
	defer w.parked.Store(false)
	// A call that began before parked was set woke nobody.
	if w.look() {
		return true
	}
	select {
	case <-quit:
		return false
	case <-w.wake:
		return true
	}
}

// look is one tick. It reports whether any call is running.
func (w *watchdog) look() bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	now, running := w.clock.Now(), false
	heap, live := w.readHeap()
	w.size.Store(heap)
	var grown *watched
	for _, x := range w.all {
		seq := x.m.seq.Load()
		if seq&1 == 0 {
			x.seq = 0
			continue
		}
		running = true
		if seq != x.seq {
			x.seq, x.since, x.heap = seq, now, max(heap, 2*live)
			continue
		}
		if now.Sub(x.since) >= x.m.timeout {
			x.stop(killTimeout)
		} else if heap-x.heap > w.limit.Load() && (grown == nil || x.since.Before(grown.since)) {
			grown = x
		}
	}
	w.bound(grown, heap, now)
	return running
}

// bound stops the call that has run longest while the heap grew, and has the
// states renewed when the heap is large whoever is running.
func (w *watchdog) bound(grown *watched, heap int64, now time.Time) {
	if w.grace > 0 {
		w.grace--
	}
	limit := w.limit.Load()
	if grown != nil && (w.grace == 0 || heap-grown.heap > 2*limit) {
		grown.stop(killHeap)
		w.grace = graceTicks
	}
	if heap > 2*limit && now.Sub(w.recycled) >= recycleEvery {
		w.recycled = now
		w.generation.Add(1)
	}
}

func (x *watched) stop(reason uint64) {
	x.m.kill.Store(x.seq<<killBits | reason)
	x.m.callOff(x.seq)
}

// readHeap is the size of all objects on the heap, dead ones that are not yet
// collected among them, and of what was alive at the last collection.
func (w *watchdog) readHeap() (size, live int64) {
	metrics.Read(w.heap)
	read := func(i int) int64 {
		if w.heap[i].Value.Kind() != metrics.KindUint64 {
			return 0
		}
		return int64(w.heap[i].Value.Uint64())
	}
	return read(0), read(1)
}
