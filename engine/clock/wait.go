package clock

import (
	"context"
	"sync"
	"sync/atomic"
	"time"
)

// Until waits for ready and the turn, where the context has Turns. Elsewhere it
// returns at once: what follows it waits by itself.
func Until(ctx context.Context, ready func() bool) { TurnsOf(ctx).Until(ready) }

// Wait waits until c is closed, or until ctx is done and returns its error then.
// c carries no values.
func Wait(ctx context.Context, c <-chan struct{}) error {
	if t := TurnsOf(ctx); t != nil {
		t.Until(func() bool { return closed(c) || ctx.Err() != nil })
		return ctx.Err()
	}
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func closed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// Nap sleeps for d, or until wake is closed; woken reports that it was. When ctx
// is done first it returns ctx's error. A nil wake is a plain sleep.
func Nap(ctx context.Context, c Clock, d time.Duration, wake <-chan struct{}) (woken bool, err error) {
	if d <= 0 {
		return false, ctx.Err()
	}
	if t := TurnsOf(ctx); t != nil {
		over := false
		timer := c.AfterFunc(d, func() { over = true })
		defer timer.Stop()
		t.Until(func() bool { return over || closed(wake) || ctx.Err() != nil })
		return !over && closed(wake), ctx.Err()
	}
	timer := c.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C():
		return false, nil
	case <-wake:
		return true, nil
	case <-ctx.Done():
		return false, ctx.Err()
	}
}

// Sleep waits for d or until ctx is done, whichever is first, and returns
// ctx's error in the second case. A d of zero or less returns at once.
func Sleep(ctx context.Context, c Clock, d time.Duration) error {
	_, err := Nap(ctx, c, d, nil)
	return err
}

// Group is a sync.WaitGroup whose goroutines take part in the turns of their
// context, if it has any. The zero Group is ready.
type Group struct {
	all   sync.WaitGroup
	alive atomic.Int64
}

// Go starts f; name tells it apart from others in messages.
func (g *Group) Go(ctx context.Context, name string, f func()) {
	t := TurnsOf(ctx)
	if t == nil {
		g.all.Go(f)
		return
	}
	g.alive.Add(1)
	g.all.Add(1)
	t.Go(name, func() {
		f()
		g.alive.Add(-1)
		g.all.Done()
	})
}

// Wait waits until all of them have returned.
func (g *Group) Wait(ctx context.Context) {
	Until(ctx, func() bool { return g.alive.Load() == 0 })
	g.all.Wait()
}

// Mutex is a sync.Mutex that may be held while its holder waits for its turn.
// The zero Mutex is unlocked.
type Mutex struct {
	mu   sync.Mutex
	held atomic.Bool
}

// Lock locks.
func (m *Mutex) Lock(ctx context.Context) {
	if t := TurnsOf(ctx); t != nil {
		t.Until(func() bool { return !m.held.Load() })
	}
	m.mu.Lock()
	m.held.Store(true)
}

// Unlock unlocks.
func (m *Mutex) Unlock() {
	m.held.Store(false)
	m.mu.Unlock()
}
