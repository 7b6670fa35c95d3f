// Package clock is the only source of time in this module. Everything that
// waits, ages or measures takes a Clock, so that the same code runs on real
// time and, in tests, on a Virtual clock that stands still until it is moved.
//
// A clock that is moved by hand may only be moved once all has happened that
// could happen by then. Who waits therefore does so through this package (Wait,
// Sleep, Group, Mutex, …), which is how Turns know that everything rests, and
// how they make concurrent code run the same way every time.
package clock

import "time"

// Clock tells the time and wakes sleepers. All methods are safe for
// concurrent use.
type Clock interface {
	// Now is the current wall-clock time.
	Now() time.Time
	// NewTimer returns a timer that fires once, d from now. A d of zero or
	// less fires at once.
	NewTimer(d time.Duration) Timer
	// AfterFunc calls f once, d from now, on a goroutine of the clock's
	// choosing: f must not block.
	AfterFunc(d time.Duration, f func()) Timer
}

// Timer is a single pending wake-up.
type Timer interface {
	// C delivers the time at which the timer fired. It is nil for timers
	// made by AfterFunc.
	C() <-chan time.Time
	// Stop cancels the timer and reports whether it was still pending. After
	// Stop returns nothing is left to be read from C.
	Stop() bool
	// Reset arms the timer again, d from now, whether or not it had fired.
	Reset(d time.Duration)
}

// Since is the time that has passed on c since t.
func Since(c Clock, t time.Time) time.Duration {
	if _, ok := c.(realClock); ok {
		return time.Since(t) // which reads one of the machine's clocks and not both
	}
	return c.Now().Sub(t)
}

// Real is the machine's clock.
func Real() Clock { return realClock{} }

type realClock struct{}

func (realClock) Now() time.Time { return time.Now() }

func (realClock) NewTimer(d time.Duration) Timer {
	return realTimer{time.NewTimer(d)}
}

func (realClock) AfterFunc(d time.Duration, f func()) Timer {
	return realTimer{time.AfterFunc(d, f)}
}

// realTimer relies on Go 1.23's timers, whose Stop and Reset leave no stale
// value in the channel.
type realTimer struct{ t *time.Timer }

func (r realTimer) C() <-chan time.Time   { return r.t.C }
func (r realTimer) Stop() bool            { return r.t.Stop() }
func (r realTimer) Reset(d time.Duration) { r.t.Reset(d) }
