package bench

import (
	"fmt"
	"maps"
	"sync"
	"sync/atomic"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// tally counts what a side has settled, and says when a number is reached.
type tally struct {
	n atomic.Int64

	mu    sync.Mutex
	marks []mark
	// wrong is why what is measured is not what it should be.
	wrong  error
	failed chan struct{}
	// unusual counts events of the product that no undisturbed round has.
	unusual map[string]int
}

// mark is a number to be reached. at is called once, by who reaches it.
type mark struct {
	n  int64
	at func()
}

func newTally() *tally { return &tally{failed: make(chan struct{}), unusual: map[string]int{}} }

// when calls at once the count has reached n.
func (t *tally) when(n int64, at func()) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.n.Load() >= n {
		at()
		return
	}
	t.marks = append(t.marks, mark{n, at})
}

// add counts.
func (t *tally) add(n int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	now := t.n.Add(int64(n))
	kept := t.marks[:0]
	for _, m := range t.marks {
		if now >= m.n {
			m.at()
			continue
		}
		kept = append(kept, m)
	}
	t.marks = kept
}

// fail ends the measurement: the first reason counts.
func (t *tally) fail(err error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.wrong == nil {
		t.wrong = err
		close(t.failed)
	}
}

// why is what fail was called with.
func (t *tally) why() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.wrong
}

// Settled counts outcomes of the product. One that is neither an acknowledgement
// nor a reply makes the measurement worthless: the entries are made so that none
// can fail.
func (t *tally) Settled(_ *spec.Subscription, outcomes []observe.Outcome) {
	for i := range outcomes {
		if o := &outcomes[i]; o.Result != observe.ResultAck && o.Result != observe.ResultReply {
			t.fail(fmt.Errorf("entry %s came to %s: %s%s", o.ID, o.Result, o.Reason, o.Error))
		}
	}
	t.add(len(outcomes))
}

// Event counts what an operator would be warned of: a lost server, a lost lease.
// A subscription that fails for good ends the engine besides.
func (t *tally) Event(e observe.Event) {
	if e.Level < sandbox.Warn {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	t.unusual[string(e.Name)]++
}

// events are the events that were counted.
func (t *tally) events() map[string]int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.unusual)
}
