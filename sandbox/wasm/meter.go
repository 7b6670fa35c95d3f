package wasm

import (
	"context"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/outcome"
)

// slice is how much fuel passes between two looks at the clock and the limits.
// It bounds for how long a module can keep the garbage collector, and with it
// the process, waiting: well under a millisecond for ordinary code, some seven
// where every instruction misses the cache.
const slice = 1 << 16

// meter bounds one call at a time. It belongs to the goroutine of the call:
// the module itself asks, so nothing has to look from outside.
type meter struct {
	clock    clock.Clock
	maxFuel  int64
	timeout  time.Duration
	ctx      context.Context
	used     int64 // what was given and used up
	given    int64 // the slice that the module has now
	looked   int64 // used at the last look
	deadline time.Time

	kind    outcome.FailureKind
	message string
}

// stopped is what a host function panics with to end a call.
type stopped struct{}

// Error implements error: the engine hands back errors as they are.
func (stopped) Error() string { return "stopped" }

// begin starts a call and returns the first slice of fuel.
func (m *meter) begin(ctx context.Context) int64 {
	m.ctx, m.deadline = ctx, time.Time{}
	m.kind, m.message = "", ""
	return m.restart()
}

// restart counts from zero again, within the same time.
func (m *meter) restart() int64 {
	m.used, m.looked = 0, 0
	m.given = min(slice, m.maxFuel)
	return m.given
}

// end ends the call; left is what is left of the slice.
func (m *meter) end(left int64) {
	if m.given > 0 { // a call that refuel has ended is settled
		m.settle(left)
	}
	m.used = min(m.used, m.maxFuel)
	m.ctx = nil
}

// settle adds up what was used of the slice.
func (m *meter) settle(left int64) {
	m.used += max(m.given-left, 0)
	m.given = 0
}

// refuel is called when the slice is used up. It returns the next one, or does
// not return.
func (m *meter) refuel(left int64) int64 {
	m.settle(left)
	m.look()
	m.given = min(slice, m.maxFuel-m.used)
	return m.given
}

// charge adds fuel that the host has used for the module.
func (m *meter) charge(n int64) {
	m.used += n
	if m.used-m.looked >= slice || m.used > m.maxFuel {
		m.look()
	}
}

// look ends the call if it has to end. The time of a call counts from the
// first look, so that a short call reads no clock.
func (m *meter) look() {
	m.looked = m.used
	if m.used > m.maxFuel {
		m.stop(outcome.FailInstructions, "")
	}
	if m.ctx.Err() != nil {
		m.stop(outcome.FailCanceled, "")
	}
	now := m.clock.Now()
	if m.deadline.IsZero() {
		m.deadline = now.Add(m.timeout)
	} else if now.After(m.deadline) {
		m.stop(outcome.FailTimeout, "")
	}
}

// stop ends the call; it does not return. The first reason counts.
func (m *meter) stop(kind outcome.FailureKind, message string) {
	if m.kind == "" {
		m.kind, m.message = kind, message
	}
	panic(stopped{})
}
