package bench

import "time"

// Looks at what is held, and for how many of them it may stay the same before
// that counts as all that the process takes.
const (
	holdLook   = 20 * time.Millisecond
	holdSteady = 100
)

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
		if now >= k.job.Total || steady >= holdSteady {
			k.say(Message{Said: saidDone, Events: k.tally.events(), Held: now, Use: k.meter.use(k.meter.read())})
			return nil
		}
	}
}
