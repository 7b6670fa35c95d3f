package health

import (
	"context"
	"errors"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/retry"
)

// slowly is by how much longer it is waited after refused credentials: they do
// not come back as fast as a server, and a server may lock out who insists.
const slowly = time.Second

// Part is one of those who ask the server. The server is away as long as any of
// them fails: new connections may be refused while old ones work, as when a
// password was changed. It is used by one goroutine.
type Part struct {
	server  *Server
	backoff retry.Backoff
	failing bool
	// cut: the last wait was cut short, because somebody else succeeded. The
	// next one is not: where some of a server works and some does not, that would
	// be a loop at the pace of what works.
	cut bool
	// slow is added to waits.
	slow time.Duration
}

// Part returns a part that has not failed. Whoever has one calls Leave in the
// end.
func (s *Server) Part() *Part { return &Part{server: s, backoff: *retry.NewBackoff()} }

// Failed records that an operation did not reach the server.
func (p *Part) Failed(err error) {
	p.slow = 0
	if errors.Is(err, broker.ErrAuth) {
		p.slow = slowly
	}
	first := !p.failing
	p.failing = true
	p.server.failed(err, first)
}

// OK records that the server answered.
func (p *Part) OK() {
	failed := p.failing
	p.failing, p.cut, p.slow = false, false, 0
	p.backoff.Reset()
	p.server.ok(failed)
}

// Leave records that the part does not ask the server for now.
func (p *Part) Leave() {
	p.backoff.Reset()
	if p.failing {
		p.failing = false
		p.server.left()
	}
}

// Failing reports whether the last attempt failed.
func (p *Part) Failing() bool { return p.failing }

// Pause is how long to wait before the next attempt, and what ends that wait
// early: somebody else reached the server. Who is woken by it says so with Woken;
// who waited until the end asks Turn.
func (p *Part) Pause() (d time.Duration, back <-chan struct{}) {
	s := p.server
	s.mu.Lock()
	defer s.mu.Unlock()
	if back = s.back; p.cut {
		back = nil
	}
	p.cut = false
	return p.slow + s.pause(&p.backoff), back
}

// Woken records that the wait was ended early.
func (p *Part) Woken() { p.cut = true }

// Turn is zero where the part may ask the server now, else how much longer to wait:
// another part has asked in its place.
func (p *Part) Turn() time.Duration { return p.server.turn(p.slow) }

// Wait waits before the next attempt: as long as the backoff says, and until it
// is this part's turn; or until somebody reached the server again, unless that cut
// the last wait short too.
func (p *Part) Wait(ctx context.Context) error {
	for d, back := p.Pause(); d > 0; d = p.Turn() {
		woken, err := clock.Nap(ctx, p.server.clock, d, back)
		if woken {
			p.Woken()
		}
		if woken || err != nil {
			return err
		}
	}
	return nil
}
