package reader

import (
	"context"
	"sync/atomic"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
)

// Window bounds how many entries a consumer reads and holds, so that it takes only
// what it can work on soon and leaves the rest to others. It starts small, grows
// while room is made quickly, the more quickly the more, and halves while it is made
// slowly. What sweeps brought does not count, which have a bound of their own: entries
// that come back again and again must not take the room of new ones.
//
// It is used by the reader alone; the sweeper asks only for Free.
type Window struct {
	clock    clock.Clock
	held     *batch.Held
	limit    int
	min, max int
	// full is called when Wait has found no room; it may be nil.
	full func()
	// waiting is set while Wait has found no room.
	waiting atomic.Bool
}

const (
	// soon is how quickly room must be made for the window to grow, late how
	// slowly for it to shrink.
	soon = 50 * time.Millisecond
	late = time.Second
	// leap is how many times as large the window becomes at most at once.
	leap = 8
)

// NewWindow returns a window for reads of up to size entries and a number of
// workers.
func NewWindow(c clock.Clock, held *batch.Held, size, workers int) *Window {
	low := min(2*workers, 4*size)
	return &Window{clock: c, held: held, limit: low, min: low, max: max(4*size, low)}
}

// Wait waits until a fair part of the window is free and returns how many of
// want entries may be read.
func (w *Window) Wait(ctx context.Context, want int) (int, error) {
	need := max(1, min(want, w.limit/2))
	began := time.Time{}
	for {
		changed := w.held.Changed()
		if count := w.held.Read(); w.limit-count >= need {
			w.waiting.Store(false)
			w.adapt(began)
			return max(1, min(want, w.limit-count)), nil
		}
		if began.IsZero() {
			began = w.clock.Now()
		}
		if w.full != nil {
			w.full()
		}
		w.waiting.Store(true)
		if err := clock.Wait(ctx, changed); err != nil {
			return 0, err
		}
	}
}

// adapt changes the limit by how long the wait for room took. A reader that
// never had to wait is bounded by what arrives, not by the window.
func (w *Window) adapt(began time.Time) {
	if began.IsZero() {
		return
	}
	switch took := clock.Since(w.clock, began); {
	case took < soon:
		// Were half of the larger window made free at the same rate, that would take a
		// quarter of soon, unless it only doubles.
		times := min(max(2, int(soon/4/max(took, 1))), leap)
		w.limit = min(times*w.limit, w.max)
	case took > late:
		w.limit = max(w.limit/2, w.min)
	}
}
