package reader

import (
	"context"
	"sync"
	"time"

	"pipeline/engine/clock"
)

// alarm lets one goroutine sleep until it is poked or its timer fires. Whether
// it sleeps is exact: from the moment that it is poked it no longer does, long
// before it runs, so that an observer never takes a sleeper for idle that has
// something to do.
type alarm struct {
	timer clock.Timer
	wake  chan struct{}

	mu       sync.Mutex
	sleeping bool
	poked    bool
	// turns counts how often it fell asleep or woke.
	turns uint64
}

// newAlarm returns an alarm on a clock.
func newAlarm(c clock.Clock) *alarm {
	a := &alarm{wake: make(chan struct{}, 1)}
	a.timer = c.AfterFunc(time.Hour, a.poke)
	return a
}

// poke wakes the sleeper, or keeps it from falling asleep the next time. It is
// safe for concurrent use and never blocks.
func (a *alarm) poke() {
	a.mu.Lock()
	defer a.mu.Unlock()
	if !a.sleeping {
		a.poked = true
		return
	}
	a.sleeping = false
	a.turns++
	a.wake <- struct{}{}
}

// sleep sleeps for d, or until somebody pokes or ctx is done.
func (a *alarm) sleep(ctx context.Context, d time.Duration) {
	a.timer.Reset(d)
	a.mu.Lock()
	if a.poked {
		a.poked = false
		a.mu.Unlock()
		return
	}
	a.sleeping = true
	a.turns++
	a.mu.Unlock()
	clock.Until(ctx, func() bool { return !a.asleep() || ctx.Err() != nil })
	select {
	case <-a.wake:
	case <-ctx.Done():
		a.mu.Lock()
		if !a.sleeping {
			<-a.wake // the poke that came meanwhile
		}
		a.sleeping = false
		a.mu.Unlock()
	}
}

// count is how often it fell asleep or woke.
func (a *alarm) count() uint64 {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.turns
}

// asleep reports whether the goroutine sleeps with nothing to do.
func (a *alarm) asleep() bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.sleeping
}

// stop stops the timer.
func (a *alarm) stop() { a.timer.Stop() }
