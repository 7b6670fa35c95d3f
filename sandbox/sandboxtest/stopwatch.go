package sandboxtest

import (
	"time"

	"pipeline/engine/clock"
)

// stopwatch measures what happens on one thread, without the time in which
// others had the processors: a busy machine is not the attack's doing.
type stopwatch struct {
	queue  *queue
	start  time.Time
	waited time.Duration
}

func newStopwatch(q *queue) stopwatch {
	return stopwatch{q, clock.Real().Now(), q.waited()}
}

// took is the time since the start.
func (w stopwatch) took() time.Duration {
	return clock.Since(clock.Real(), w.start) - (w.queue.waited() - w.waited)
}
