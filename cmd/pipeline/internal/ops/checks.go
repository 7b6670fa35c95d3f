package ops

import (
	"errors"
	"fmt"
	"time"

	"pipeline/cmd/pipeline/internal/metrics"
	"pipeline/engine"
	"pipeline/engine/clock"
	"pipeline/engine/poll"
)

// How long something may have been silent.
const (
	// Stalled: an engine that could not be looked at for this long stands still.
	Stalled = 30 * time.Second
	// Silent: a server that has not answered for this long is away.
	Silent = 10 * time.Second
)

// Beating fails where the engine has not been seen going on for Stalled. A server
// that is away does not matter to it: a restart would not bring it back.
func Beating(m *metrics.Metrics, c clock.Clock) Check {
	return Check{"scheduler", func() error {
		if d := clock.Since(c, m.LastBeat()); d >= Stalled {
			return fmt.Errorf("it has stood still for %v", d.Round(time.Second))
		}
		return nil
	}}
}

// Answering fails where the server has not answered the poller for Silent.
func Answering(p *poll.Poller, c clock.Clock) Check {
	return Check{"redis", func() error {
		found := p.Latest()
		if found.Answered.IsZero() {
			if found.Err != nil {
				return found.Err
			}
			return errors.New("it was not asked yet")
		}
		if d := clock.Since(c, found.Answered); d > Silent {
			return fmt.Errorf("it has not answered for %v: %w", d.Round(time.Second), errOr(found.Err))
		}
		return nil
	}}
}

func errOr(err error) error {
	if err == nil {
		return errors.New("no look has ended since")
	}
	return err
}

// NotDraining fails once the process has begun to stop.
func NotDraining(m *metrics.Metrics) Check {
	return Check{"not draining", func() error {
		if m.State() == metrics.Draining {
			return errors.New("the process finishes what it has begun and stops")
		}
		return nil
	}}
}

// Begun fails until every subscription reads, or has failed for good.
func Begun(e *engine.Engine) Check {
	return Check{"started", func() error {
		select {
		case <-e.Ready():
			return nil
		default:
			return errors.New("not all subscriptions have begun to read")
		}
	}}
}

// Subscriptions fails where one has failed for good: its entries stay where they
// are until the process is started again.
func Subscriptions(e metrics.Engine) Check {
	return Check{"subscriptions", func() error {
		var failed []error
		for _, s := range e.Snapshot().Subscriptions {
			if s.Err != nil {
				failed = append(failed, fmt.Errorf("%s: %w", s.Label, s.Err))
			}
		}
		return errors.Join(failed...)
	}}
}
