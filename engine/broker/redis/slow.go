package redis

import (
	"sync/atomic"
	"time"

	"pipeline/engine/clock"
)

// A deadline for an answer says that the server is silent, not that the answer
// is long: sixteen megabytes over a slow network take longer than any silence
// that is to be noticed soon, and a reader that gave them up would ask for them
// again for ever. So the time that an answer may take begins anew with every
// progress bytes of it, for up to mostPatience. A server that sends a little now and
// then makes no such progress and is taken for dead as before.
const (
	progress     = 64 << 10
	mostPatience = time.Minute
)

// patience is the deadline of what is being read on one connection.
type patience struct {
	clock clock.Clock
	// allowed is how long until the deadline it was when it was set, 0 for no
	// deadline; began is when that was (nanoseconds of Unix time), got how many
	// bytes came since the deadline was moved.
	allowed, began, got atomic.Int64
}

// set notes a deadline as the library sets it.
func (p *patience) set(t time.Time) {
	p.got.Store(0)
	if t.IsZero() {
		p.allowed.Store(0)
		return
	}
	now := p.clock.Now()
	p.allowed.Store(int64(t.Sub(now)))
	p.began.Store(now.UnixNano())
}

// came notes bytes that were read, and returns the new deadline if there is one.
func (p *patience) came(n int) (time.Time, bool) {
	allowed := time.Duration(p.allowed.Load())
	if allowed <= 0 || p.got.Add(int64(n)) < progress {
		return time.Time{}, false
	}
	p.got.Store(0)
	now := p.clock.Now()
	if now.UnixNano()-p.began.Load() >= int64(mostPatience) {
		return time.Time{}, false
	}
	return now.Add(allowed), true
}
