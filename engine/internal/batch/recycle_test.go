package batch_test

import (
	"sync"
	"testing"

	"pipeline/engine/internal/batch"
)

// A batch is another's as soon as its last share was sent: Split must not look
// at it any more, though lanes without a share follow.
func TestSplitLeavesABatchAloneOnceItsLastShareIsSent(t *testing.T) {
	for range 200 {
		b := filled([]string{"a", "a", "a"})
		h := batch.NewHeld()
		h.Add(b)
		var lanes sync.WaitGroup
		b.Split(64, 0, false, func(_ int, s batch.Share) {
			lanes.Go(func() {
				items := make([]*batch.Item, s.Len())
				for i := range items {
					items[i] = s.At(i)
				}
				h.Settled(s.Batch, items)
				// Whoever gets it next arranges other items in it.
				next := filled([]string{"x", "y"})
				next.Split(2, 0, false, func(int, batch.Share) {})
			})
		})
		lanes.Wait()
	}
}

func TestWhatIsToBeHandedBackIsNotRenewed(t *testing.T) {
	for _, c := range []struct {
		verb  batch.Verb
		state batch.State
		want  int
	}{
		{batch.Release, batch.Finished, 0}, // a renewal would undo that it looks idle
		{batch.Wait, batch.Finished, 0},
		{batch.Ack, batch.Finished, 1},
		{batch.Step, batch.Finished, 1},
		{batch.Leave, batch.Running, 1},
		{batch.Leave, batch.Queued, 1},
		{batch.Leave, batch.Settled, 0},
	} {
		h := batch.NewHeld()
		b := filled([]string{"a"})
		h.Add(b)
		b.Items[0].Action.Verb = c.verb
		b.Items[0].SetState(c.state)
		if got := len(h.IDs(nil)); got != c.want {
			t.Errorf("verb %d in state %d: %d ids, want %d", c.verb, c.state, got, c.want)
		}
	}
}
