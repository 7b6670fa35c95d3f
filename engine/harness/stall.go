package harness

import (
	"context"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
)

// Stall stops the worker as SIGSTOP does, for d or, where that is 0, until Resume:
// its goroutines and its clock stand still while everybody else's go on. What the
// server gave its reads it finds when it goes on. A worker that is gone or stalled
// already is left as it is.
func (w *Worker) Stall(ctx context.Context, d time.Duration) error {
	if w.Alive() && !w.stalled {
		w.freeze(d)
	}
	return w.harness.Settle(ctx)
}

// Resume lets a stalled worker go on, as SIGCONT does: its clock jumps to the
// time, and what was due meanwhile is due now.
func (w *Worker) Resume(ctx context.Context) error {
	w.goOn()
	return w.harness.Settle(ctx)
}

// WorkerOf is the worker that calls a handler with ctx, nil outside of one.
func WorkerOf(ctx context.Context) *Worker {
	w, _ := ctx.Value(workerKey{}).(*Worker)
	return w
}

// Stalled reports whether the worker stands still.
func (w *Worker) Stalled() bool { return w.stalled }

// Pause is a time for which a worker stood still.
type Pause struct {
	From time.Time
	// To is zero while it lasts.
	To time.Time
}

// Pauses are the stalls of the worker, in order.
func (w *Worker) Pauses() []Pause { return slices.Clone(w.stalls) }

// Jump sets the wall clock of the worker's machine forward by d, or back where d
// is negative. Its timers run on as they are. What it reckons with times of both
// sides of the jump is wrong by d, unless Config.Monotonic is set: then it is right,
// as in a process whose clock is set, but for what it reads off the wall clock alone.
func (w *Worker) Jump(d time.Duration) { w.skew += d }

func (w *Worker) freeze(d time.Duration) {
	w.stalled = true
	w.stalls = append(w.stalls, Pause{From: w.harness.Now()})
	w.harness.turns.Freeze(w.name)
	if d > 0 {
		w.wake = w.harness.time.AfterFunc(d, w.goOn)
	}
}

// goOn ends a stall, if there is one. It is called at rest, by who has the turn,
// or by the clock.
func (w *Worker) goOn() {
	if w.wake != nil {
		w.wake.Stop()
		w.wake = nil
	}
	if !w.stalled {
		return
	}
	w.stalled = false
	w.stalls[len(w.stalls)-1].To = w.harness.Now()
	w.clock.Jump(w.harness.time.Now())
	w.harness.turns.Thaw(w.name)
}

// stallsAt stands still if a fault says so, and reports whether it did. The worker
// may be dead afterwards.
func (w *Worker) stallsAt(at Point, subscription string, ids []broker.ID) bool {
	f := w.harness.hit(Stall, at, subscription, ids)
	if f == nil {
		return false
	}
	w.freeze(f.For)
	w.harness.turns.Yield(clock.Rank{})
	return true
}
