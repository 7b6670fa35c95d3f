package bench

import (
	"context"
	"time"

	"pipeline/engine/clock"
)

// Looks at what is held, for how many of them it stays the same before that counts
// as all that the process takes, and for how many of them all of it is held before
// its memory is read: what the server has delivered is not in the process yet.
const (
	holdLook   = 20 * time.Millisecond
	holdSteady = 100
	holdAll    = 25
)

// While a process that is to hold entries warms up, its workers work for holdOpen,
// and then stand still until it takes no more, as looks holdFull apart tell.
const (
	holdOpen = 20 * time.Millisecond
	holdFull = 5 * time.Millisecond
)

// pulse has the workers stand still now and then until stop is called. What queues
// up behind them is worked off at once then, and the product has to see that before
// it takes many entries; without it, chance would say how many it takes.
func (k *child) pulse(s *side) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		defer k.gate.open()
		for clock.Sleep(ctx, k.clock, holdOpen) == nil {
			k.gate.close()
			for last, now := int64(-1), s.held(); now != last && clock.Sleep(ctx, k.clock, holdFull) == nil; {
				last, now = now, s.held()
			}
			k.gate.open()
		}
	}()
	return func() {
		cancel()
		<-stopped
	}
}

// hold waits until the process holds what it should, or takes no more.
func (k *child) hold(s *side, ended <-chan error) error {
	look := k.clock.NewTimer(holdLook)
	defer look.Stop()
	for last, steady := int64(0), 0; ; {
		select {
		case <-look.C():
			look.Reset(holdLook)
		case err := <-ended:
			return endedEarly(err)
		}
		now := s.held()
		if steady++; now != last {
			last, steady = now, 0
		}
		if now >= k.job.Total && steady >= holdAll || steady >= holdSteady {
			k.say(Message{Said: saidDone, Events: k.tally.events(), Held: now, Use: k.meter.use(k.meter.read())})
			return nil
		}
	}
}
