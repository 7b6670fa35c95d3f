package harness

import (
	"time"

	"pipeline/engine/clock"
)

// Die is Kill from within: for a handler, or for an operation of a server that
// Config.Wrap returned, which then has to return an error. The worker is dead from
// that instant.
func (w *Worker) Die() {
	if w.Alive() {
		w.die()
	}
}

// Pause is Stall from within, for d, which is positive: it returns when the worker
// goes on. The worker may be dead then.
func (w *Worker) Pause(d time.Duration) {
	if w.Alive() && !w.stalled {
		w.freeze(d)
		w.harness.turns.Yield(clock.Rank{})
	}
}
