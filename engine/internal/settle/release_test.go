package settle_test

import (
	"slices"
	"testing"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// TestWhatIsBehindAnUnwrittenOutcomeIsHandedBackAfterIt: while the server refuses
// what an entry came to, a later one of its key is kept and renewed; others are
// handed back at once.
func TestWhatIsBehindAnUnwrittenOutcomeIsHandedBackAfterIt(t *testing.T) {
	b := newBench(t, batch.Step, batch.Release, batch.Release, batch.Release)
	for n, key := range map[int]string{1: "a", 2: "a", 3: "b"} {
		b.item(n).Key = key
	}
	var meanwhile []broker.ID
	b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
		if n == 1 {
			oom := &broker.Error{Op: "publish", Kind: broker.ErrOutOfMemory}
			return broker.SettleResult{Steps: []broker.StepResult{{Status: broker.Refused, Err: oom}}}, nil
		}
		if len(s.Steps) > 0 {
			expect(t, "handed back before it was written", b.server.released, []broker.ID{id(3), id(4)})
			meanwhile = b.held.IDs(nil)
		}
		return allDone(s), nil
	}
	b.run()
	expect(t, "handed back", b.server.released, []broker.ID{id(3), id(4), id(2)})
	if !slices.Contains(meanwhile, id(2)) {
		t.Errorf("renewed meanwhile: %v, want 2 among them", meanwhile)
	}
	expect(t, "observed", b.results(), []string{"1-0 ack"})
	if b.held.Count() != 0 || b.settler.Left() != 0 || len(b.fatal) > 0 {
		t.Errorf("%d held, %d left, %v", b.held.Count(), b.settler.Left(), b.fatal)
	}
}

// TestAStaleLetterIsNoLetter: what was not written is counted as neither a dead
// letter nor a reply, whoever has the entry by then.
func TestAStaleLetterIsNoLetter(t *testing.T) {
	for name, answer := range map[string]func(s *broker.Settlement) (broker.SettleResult, error){
		"taken over": func(*broker.Settlement) (broker.SettleResult, error) {
			return broker.SettleResult{Steps: []broker.StepResult{{Status: broker.NotOwned}}}, nil
		},
		"the group is lost": func(*broker.Settlement) (broker.SettleResult, error) {
			return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrNoGroup}
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, batch.Step)
			o := &b.item(1).Outcome
			o.Result, o.Replies, o.Explain().Dead = observe.ResultFailed, []observe.Reply{{Stream: "out"}}, true
			b.server.answer = func(_ int, s *broker.Settlement) (broker.SettleResult, error) { return answer(s) }
			b.run()
			if len(b.settled) != 1 || b.settled[0].Result != observe.ResultStale || b.settled[0].Dead || len(b.settled[0].Replies) > 0 {
				t.Errorf("observed %+v", b.settled)
			}
		})
	}
}

// One that is before it has nothing to wait for.
func TestWhatIsBeforeAnUnwrittenOutcomeIsHandedBackAtOnce(t *testing.T) {
	b := newBench(t, batch.Release, batch.Step)
	b.item(1).Key, b.item(2).Key = "a", "a"
	b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
		if n == 1 {
			oom := &broker.Error{Op: "publish", Kind: broker.ErrOutOfMemory}
			return broker.SettleResult{Steps: []broker.StepResult{{Status: broker.Refused, Err: oom}}}, nil
		}
		expect(t, "handed back before the other was written", b.server.released, []broker.ID{id(1)})
		return allDone(s), nil
	}
	b.run()
	expect(t, "handed back", b.server.released, []broker.ID{id(1)})
}
