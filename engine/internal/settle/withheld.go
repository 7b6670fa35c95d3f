package settle

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"pipeline/engine/backlog"
	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
)

// withheld is what waits for room in the streams that it is to be published to.
// It stays held and renewed and takes up its place among what this consumer may
// hold, so that reading stops by itself where nothing else is left to work on. It
// goes out in the order in which it came: once something for a stream waits, all
// that comes later for it waits too.
type withheld struct {
	shares []batch.Share
	items  int
	// shut are the gauges that some of it waits for.
	shut map[*backlog.Gauge]bool
	// keys are those of entries that wait or were handed back, where the order of a
	// key holds across that: what comes after them under their key goes their way.
	keys map[string]bool
	// need is what the step in hand needs of each gauge.
	need []need
	// leaving: it is handed back instead, because the service stops.
	leaving bool
	called  chan struct{}
	call    sync.Once
	turns   atomic.Uint64
	count   atomic.Int64
	stuck   atomic.Int64
}

type need struct {
	gauge *backlog.Gauge
	n     int64
}

// What waits for room is tried again when its gauges look again, but not more
// often than after leastLook and not less than after mostLook.
const (
	leastLook = 10 * time.Millisecond
	mostLook  = time.Second
)

// GiveUp makes Run hand back what waits for room in its streams, and all that
// would have to from now on, instead of waiting longer. Safe for concurrent use.
func (s *Settler) GiveUp() { s.withheld.call.Do(func() { close(s.withheld.called) }) }

// Withheld is how many entries wait for room. Safe for concurrent use.
func (s *Settler) Withheld() int { return int(s.withheld.count.Load()) }

// Stuck is how many entries wait for room in streams that nobody reads, as far as
// the last looks tell. Safe for concurrent use.
func (s *Settler) Stuck() int { return int(s.withheld.stuck.Load()) }

// Turns counts how often what waits for room was tried again.
func (s *Settler) Turns() uint64 { return s.withheld.turns.Load() }

// calledOff is ready once after GiveUp.
func (w *withheld) calledOff() <-chan struct{} {
	if w.leaving {
		return nil
	}
	return w.called
}

// isCalledOff reports whether calledOff is ready.
func (w *withheld) isCalledOff() bool {
	select {
	case <-w.calledOff():
		return true
	default:
		return false
	}
}

// regain puts what waits for room at the head of the queue if it is time to try
// it again. It does so before anything else is gathered, whatever woke Run.
func (s *Settler) regain(room *reminder) {
	w := &s.withheld
	over, off := room.over(), w.isCalledOff()
	w.leaving = w.leaving || off
	if !over && !off || len(w.shares) == 0 {
		return
	}
	w.turns.Add(1)
	w.count.Store(0)
	w.stuck.Store(0)
	s.queue = append(w.shares, s.queue...)
	w.shares, w.items = nil, 0
	clear(w.shut)
	clear(w.keys)
}

// rest arms the reminder for what waits for room and tells how much that is.
func (s *Settler) rest(room *reminder) {
	w := &s.withheld
	if len(w.shares) == 0 {
		return
	}
	stuck := true
	next := mostLook
	for g := range w.shut {
		next = min(next, g.Next())
		stuck = stuck && g.Stuck()
	}
	if !room.armed {
		room.arm(max(next, leastLook))
	}
	w.count.Store(int64(w.items))
	if stuck {
		w.stuck.Store(int64(w.items))
	}
}

// withhold returns the shares without what has to wait for room.
func (s *Settler) withhold(ctx context.Context, shares []batch.Share) []batch.Share {
	if len(s.Gates) == 0 {
		return shares
	}
	pass := shares[:0]
	for _, share := range shares {
		var stays []int32
		goes := share.Index[:0] // they are the share's alone
		for _, index := range share.Index {
			if s.waits(ctx, &share.Batch.Items[index]) {
				stays = append(stays, index)
			} else {
				goes = append(goes, index)
			}
		}
		if len(stays) > 0 {
			w := &s.withheld
			w.shares = append(w.shares, batch.Share{Batch: share.Batch, Index: stays})
			w.items += len(stays)
		}
		if len(goes) > 0 {
			pass = append(pass, batch.Share{Batch: share.Batch, Index: goes})
		}
	}
	return pass
}

// waits reports whether the outcome of an item has to wait for room. A dead
// letter never does: what cannot be handled must not stop what can. Nor does the
// outcome of an entry that was trimmed, which would be lost with this process.
func (s *Settler) waits(ctx context.Context, it *batch.Item) bool {
	w := &s.withheld
	if s.follows(it) {
		if w.leaving {
			s.unwritten(it, "what an earlier entry of its key came to was withheld")
		}
		return !w.leaving
	}
	if it.Action.Verb != batch.Step || it.Outcome.Dead() || it.Lease() != batch.Ours || !s.needs(it.Action.Publish) {
		return false
	}
	for i, n := range w.need {
		ok, err := false, error(nil)
		if !w.shut[n.gauge] {
			ok, err = n.gauge.Take(ctx, n.n)
		}
		if ok {
			continue
		}
		for _, taken := range w.need[:i] {
			taken.gauge.Give(taken.n)
		}
		switch {
		case err != nil:
			it.Action = batch.Action{Verb: batch.Leave}
			s.Fatal(fmt.Errorf("entry %s stays pending: look at the backlog of the stream that it replies to: %w", it.Delivery.ID, err))
			return false
		case w.leaving:
			full := n.gauge.State()
			s.unwritten(it, fmt.Sprintf("what it came to was withheld: stream %s has a backlog of %d, max_backlog is %d",
				full.Stream, full.Entries, full.Limit))
			s.closes(it)
			return false
		}
		s.closes(it)
		if w.shut == nil {
			w.shut = make(map[*backlog.Gauge]bool)
		}
		w.shut[n.gauge] = true
		return true
	}
	return false
}

// follows reports whether an outcome goes the way of that of an earlier entry of
// its key, which waits for room or was handed back. If it were written and the
// earlier entry came to run again, the key would be out of order; so both run
// again, in their order.
func (s *Settler) follows(it *batch.Item) bool {
	return (it.Action.Verb == batch.Ack || it.Action.Verb == batch.Step) && it.Lease() == batch.Ours &&
		!it.Foreign && s.withheld.keys[it.Key]
}

// closes has what comes later under the key of an item go its way.
func (s *Settler) closes(it *batch.Item) {
	if s.Keys == nil || it.Key == "" {
		return
	}
	if s.withheld.keys == nil {
		s.withheld.keys = make(map[string]bool)
	}
	s.withheld.keys[strings.Clone(it.Key)] = true // it lies in the memory of a batch
}

// needs finds what a step needs of each gauge, and reports whether it needs
// anything.
func (s *Settler) needs(publish []broker.Add) bool {
	w := &s.withheld
	w.need = w.need[:0]
next:
	for i := range publish {
		g := s.Gates[publish[i].Stream]
		if g == nil {
			continue
		}
		for j := range w.need {
			if w.need[j].gauge == g {
				w.need[j].n++
				continue next
			}
		}
		w.need = append(w.need, need{g, 1})
	}
	return len(w.need) > 0
}

// unwritten hands an entry back whose outcome cannot be written before the
// service stops. Somebody runs it again, at once; the run that came to nothing is
// counted like a retry that was asked for, so that no attempt is used up by it.
func (s *Settler) unwritten(it *batch.Item, why string) {
	wait := &broker.Wait{ID: it.Delivery.ID, Timed: true, Asked: true, Error: "the service stopped while " + why}
	if s.MinIdle > 0 {
		wait.MinIdle = s.Claimable
	}
	it.Action = batch.Action{Verb: batch.Wait, Wait: wait, Unwritten: true}
	it.Outcome.Void("")
}
