package lease

import (
	"context"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/internal/health"
)

// task is something that is renewed again and again: at its intervals while the
// server answers, else with the pauses of one who waits for a server.
type task struct {
	due  time.Time
	part *health.Part
	// back ends a pause early; nil where nothing does.
	back <-chan struct{}
}

// ready reports whether the task is to be done now.
func (t *task) ready(now time.Time) bool {
	if now.Before(t.due) {
		return false
	}
	if t.part.Failing() {
		if wait := t.part.Turn(); wait > 0 {
			t.due = now.Add(wait)
			return false
		}
	}
	return true
}

// done notes what came of the task, which began at a time.
func (t *task) done(began time.Time, answered bool, every time.Duration) {
	t.due, t.back = began.Add(every), nil
	if !answered && t.part.Failing() {
		var pause time.Duration
		pause, t.back = t.part.Pause()
		t.due = began.Add(pause)
	}
}

// leave ends the pause of a task that has nothing to do any more. Whether the server
// is back others find out.
func (t *task) leave(now time.Time, every time.Duration) {
	if t.part.Failing() {
		t.part.Leave()
		t.due, t.back = now.Add(every), nil
	}
}

// look ends the pause where somebody reached the server meanwhile.
func (t *task) look(now time.Time) {
	select {
	case <-t.back:
		t.part.Woken()
		t.due, t.back = now, nil
	default:
	}
}

// glance is how often a pause is looked at: whether it is over already.
const glance = time.Second

// until is how long there is nothing to do.
func (k *Keeper) until() time.Duration {
	next := k.name.due
	if k.follows > 0 && k.entries.due.Before(next) {
		next = k.entries.due
	}
	d := max(next.Sub(k.Clock.Now()), time.Millisecond)
	if k.name.back != nil || k.entries.back != nil {
		return min(d, glance)
	}
	return d
}

// sleep sleeps until something may be to be renewed, or ctx is done.
func (k *Keeper) sleep(ctx context.Context) error {
	due := make(chan struct{})
	k.mu.Lock()
	timer := k.Clock.AfterFunc(k.until(), func() {
		k.mu.Lock()
		k.waiting = false
		k.mu.Unlock()
		close(due)
	})
	k.waiting = true
	k.mu.Unlock()
	defer timer.Stop()
	err := clock.Wait(ctx, due)
	now := k.Clock.Now()
	k.name.look(now)
	k.entries.look(now)
	return err
}
