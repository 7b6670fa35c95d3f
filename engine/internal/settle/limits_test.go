package settle_test

import (
	"context"
	"strings"
	"sync"
	"testing"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// one is a share of a batch of its own with one finished item.
func (b *bench) one(n int, v batch.Verb) batch.Share {
	bt := batch.Get(1)
	it := bt.Grow()
	it.Delivery.ID = id(n)
	it.Action = batch.Action{Verb: v}
	it.SetState(batch.Finished)
	b.held.Add(bt)
	return batch.Share{Batch: bt, Index: []int32{0}}
}

func TestARefusedStepIsSettledAgainHoweverBusyTheSubscriptionIs(t *testing.T) {
	b := newBench(t, batch.Step)
	var mu sync.Mutex
	steps := 0
	done := make(chan struct{})
	b.server.answer = func(_ int, s *broker.Settlement) (broker.SettleResult, error) {
		mu.Lock()
		defer mu.Unlock()
		res := allDone(s)
		if len(s.Steps) > 0 {
			if steps++; steps == 1 {
				res.Steps[0] = broker.StepResult{Status: broker.Refused, Err: broker.ErrOutOfMemory}
			} else {
				close(done)
			}
		}
		return res, nil
	}
	var running sync.WaitGroup
	running.Go(func() { b.settler.Run(t.Context()) })
	b.batch.Split(1, 0, false, func(_ int, s batch.Share) { b.settler.In() <- s })
	// Others finish all the time, far more often than a backoff lasts.
	limit := time.After(time.Minute)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for n := 100; ; n++ {
		select {
		case <-tick.C:
			b.settler.In() <- b.one(n, batch.Ack)
			continue
		case <-done:
		case <-limit:
			t.Error("the refused entry is never settled while others are")
		}
		break
	}
	close(b.settler.In())
	running.Wait()
}

func TestLanesAreNeverLeftWaitingForASettlerThatGaveUp(t *testing.T) {
	b := newBench(t, batch.Ack)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	b.server.answer = func(int, *broker.Settlement) (broker.SettleResult, error) {
		return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrUnavailable}
	}
	const entries = 3000
	sent := make(chan struct{})
	go func() {
		defer close(sent)
		for n := range entries {
			b.settler.In() <- b.one(100+n, batch.Ack)
		}
		close(b.settler.In())
	}()
	var running sync.WaitGroup
	running.Go(func() { b.settler.Run(ctx) })
	select {
	case <-sent:
	case <-time.After(time.Minute):
		t.Fatal("lanes wait for ever to hand on what they finished")
	}
	running.Wait()
	if left := b.settler.Left() + b.held.Count(); left != entries+1 {
		t.Errorf("%d entries are left, want %d", left, entries+1)
	}
}

func TestOneSettlementIsBoundedByItsBytes(t *testing.T) {
	b := newBench(t)
	body := strings.Repeat("x", 1<<20)
	const entries = 64
	bt := batch.Get(entries)
	for n := range entries {
		it := bt.Grow()
		it.Delivery.ID = id(n + 1)
		it.Action = batch.Action{Verb: batch.Step, Publish: []broker.Add{{Stream: "out", Fields: []broker.Field{{Name: "b", Value: body}}}}}
		it.Outcome.Result = observe.ResultReply
		it.SetState(batch.Finished)
	}
	b.held.Add(bt)
	largest, total := 0, 0
	b.server.answer = func(_ int, s *broker.Settlement) (broker.SettleResult, error) {
		largest, total = max(largest, len(s.Steps)), total+len(s.Steps)
		return allDone(s), nil
	}
	bt.Split(1, 0, false, func(_ int, s batch.Share) { b.settler.In() <- s })
	close(b.settler.In())
	b.settler.Run(t.Context())
	if total != entries || largest > 16 {
		t.Errorf("%d MiB in one settlement, %d of %d settled; one that takes longer than its deadline would be sent again for ever", largest, total, entries)
	}
	if b.held.Count() != 0 || len(b.settled) != entries {
		t.Errorf("%d held, %d observed", b.held.Count(), len(b.settled))
	}
}
