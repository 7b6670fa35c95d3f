// Package lane runs entries one after another. Entries with equal keys come to
// the same lane, so that they run in order; a lane takes a share of a batch at
// a time and hands what it has finished on to be settled.
package lane

import (
	"context"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/observe"
)

// Runner runs one item: it sets the item's action and outcome. It belongs to
// one lane. When ctx is canceled it returns soon, and Run reports false if the
// item was called off rather than finished.
type Runner interface {
	Run(ctx context.Context, it *batch.Item) (finished bool)
	Close()
}

// Flush is how long a finished item may wait for the rest of its share before
// it is handed on, however long the item behind it runs. Short enough that an
// acknowledgement is never late, long enough that quick handlers settle in
// large batches.
const Flush = 2 * time.Millisecond

// queue is how many shares wait in a lane; what is read is bounded elsewhere.
const queue = 64

// Lane is one worker. Create it with New, start Run on a goroutine, Send it
// shares, and Close it to let it finish. One that was joined to others is drained
// before it is closed.
type Lane struct {
	clock    clock.Clock
	runner   Runner
	out      chan<- batch.Share
	draining *atomic.Bool
	in       chan batch.Share
	closed   atomic.Bool
	// depth is how many entries were sent and not handed on yet.
	depth atomic.Int64
	// unsorted: what was sent last may belong before what was sent earlier.
	unsorted atomic.Bool

	// gate, peers and self are as Join says; wake has Run look at them again.
	gate  Gate
	peers []*Lane
	self  int
	wake  chan struct{}
	// slow: what is queued waits for more than Flush.
	slow atomic.Bool

	// mu guards which entry runs and how it is called off.
	mu      sync.Mutex
	running broker.ID
	cancel  context.CancelFunc
	// call is the context of the calls; the lane's own goroutine uses it.
	call context.Context

	// timer hands on what is finished while an entry runs.
	timer clock.Timer
	// pending guards the share that is worked on, and what of it is finished and
	// not handed on: its places at from and up to done, without it. at is the place
	// of the item that runs, -1 before the first. armed: the timer is set. later are
	// shares that wait behind it because it has their key, while draining. ahead are
	// shares that come before those that are in the channel: see pull. aside are
	// items that wait for the gate.
	pending        sync.Mutex
	share          batch.Share
	ahead, aside   []batch.Share
	from, done, at int
	armed          bool
	rests          [1]batch.Share
	later          []batch.Share
}

// New returns a lane that hands finished shares to out. Once draining is true
// it starts no more handlers and releases what is queued.
func New(c clock.Clock, r Runner, out chan<- batch.Share, draining *atomic.Bool) *Lane {
	return &Lane{clock: c, runner: r, out: out, draining: draining, in: make(chan batch.Share, queue), wake: make(chan struct{}, 1), at: -1}
}

// Send queues a share, and waits while the queue is full; ctx tells whose turn
// that is, and its end is no reason to stop. It must not be called after Close.
func (l *Lane) Send(ctx context.Context, s batch.Share) {
	if turns := clock.TurnsOf(ctx); turns != nil {
		turns.Until(func() bool { return len(l.in) < cap(l.in) })
	}
	old := s.Batch.Old // the batch is the lane's from now on
	l.depth.Add(int64(s.Len()))
	l.in <- s
	if old {
		l.unsorted.Store(true)
	}
	if l.slow.Load() {
		l.wakePeers()
	}
}

// Close lets Run return once everything sent has been handed on.
func (l *Lane) Close() {
	l.closed.Store(true)
	close(l.in)
}

// Cancel calls the handler off if it is running the given entry: its lease is
// lost. Safe for concurrent use.
func (l *Lane) Cancel(id broker.ID) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.running == id && l.cancel != nil {
		l.cancel()
	}
}

// Depth is how many entries the lane has: queued, running, or finished and not
// handed on. It is safe for concurrent use.
func (l *Lane) Depth() int { return int(l.depth.Load()) }

// Busy reports whether an entry runs. It is safe for concurrent use.
func (l *Lane) Busy() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.running != broker.ID{}
}

// now records which entry runs; the zero id for none.
func (l *Lane) now(id broker.ID) {
	l.mu.Lock()
	l.running = id
	l.mu.Unlock()
}

// Run works until Close. Canceling ctx calls running handlers off; their
// entries stay pending.
func (l *Lane) Run(ctx context.Context) {
	defer l.runner.Close()
	l.timer = l.clock.AfterFunc(time.Hour, l.flush)
	l.timer.Stop()
	defer l.timer.Stop()
	turns, something := clock.TurnsOf(ctx), l.something
	for {
		s, ok := l.first()
		if !ok {
			s, ok = l.help()
		}
		if !ok {
			turns.Until(something)
			select {
			case s, ok = <-l.in:
				if !ok {
					return
				}
			case <-l.wake:
				continue
			}
		}
		l.work(ctx, s)
	}
}

// first is the first share of those that come before the channel's.
func (l *Lane) first() (s batch.Share, ok bool) {
	l.pending.Lock()
	defer l.pending.Unlock()
	l.recall()
	if len(l.ahead) == 0 {
		return batch.Share{}, false
	}
	s, l.ahead = l.ahead[0], l.ahead[1:]
	return s, true
}

// something reports whether there is something to receive or to look for.
func (l *Lane) something() bool { return len(l.in) > 0 || len(l.wake) > 0 || l.closed.Load() }

// room reports whether the settler has room.
func (l *Lane) room() bool { return len(l.out) < cap(l.out) }

func (l *Lane) work(ctx context.Context, s batch.Share) {
	l.renew(ctx)
	for it := l.begin(s); it != nil; it = l.next() {
		for !l.run(it) && it.Lease() == batch.Ours && ctx.Err() == nil {
			// Called off for the sake of the item before it: once more.
			l.renew(ctx)
		}
		it.SetState(batch.Finished)
	}
	l.cancel()
	for _, rest := range l.rest() {
		l.hand(ctx, rest)
	}
}

// hand hands a share to the settler.
func (l *Lane) hand(ctx context.Context, s batch.Share) {
	if turns := clock.TurnsOf(ctx); turns != nil {
		turns.Until(l.room)
	}
	n := s.Len() // the share is the settler's from now on
	l.out <- s
	l.depth.Add(-int64(n))
}

// begin takes up a share and returns the first item that may run, nil for none.
func (l *Lane) begin(s batch.Share) *batch.Item {
	l.pending.Lock()
	defer l.pending.Unlock()
	l.share = s
	it := l.step()
	if it != nil && len(l.peers) > 1 {
		l.arm()
	}
	return it
}

// next notes that an item is finished and returns the next one that may run, nil
// where the share has no more.
func (l *Lane) next() *batch.Item {
	l.pending.Lock()
	defer l.pending.Unlock()
	it := l.step()
	if it != nil {
		l.done = l.at
		l.arm()
	}
	return it
}

// step goes on to the next item that may run and returns it, nil where the share
// has no more. The caller holds pending.
func (l *Lane) step() *batch.Item {
	l.recall()
	if l.unsorted.Load() {
		l.sort()
	}
	for l.at+1 < l.share.Len() {
		if it := l.share.At(l.at + 1); !l.waits(it) {
			l.at++
			return it
		}
		l.putAside()
	}
	return nil
}

func (l *Lane) arm() {
	if !l.armed {
		l.armed = true
		l.timer.Reset(Flush)
	}
}

// flush hands on what is finished, if the settler has room, and offers what has not
// started to other lanes: it is called by the clock and must not wait.
func (l *Lane) flush() {
	l.pending.Lock()
	defer l.pending.Unlock()
	l.armed = false
	l.offer()
	if l.from == l.done {
		return
	}
	select {
	case l.out <- batch.Share{Batch: l.share.Batch, Index: l.share.Index[l.from:l.done]}:
		l.depth.Add(int64(l.from - l.done))
		l.from = l.done
	default:
		l.arm()
	}
}

// rest is what of the share was not handed on, and what waited behind it. The timer
// has nothing to hand on any more.
func (l *Lane) rest() []batch.Share {
	l.pending.Lock()
	defer l.pending.Unlock()
	rest := add(l.rests[:0], batch.Share{Batch: l.share.Batch, Index: l.share.Index[l.from:]})
	for _, s := range l.later {
		rest = append(rest, released(s))
	}
	l.share, l.from, l.done, l.at, l.later = batch.Share{}, 0, 0, -1, nil
	l.slow.Store(false)
	if l.armed {
		l.armed = false
		l.timer.Stop()
	}
	return rest
}

// renew makes a new context for the calls to come. One serves many calls:
// making one for each would cost more than the calls.
func (l *Lane) renew(ctx context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.cancel != nil {
		l.cancel()
	}
	l.call, l.cancel = context.WithCancel(ctx)
}

// run decides what becomes of an item and reports whether that is final.
func (l *Lane) run(it *batch.Item) bool {
	switch {
	case it.Lease() == batch.Taken, it.Lease() == batch.Replaced:
		it.Action = batch.Action{Verb: batch.Leave}
		it.Outcome = batch.Outcome{Attempt: it.Used + 1, Result: observe.ResultStale}
		return true
	case l.draining.Load():
		release(it)
		return true
	}
	it.SetState(batch.Running)
	l.now(it.Delivery.ID)
	finished := l.runner.Run(l.call, it)
	l.now(broker.ID{})
	if !finished {
		it.Action = batch.Action{Verb: batch.Leave}
		it.Outcome.Result = observe.ResultStale
	}
	return finished
}
