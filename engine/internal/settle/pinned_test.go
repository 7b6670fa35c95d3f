package settle_test

import (
	"context"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
)

// forgetful does everything and keeps nothing.
type forgetful struct{ broker.Broker }

func (forgetful) Settle(_ context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	return allDone(s), nil
}

// TestWhatIsSettledIsLetGo: the lists of a settlement are used again. Behind the end of
// what a later one needs they must not keep what a larger one published.
func TestWhatIsSettledIsLetGo(t *testing.T) {
	b := newBench(t, batch.Ack)
	b.settler.Broker = forgetful{}
	gone := make(chan struct{})
	func() {
		// A reply whose memory tells when it is free.
		text := []byte(strings.Repeat("x", 4096))
		runtime.SetFinalizer(&text[0], func(*byte) { close(gone) })
		const n = 100
		bt := batch.Get(n)
		order := make([]int32, n)
		for i := range n {
			it := bt.Grow()
			it.Delivery.ID = id(1000 + i)
			it.Action = batch.Action{Verb: batch.Step, Publish: []broker.Add{{Stream: "out", Fields: []broker.Field{{Name: "a", Value: unsafe.String(&text[0], len(text))}}}}}
			it.SetState(batch.Finished)
			order[i] = int32(i)
		}
		b.held.Add(bt)
		b.settler.In() <- batch.Share{Batch: bt, Index: order}
	}()
	var running sync.WaitGroup
	running.Go(func() { b.settler.Run(t.Context()) })
	settled := func() {
		for limit := time.Now().Add(time.Minute); b.held.Count() > 1 && time.Now().Before(limit); {
			time.Sleep(time.Millisecond)
		}
	}
	settled()
	b.settler.In() <- b.one(500, batch.Step)
	settled()
	for limit := time.Now().Add(time.Minute); ; time.Sleep(10 * time.Millisecond) {
		runtime.GC()
		select {
		case <-gone:
		default:
			if time.Now().Before(limit) {
				continue
			}
			t.Error("a reply that was settled is still in memory")
		}
		break
	}
	b.settler.Close()
	running.Wait()
}
