// Package health is what the parts of an engine together know of the server:
// whether it answers. One of them notices that it is gone and all of them
// that it is back; a person is told once each time.
package health

import (
	"context"
	"sync"
	"time"

	"pipeline/engine/clock"
	"pipeline/engine/internal/retry"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// Server is the shared knowledge. It is safe for concurrent use.
type Server struct {
	clock clock.Clock
	event func(observe.Event)
	// random spreads what many processes would do at once: see Random.
	random func() float64

	mu   sync.Mutex
	down bool
	lost time.Time
	back chan struct{}
}

// Random is a random number in [0, 1).
func (s *Server) Random() float64 { return s.random() }

// New returns a server that is taken to be up. random is in [0, 1).
func New(c clock.Clock, random func() float64, event func(observe.Event)) *Server {
	return &Server{clock: c, event: event, random: random, back: make(chan struct{})}
}

// Failed records that an operation did not reach the server.
func (s *Server) Failed(err error) {
	s.mu.Lock()
	first := !s.down
	if first {
		s.down, s.lost = true, s.clock.Now()
	}
	s.mu.Unlock()
	if first {
		s.event(observe.Event{
			Name: observe.EventServerLost, Level: sandbox.Warn, Err: err,
			Message: "the server is away; waiting for it",
		})
	}
}

// OK records that the server answered.
func (s *Server) OK() {
	s.mu.Lock()
	if !s.down {
		s.mu.Unlock()
		return
	}
	s.down = false
	away := clock.Since(s.clock, s.lost)
	close(s.back)
	s.back = make(chan struct{})
	s.mu.Unlock()
	s.event(observe.Event{
		Name: observe.EventServerBack, Level: sandbox.Info,
		Message: "the server is back after " + away.Round(time.Millisecond).String(),
	})
}

// Down reports whether the server is away.
func (s *Server) Down() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// Wait waits before the next attempt: as long as the backoff says, or until
// somebody reached the server again, unless that cut the last wait short too.
func (s *Server) Wait(ctx context.Context, b *retry.Backoff) error {
	s.mu.Lock()
	back := s.back
	s.mu.Unlock()
	if b.Cut {
		back = nil
	}
	b.Cut = false
	woken, err := clock.Nap(ctx, s.clock, b.Next(s.random()), back)
	b.Cut = woken
	return err
}
