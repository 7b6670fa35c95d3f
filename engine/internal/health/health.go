// Package health is what the parts of an engine together know of the server:
// whether it answers. One of them notices that it is gone and all of them
// that it is back; a person is told once each time.
//
// While the server is away, the parts of a process together ask for it as often
// as one of them would: many processes that lose a server at once, each with many
// parts, must not keep it from coming back.
package health

import (
	"errors"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
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

	// epoch counts interruptions: see Epoch.
	epoch atomic.Uint64

	mu   sync.Mutex
	down bool
	lost time.Time
	// failing is how many parts have failed and not succeeded since.
	failing int
	// told are the kinds of trouble that a person knows of, until it is over.
	told map[error]bool
	// back is closed whenever somebody succeeds while others fail.
	back chan struct{}
	// next is when a part may ask the server again that is away, by the pauses of
	// pace: those of one part, whichever it is.
	next time.Time
	pace *retry.Backoff
	// within bounds the pauses between attempts: see Within.
	within time.Duration
	// silent is since when nobody has got through, zero where the last one did.
	silent time.Time
	// silences are those that were, each longer than those after it.
	silences []silence
}

// Renewing reports whether others may not have renewed yet what they hold: nobody here
// has got through for longer than they may go without, or it is not as long as they
// need since somebody has.
func (s *Server) Renewing(without, need time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.silent.IsZero() && clock.Since(s.clock, s.silent) > without {
		return true
	}
	return slices.ContainsFunc(s.silences, func(was silence) bool {
		return was.length > without && clock.Since(s.clock, was.end) < need
	})
}

// silence is a time in which nobody got through.
type silence struct {
	end    time.Time
	length time.Duration
}

// mostSilences bounds what is remembered of silences whose lengths fall all the time.
const mostSilences = 64

// heard records that somebody got through. The caller holds mu.
func (s *Server) heard() {
	if s.silent.IsZero() {
		return
	}
	now := silence{s.clock.Now(), clock.Since(s.clock, s.silent)}
	s.silent = time.Time{}
	s.silences = slices.DeleteFunc(s.silences, func(was silence) bool { return was.length <= now.length })
	if s.silences = append(s.silences, now); len(s.silences) > mostSilences {
		s.silences = slices.Delete(s.silences, 0, 1)
	}
}

// Within has a server that is away asked for again after no more than d each time: as
// long as somebody needs to be back by then. A longer time than one that was given
// before changes nothing.
func (s *Server) Within(d time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.within = min(s.within, d)
}

// pause is the next pause of a backoff.
func (s *Server) pause(b *retry.Backoff) time.Duration {
	b.Max = s.within
	return b.Next(s.random())
}

// Random is a random number in [0, 1).
func (s *Server) Random() float64 { return s.random() }

// New returns a server that is taken to be up. random is in [0, 1).
func New(c clock.Clock, random func() float64, event func(observe.Event)) *Server {
	return &Server{
		clock: c, event: event, random: random,
		told: map[error]bool{}, back: make(chan struct{}), pace: retry.NewBackoff(), within: retry.NewBackoff().Max,
	}
}

// Epoch changes whenever what is known of pending entries may hold no longer:
// when the server was lost, because another one, without the last writes, may
// answer after that, and when a group was. An id that was read before it may name
// another entry after it.
func (s *Server) Epoch() uint64 { return s.epoch.Load() }

// GroupLost records that a group was not there.
func (s *Server) GroupLost() { s.epoch.Add(1) }

// Down reports whether the server is away, for some part at least.
func (s *Server) Down() bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.down
}

// troubles are the kinds of trouble that a person is told of, each once.
var troubles = []struct {
	kind error
	text string
}{
	{broker.ErrAuth, "the server refuses the credentials; they may be changing, so they are tried again"},
	{broker.ErrOutOfMemory, "the server is out of memory; waiting until it takes writes again"},
	{broker.ErrUnavailable, "the server is away; waiting for it"},
}

// trouble is the kind of an error and the words for it.
func trouble(err error) (kind error, text string) { //nolint:revive,staticcheck // the kind is a result like the text, not a failure
	for _, t := range troubles {
		if errors.Is(err, t.kind) {
			return t.kind, t.text
		}
	}
	last := troubles[len(troubles)-1]
	return last.kind, last.text
}

// failed records that a part did not get through; first, that it did before.
func (s *Server) failed(err error, first bool) {
	kind, text := trouble(err)
	s.mu.Lock()
	if s.silent.IsZero() {
		s.silent = s.clock.Now()
	}
	if first {
		s.failing++
		s.epoch.Add(1)
	}
	if !s.down {
		s.down, s.lost, s.next = true, s.clock.Now(), time.Time{}
		s.pace.Reset()
	}
	known := s.told[kind]
	s.told[kind] = true
	s.mu.Unlock()
	if !known {
		s.event(observe.Event{Name: observe.EventServerLost, Level: sandbox.Warn, Err: err, Message: text})
	}
}

// ok records that a part got through; failed, that it did not before.
func (s *Server) ok(failed bool) {
	s.mu.Lock()
	if failed {
		s.failing--
	}
	if !s.down {
		s.mu.Unlock()
		return
	}
	s.heard() // before anybody is woken who may claim
	s.pace.Reset()
	s.next = time.Time{}
	close(s.back)
	s.back = make(chan struct{})
	s.over()
}

// over tells that the server is back where nobody fails any more. The caller holds mu,
// which it gives up.
func (s *Server) over() {
	over := s.failing == 0
	away := clock.Since(s.clock, s.lost)
	if over {
		s.down = false
		clear(s.told)
	}
	s.mu.Unlock()
	if over {
		s.event(observe.Event{
			Name: observe.EventServerBack, Level: sandbox.Info,
			Message: "the server is back after " + away.Round(time.Millisecond).String(),
		})
	}
}

// left records that a part which failed asks no more. Where somebody else has got
// through since the last failure, the server is back; otherwise others will find out.
func (s *Server) left() {
	s.mu.Lock()
	s.failing--
	if !s.down || !s.silent.IsZero() {
		s.mu.Unlock()
		return
	}
	s.over()
}

// turn is zero where a part may ask the server now, else how long it has to wait
// because another part has asked.
func (s *Server) turn(slow time.Duration) time.Duration {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.down {
		return 0
	}
	now := s.clock.Now()
	if wait := s.next.Sub(now); wait > 0 {
		return wait
	}
	s.next = now.Add(slow + s.pause(s.pace))
	return 0
}
