package cli

import (
	"context"
	"runtime"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/observe"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
)

// blank is a server of which there is nothing to see.
type blank struct{}

func (blank) Survey(context.Context, []broker.Ask) (broker.Survey, error) {
	return broker.Survey{}, nil
}

func TestThePollerLooksWhereTheEngineKnowsOfAChange(t *testing.T) {
	for event, looks := range map[observe.EventName]bool{
		observe.EventGroupCreated: true, observe.EventGroupRestored: true, observe.EventReading: true, observe.EventFailed: true,
		observe.EventServerLost: true, observe.EventServerBack: true, observe.EventDuplicate: false, observe.EventDeadLettered: false,
	} {
		c := clock.NewVirtual(time.UnixMilli(1_700_000_000_000))
		p := poll.New(&spec.Pipeline{}, blank{}, c, func() float64 { return 0.5 })
		ctx, cancel := context.WithCancel(t.Context())
		var running sync.WaitGroup
		looked := p.Changed()
		running.Go(func() { p.Run(ctx) })
		<-looked
		turns{observe.None{}, p}.Event(observe.Event{Name: event})
		soon := func() bool {
			due, sleeps := c.Next()
			return sleeps && due.Sub(c.Now()) < poll.Every/2
		}
		for end := time.Now().Add(20 * time.Second); looks && !soon() && time.Now().Before(end); {
			runtime.Gosched()
		}
		if soon() != looks {
			t.Errorf("%s: it looks soon: %t, want %t", event, !looks, looks)
		}
		cancel()
		running.Wait()
	}
}
