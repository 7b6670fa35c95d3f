// Package trim keeps streams within their declared retention, in small steps
// and beside the way of the entries.
package trim

import (
	"context"
	"errors"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Every is how often a stream is trimmed, on average. Retention is a bound on
// storage, not a schedule: entries may stay a little longer than declared.
const Every = 10 * time.Second

// stepsPerRound bounds the work of one round on one stream.
const stepsPerRound = 100

// Trimmer trims the streams of a pipeline.
type Trimmer struct {
	streams []*spec.Stream
	broker  broker.Broker
	clock   clock.Clock
	event   func(observe.Event)
	random  func() float64
	refused map[string]bool
	away    func() bool
}

// New returns a trimmer for the streams that declare a retention. random, in
// [0, 1), spreads its rounds; away reports that others wait for the server, which is
// then not asked.
func New(
	p *spec.Pipeline, b broker.Broker, c clock.Clock, random func() float64, away func() bool, event func(observe.Event),
) *Trimmer {
	t := &Trimmer{broker: b, clock: c, random: random, away: away, event: event, refused: make(map[string]bool)}
	for _, s := range p.Streams {
		if s.Retention != nil {
			t.streams = append(t.streams, s)
		}
	}
	return t
}

// Run trims until ctx is done.
func (t *Trimmer) Run(ctx context.Context) {
	if len(t.streams) == 0 {
		return
	}
	for clock.Sleep(ctx, t.clock, time.Duration((0.5+t.random())*float64(Every))) == nil {
		for _, s := range t.streams {
			if !t.away() {
				t.trim(ctx, s)
			}
		}
	}
}

// trim brings one stream within its bounds. Errors that pass are left to the
// next round; others are told once for each stream.
func (t *Trimmer) trim(ctx context.Context, s *spec.Stream) {
	for range stepsPerRound {
		n, err := t.broker.Trim(ctx, request(s))
		if err != nil {
			t.tell(ctx, s, err)
			return
		}
		if n == 0 {
			return
		}
	}
}

func request(s *spec.Stream) broker.TrimRequest {
	return broker.TrimRequest{
		Stream: s.Name, MaxLen: s.Retention.MaxLength, MaxAge: s.Retention.MaxAge, Protect: s.Retention.ProtectUnacknowledged,
	}
}

func (t *Trimmer) tell(ctx context.Context, s *spec.Stream, err error) {
	if ctx.Err() != nil || broker.Transient(err) || errors.Is(err, broker.ErrClosed) || t.refused[s.Name] {
		return
	}
	t.refused[s.Name] = true
	t.event(observe.Event{
		Name: observe.EventTrimRefused, Level: sandbox.Warn, Stream: s.Name, Err: err,
		Message: "the stream cannot be trimmed to its retention and keeps growing",
	})
}
