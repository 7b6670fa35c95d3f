package settle_test

import (
	"errors"
	"strings"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// bury is what the engine does: the action becomes a letter.
func bury(it *batch.Item) {
	why := it.Outcome.Explain()
	why.Dead, why.Reason = true, "body_missing"
	it.Action = batch.Action{Verb: batch.Step, Publish: []broker.Add{{Stream: "dead"}}}
}

// An entry that was trimmed while it ran and is to be tried again becomes a letter,
// whether that is known before its wait is written or found out by it.
func TestAFailedAttemptOfWhatWasTrimmedWhileItRanBecomesALetter(t *testing.T) {
	for _, known := range []bool{true, false} {
		b := newBench(t, batch.Wait, batch.Ack)
		b.settler.Bury = bury
		if known {
			b.item(1).SetLease(batch.BodyGone)
		}
		b.server.addErrs = []error{
			&broker.Error{Op: "add", Kind: broker.ErrUnavailable}, &broker.Error{Op: "add", Kind: broker.ErrOutOfMemory},
		}
		b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
			res := allDone(s)
			if n == 1 && !known {
				res.Waits[0] = broker.Gone
			}
			return res, nil
		}
		b.run()
		if len(b.server.added) != 1 || b.server.added[0].Stream != "dead" {
			t.Fatalf("known %v: added %v", known, b.server.added)
		}
		if len(b.settled) != 2 || !b.settled[1].Dead || b.held.Count() != 0 || len(b.fatal) != 0 {
			t.Errorf("known %v: observed %+v, %d held, fatal %v", known, b.settled, b.held.Count(), b.fatal)
		}
		expect(t, "events", b.events, []observe.EventName{observe.EventBodyMissing})
	}
}

func TestALetterThatCannotBeWrittenEndsTheSubscriptionAndIsToldOf(t *testing.T) {
	b := newBench(t, batch.Wait)
	b.settler.Bury = bury
	b.item(1).SetLease(batch.BodyGone)
	b.server.addErrs = []error{&broker.Error{Op: "add", Stream: "dead", Kind: broker.ErrWrongType}}
	b.run()
	if len(b.fatal) != 1 || !errors.Is(b.fatal[0], broker.ErrWrongType) || b.held.Count() != 0 {
		t.Errorf("fatal %v, %d held", b.fatal, b.held.Count())
	}
	expect(t, "events", b.events, []observe.EventName{observe.EventBodyMissing})
}

// What no waiting mends ends the subscription, and the entry stays pending; what
// passes is settled again.
func TestWhatTheServerRefusesForGood(t *testing.T) {
	for _, c := range []struct {
		kind  error
		fatal bool
	}{
		{broker.ErrWrongType, true}, {broker.ErrNoPermission, true}, {broker.ErrUnsupported, true},
		{broker.ErrOutOfMemory, false}, {nil, false},
	} {
		b := newBench(t, batch.Step, batch.Step, batch.Ack)
		b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
			res := allDone(s)
			if n == 1 {
				res.Steps[0] = broker.StepResult{Status: broker.Refused, Err: &broker.Error{Op: "publish", Stream: "out", Kind: c.kind}}
			}
			return res, nil
		}
		b.run()
		if got := len(b.fatal) == 1; got != c.fatal || b.held.Count() != 0 {
			t.Errorf("%v: fatal %v, %d held", c.kind, b.fatal, b.held.Count())
		}
		if c.fatal {
			expect(t, "settled", b.results(), []string{"2-0 ack", "3-0 ack"})
			if b.settler.Left() != 1 || !strings.Contains(b.fatal[0].Error(), "1-0 stays pending: publish out: ") {
				t.Errorf("left %d, error %v", b.settler.Left(), b.fatal[0])
			}
		} else if len(b.settled) != 3 {
			t.Errorf("%v: settled %v", c.kind, b.results())
		}
	}
}

// A settlement that was sent again is what it was, unless somebody has the entry
// or could have had it since.
func TestASettlementSentAgainIsReportedAsWhatItWas(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*bench)
		want   string
	}{
		"nobody has it":        {func(*bench) {}, "1-0 ack"},
		"another entry waits":  {func(b *bench) { b.server.pending = []broker.Pending{{ID: id(7)}} }, "1-0 ack"},
		"somebody has it":      {func(b *bench) { b.server.pending = []broker.Pending{{ID: id(1), Consumer: "d"}} }, "1-0 stale"},
		"it was taken before":  {func(b *bench) { b.item(1).SetLease(batch.Taken) }, "1-0 stale"},
		"others could have it": {func(b *bench) { b.settler.MinIdle = time.Nanosecond }, "1-0 stale"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, batch.Step)
			b.settler.MinIdle = time.Hour
			c.change(b)
			b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
				if n == 1 {
					return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrUnavailable}
				}
				return broker.SettleResult{Steps: []broker.StepResult{{Status: broker.NotOwned}}}, nil
			}
			b.run()
			expect(t, "observed", b.results(), []string{c.want})
		})
	}
}

// Renewals take the lock, and must not wait for a settlement whose connection is
// dead.
func TestASettlementThatHangsHoldsNoRenewalUp(t *testing.T) {
	b := newBench(t, batch.Wait)
	free := make(chan bool, 1)
	b.server.answer = func(_ int, s *broker.Settlement) (broker.SettleResult, error) {
		go func() {
			b.settler.Waits.Lock(t.Context())
			b.settler.Waits.Unlock()
			free <- true
		}()
		select {
		case <-free:
		case <-clock.Real().NewTimer(time.Minute).C():
			t.Error("the lock is held while the server is asked")
		}
		return allDone(s), nil
	}
	b.run()
}
