package lease

import (
	"sync"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/internal/health"
)

// Permit is the right of one consumer to claim. It is granted for as long as the
// consumer's own announcement lives, once everyone who is alive in the group
// renews often enough for it, and rests after an interruption. It is safe for
// concurrent use; a nil Permit always allows.
type Permit struct {
	// Server and MinIdle, where they are set, have it rest while a server that was away
	// may not have heard of others: their entries look idle for as long.
	Server  *health.Server
	MinIdle time.Duration

	clock clock.Clock

	mu sync.Mutex
	// until and resumes hold the clock's monotonic time, where it has one: a wall
	// clock that is set back must not keep anyone from claiming.
	until, resumes time.Time
}

// NewPermit returns a permit that is not granted yet.
func NewPermit(c clock.Clock) *Permit { return &Permit{clock: c} }

// Grant allows claims until then.
func (p *Permit) Grant(until time.Time) { p.set(&p.until, until) }

// Revoke allows no claims until the next Grant.
func (p *Permit) Revoke() { p.set(&p.until, time.Time{}) }

// Pause allows no claims for d, whatever is granted.
func (p *Permit) Pause(d time.Duration) { p.set(&p.resumes, p.clock.Now().Add(d)) }

func (p *Permit) set(which *time.Time, to time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	*which = to
}

// Allows reports whether it may be claimed now. A grant also ends by the wall
// clock, which runs on while the machine is suspended.
func (p *Permit) Allows() bool {
	if p == nil {
		return true
	}
	if p.Server != nil && p.Server.Renewing(p.MinIdle/3, Caution(p.MinIdle)) {
		return false
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.clock.Now()
	return !now.Before(p.resumes) && now.Before(p.until) && now.Round(0).Before(p.until.Round(0))
}

// granted reports whether it may be claimed but for a pause.
func (p *Permit) granted() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.clock.Now().Before(p.until)
}
