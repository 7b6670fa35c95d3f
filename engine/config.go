package engine

import (
	"context"
	crypto "crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"

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
	// BeforeReading is called when the groups exist and nothing has been read. Where its
	// error is one that passes (broker.Transient) it is waited for the server and called
	// again; any other ends Run, which returns it. Default: none.
	BeforeReading func(ctx context.Context) error
	// Tracer makes spans of what is done with entries; default: none are made.
	Tracer observe.Tracer
	// Chance is what is otherwise random. Only tests that must run the same way
	// every time set it.
	Chance Chance
}

// Chance is where an engine takes what is left to chance. The zero Chance is
// the machine's.
type Chance struct {
	// Token returns the part of a consumer name that is new each time that the
	// subscription with the label starts; default random. A token must never
	// return: two processes would share a name.
	Token func(subscription string) string
	// Random returns numbers in [0, 1), which spread retries, attempts to reach
	// the server and trims; default random. It is called by many goroutines.
	Random func() float64
	// FixedLanes brings a key to the same worker in every process; by default
	// processes differ.
	FixedLanes bool
}

func (c *Chance) fill() {
	if c.Token == nil {
		c.Token = func(string) string {
			var token [4]byte
			_, _ = crypto.Read(token[:]) // never fails
			return hex.EncodeToString(token[:])
		}
	}
	if c.Random == nil {
		c.Random = rand.Float64
	}
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
	c.Chance.fill()
	for _, s := range c.Pipeline.Subscriptions() {
		if c.Handlers[s.Handler.Label] == nil {
			return fmt.Errorf("engine: subscription %s: handler %s was not given", s.Label, s.Handler.Label)
		}
	}
	return nil
}
