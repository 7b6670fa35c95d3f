package settle_test

import (
	"errors"
	"slices"
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// notOwned answers every step so.
func notOwned(_ int, s *broker.Settlement) (broker.SettleResult, error) {
	res := allDone(s)
	for i := range res.Steps {
		res.Steps[i].Status = broker.NotOwned
	}
	return res, nil
}

func TestAnAcknowledgementOfAnotherEpochIsFenced(t *testing.T) {
	for name, interrupt := range map[string]func(b *bench){
		"the server was lost": func(b *bench) { b.settler.Server.Part().Failed(errors.New("cut")) },
		"the group was lost":  func(b *bench) { b.settler.Server.GroupLost() },
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, batch.Ack, batch.Step)
			interrupt(b)
			b.server.answer = notOwned
			b.run()
			s := b.server.settles[0]
			if len(s.Acks) != 0 || len(s.Steps) != 2 || len(s.Steps[0].Publish) != 0 {
				t.Errorf("settlement: %+v", s)
			}
			expect(t, "observed", b.results(), []string{"1-0 stale", "2-0 stale"})
		})
	}
}

func TestNothingIsWrittenOfAnEntryThatWasReplaced(t *testing.T) {
	b := newBench(t, batch.Ack, batch.Step, batch.Wait, batch.Release, batch.Stop)
	b.settler.Server.GroupLost()
	for n := 1; n <= 5; n++ {
		if !b.held.Replace(&broker.Delivery{Entry: broker.Entry{ID: id(n), Fields: []broker.Field{{Name: "another"}}}}, b.settler.Server.Epoch()) {
			t.Fatalf("%d is not held", n)
		}
	}
	b.run()
	if s := b.server.settles[0]; len(s.Acks)+len(s.Steps)+len(s.Waits) != 0 || len(b.server.released) != 0 || len(b.fatal) != 0 {
		t.Errorf("settled %+v, released %v, fatal %v", s, b.server.released, b.fatal)
	}
	if n := b.held.Count(); n != 0 {
		t.Errorf("%d are held", n)
	}
	if slices.ContainsFunc(b.settled, func(o observe.Outcome) bool { return o.Result != observe.ResultStale }) {
		t.Errorf("observed %v", b.results())
	}
}

// After a lost answer the pending list is looked at a page at a time, and not at
// all once it does not answer.
func TestWhatWasWrittenBeforeTheAnswerWasLostIsLookedUpInPages(t *testing.T) {
	for name, c := range map[string]struct {
		err   error
		asked int
		want  observe.Result
	}{
		"answered": {nil, 1, observe.ResultAck},
		"hangs":    {&broker.Error{Op: "pending", Kind: broker.ErrUnavailable}, 1, observe.ResultStale},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, slices.Repeat([]batch.Verb{batch.Ack, batch.Step}, 50)...)
			b.server.pendingErr = c.err
			b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
				if n == 1 {
					return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrUnavailable}
				}
				return notOwned(n, s)
			}
			b.run()
			if b.server.asked != c.asked {
				t.Errorf("asked %d times about 100 entries", b.server.asked)
			}
			for _, o := range b.settled {
				if o.Result != c.want {
					t.Fatalf("observed %v, want %s", o, c.want)
				}
			}
			if len(b.settled) != 100 {
				t.Errorf("%d observed", len(b.settled))
			}
		})
	}
}
