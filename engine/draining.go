package engine

import (
	"context"
	"sync/atomic"
	"time"
)

// bounded is a context that gets a deadline once a drain begins. It does not end
// by it: it tells those who wait for a server until when an answer is of use, so
// that a connection which hangs does not outlast the drain.
type bounded struct {
	context.Context

	end atomic.Pointer[time.Time]
}

// Deadline implements context.Context.
func (b *bounded) Deadline() (end time.Time, ok bool) {
	if at := b.end.Load(); at != nil {
		return *at, true
	}
	return time.Time{}, false
}

// until sets the deadline.
func (b *bounded) until(end time.Time) { b.end.Store(&end) }
