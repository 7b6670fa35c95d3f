package lease

import (
	"sync/atomic"
	"time"

	"pipeline/engine/clock"
)

// ServerTime is the server's clock as a consumer knows it: what the last renewal of
// its slot was told, and how much time has passed here since. An entry's id is a time
// of that clock, so that only that clock says how old the entry is: the one of this
// machine may be set, or be wrong by hours. It is never ahead of the server's, but for
// one that is set back, until the next renewal; and behind by no more than an answer
// took. It is safe for concurrent use.
type ServerTime struct {
	clock clock.Clock
	heard atomic.Pointer[heard]
}

// heard is what the server's clock showed, and this machine's when that was heard.
type heard struct{ server, here time.Time }

// NewServerTime returns the clock of a server of which nothing was heard.
func NewServerTime(c clock.Clock) *ServerTime { return &ServerTime{clock: c} }

// Hear sets it by what the server has just answered.
func (t *ServerTime) Hear(server time.Time) {
	if t != nil {
		t.heard.Store(&heard{server, t.clock.Now()})
	}
}

// Now is the server's time: this machine's while nothing was heard of the server.
func (t *ServerTime) Now() time.Time {
	h := t.heard.Load()
	if h == nil {
		return t.clock.Now()
	}
	return h.server.Add(max(0, clock.Since(t.clock, h.here)))
}
