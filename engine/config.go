package engine

import (
	"errors"
	"fmt"
	"log/slog"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// Config is what an Engine is made of.
type Config struct {
	// Pipeline is what to run. Required.
	Pipeline *spec.Pipeline
	// Broker holds the streams. Required, except for a dry-run. The engine does
	// not close it.
	Broker broker.Broker
	// Handlers are the compiled handlers by their labels. Required: one for each
	// handler that an enabled subscription uses.
	Handlers map[string]sandbox.Handler
	// Clock defaults to the machine's.
	Clock clock.Clock
	// Observer defaults to observe.None.
	Observer observe.Observer
	// Logger receives one line for each event; default: none.
	Logger *slog.Logger
	// Host is the part of consumer names that tells machines apart; default the
	// machine's name.
	Host string
	// KeepLogs hands what handlers log to the observer with each outcome. It is
	// meant for people who watch, not for production.
	KeepLogs *LogKeeper
}

// check fills in defaults and refuses what cannot run.
func (c *Config) check() error {
	if c.Pipeline == nil {
		return errors.New("engine: no pipeline")
	}
	if c.Clock == nil {
		c.Clock = clock.Real()
	}
	if c.Observer == nil {
		c.Observer = observe.None{}
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	for _, s := range c.Pipeline.Subscriptions() {
		if c.Handlers[s.Handler.Label] == nil {
			return fmt.Errorf("engine: subscription %s: handler %s was not given", s.Label, s.Handler.Label)
		}
		if err := checkSupported(s); err != nil {
			return err
		}
	}
	return nil
}

// checkSupported refuses what the language knows and the engine does not do
// yet: doing without it silently would break a promise.
func checkSupported(s *spec.Subscription) error {
	switch {
	case s.Idempotency != nil:
		return fmt.Errorf("engine: subscription %s: idempotency is not available in this version; remove the block", s.Label)
	case s.Workers.Hold:
		return fmt.Errorf("engine: subscription %s: while_retrying = \"hold\" is not available in this version; use \"pass\"", s.Label)
	}
	return nil
}
