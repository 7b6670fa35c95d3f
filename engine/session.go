package engine

import (
	"context"
	"strconv"
	"sync/atomic"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/begin"
	"pipeline/engine/internal/hold"
	"pipeline/engine/internal/lane"
	"pipeline/engine/internal/lease"
	"pipeline/engine/internal/reader"
	"pipeline/engine/internal/retry"
	"pipeline/engine/internal/settle"
	"pipeline/engine/internal/tally"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// settleGrace is how long after the handlers the last settlement may take.
const settleGrace = 5 * time.Second

// session is the life of one consumer: its name, what it holds, and the
// goroutines that work under it.
type session struct {
	sub    *subscription
	owner  broker.Owner
	slot   broker.SlotRequest
	number int
	held   *batch.Held
	parked *retry.Parked
	// keys is nil where later entries pass one that is retried.
	keys     *hold.Keys
	waits    clock.Mutex
	draining atomic.Bool
	lanes    []*lane.Lane
	settler  *settle.Settler
	beginner *begin.Beginner
	keeper   *lease.Keeper
	permit   *lease.Permit
	time     *lease.ServerTime
	sweeper  *reader.Sweeper
	// reader is nil where only pending entries are wanted.
	reader *reader.Reader
	cancel context.CancelFunc
}

// open takes a slot, and with it a name, and builds everything that works
// under it.
func (s *subscription) open(ctx context.Context) (*session, error) {
	slot := s.slotRequest(s.engine.cfg.Chance.Token(s.spec.Label))
	number, err := s.engine.cfg.Broker.AcquireSlot(ctx, slot)
	if err != nil {
		return nil, err
	}
	n := &session{sub: s, slot: slot, number: number, held: batch.NewHeld(), parked: retry.NewParked(), keys: s.newKeys()}
	n.owner = broker.Owner{Stream: slot.Stream, Group: slot.Group, Consumer: n.predecessors() + slot.Token}
	n.permit, n.time = lease.NewPermit(s.engine.cfg.Clock), lease.NewServerTime(s.engine.cfg.Clock)
	n.permit.Server, n.permit.MinIdle = s.engine.server, s.minIdle
	n.build()
	if err := n.keeper.Open(ctx); err != nil {
		n.giveUpSlot(ctx)
		return nil, err
	}
	return n, nil
}

// predecessors is what the names of all holders of the slot begin with.
func (n *session) predecessors() string { return n.slot.Base + "-" + strconv.Itoa(n.number) + "." }

func (n *session) build() {
	s, cfg := n.sub, n.sub.engine.cfg
	n.settler = &settle.Settler{
		Broker: cfg.Broker, Owner: n.owner, Clock: cfg.Clock, Server: s.engine.server, Held: n.held, Waits: &n.waits,
		Parked: n.parked, Keys: n.keys, Marks: s.plan.Marks(), Settled: s.settled, Event: s.event, Fatal: s.fail, Tally: &s.tally,
	}
	n.settler.Repeat = s.spec.Retry.MaxAge
	n.settler.Gates, n.settler.Traced = s.gates, cfg.Tracer != nil
	n.settler.MinIdle, n.settler.Claimable = s.minIdle, s.claimable
	n.settler.Sensitive = len(s.spec.Group.Stream.Sensitive) > 0
	n.settler.Bury = s.runner(n.owner.Consumer).BodyMissing
	n.settler.Init()
	n.beginner = &begin.Beginner{Broker: cfg.Broker, Owner: n.owner, Server: s.engine.server, Draining: &n.draining, Fatal: s.fail}
	n.settler.Alone = &begin.Alone{Freed: n.wakeLanes}
	for range s.spec.Workers.Count {
		n.lanes = append(n.lanes, lane.New(cfg.Clock, n.runnerOf(), n.settler.In(), &n.draining))
	}
	for i, l := range n.lanes {
		l.Join(n.settler.Alone, n.lanes, i)
	}
	dispatch := &reader.Dispatcher{
		Broker: cfg.Broker, Owner: n.owner, Clock: cfg.Clock, Held: n.held, Waits: &n.waits, Parked: n.parked,
		Park: s.spec.Claim == nil, Keys: n.keys,
		MinIdle: s.minIdle, MaxAttempts: s.spec.Retry.MaxAttempts, Lanes: n.lanes, Suspects: s.room(),
		Marks: s.plan.Marks(), Server: s.engine.server, FixedLanes: cfg.Chance.FixedLanes, Prepare: s.plan.Prepare, Event: s.event,
		Tally: &s.tally,
	}
	n.sweeper = n.newSweeper(dispatch)
	if s.spec.Claim == nil || !s.spec.Claim.Only {
		n.reader = n.newReader(dispatch)
	}
	n.sweeper.Alone = n.reader == nil
	n.keeper = &lease.Keeper{
		Broker: cfg.Broker, Owner: n.owner, Clock: cfg.Clock, Server: s.engine.server, Held: n.held, Waits: &n.waits, Keys: n.keys,
		Slot: n.slot, Number: n.number, MinIdle: s.minIdle, Permit: n.permit, Time: n.time, Origin: s.engine.started, Event: s.event,
		SlotLost: n.stop, EntryLost: n.cancelEntry, Interrupted: n.interrupted, Fatal: s.fail,
	}
}

func (n *session) newSweeper(d *reader.Dispatcher) *reader.Sweeper {
	s, cfg := n.sub, n.sub.engine.cfg
	w := &reader.Sweeper{
		Broker: cfg.Broker, Owner: n.owner, Clock: cfg.Clock, Server: s.engine.server, Held: n.held, Parked: n.parked,
		Dispatch: d, Keys: n.keys, Room: s.room(), Predecessors: n.predecessors(), Siblings: s.spec.Consumer + "-",
		Slot:   n.slot,
		Permit: n.permit, Restore: s.restore, Fatal: s.fail, Event: s.event,
	}
	w.Init()
	w.Leased = s.minIdle
	if c := s.spec.Claim; c != nil {
		w.MinIdle = c.MinIdle
		w.Bodies = s.engine.features.Features.DeletedIDs
		if c.Only || !s.claimsWithReads() {
			w.Every = min(s.spec.Block, max(c.MinIdle/4, 50*time.Millisecond))
		}
	}
	return w
}

// room is how many entries may be held because of sweeps, and how many because they
// wait to run alone.
func (s *subscription) room() int { return max(s.spec.Batch, 2*s.spec.Workers.Count) }

func (n *session) newReader(d *reader.Dispatcher) *reader.Reader {
	s, cfg := n.sub, n.sub.engine.cfg
	r := &reader.Reader{
		Broker: cfg.Broker, Owner: n.owner, Clock: cfg.Clock, Server: s.engine.server, Dispatch: d, Sweeper: n.sweeper, Keys: n.keys,
		Window: reader.NewWindow(cfg.Clock, n.held, s.spec.Batch, s.spec.Workers.Count),
		Batch:  s.spec.Batch, Block: s.spec.Block, Permit: n.permit, Restore: s.restore,
		Reading: func() {
			s.event(observe.Event{Name: observe.EventReading, Level: sandbox.Info, Message: "reading as " + n.owner.Consumer})
			s.begin()
		},
	}
	if s.spec.Claim != nil && s.claimsWithReads() {
		r.MinIdle = s.spec.Claim.MinIdle
	}
	return r
}

// claimsWithReads reports whether pending entries are claimed by the read.
func (s *subscription) claimsWithReads() bool {
	return s.spec.Claim.Using != spec.UsingAutoclaim && s.engine.features.Features.ClaimingRead
}

// stop ends the session in order: as a drain does, without ending the
// subscription.
func (n *session) stop() { n.cancel() }

// cancelEntry calls a running handler off.
func (n *session) cancelEntry(id broker.ID) {
	for _, l := range n.lanes {
		l.Cancel(id)
	}
}

// interrupted makes everything that claims wait until all have renewed.
func (n *session) interrupted() {
	n.permit.Pause(lease.Caution(n.sub.minIdle))
}

// run works until ctx is done or the session is stopped, then drains.
func (n *session) run(ctx context.Context) {
	reading, cancel := context.WithCancel(ctx)
	n.cancel = cancel
	n.sub.session.Store(n)
	defer cancel()
	work := &bounded{Context: context.WithoutCancel(ctx)}
	handling, stopHandlers := context.WithCancel(work)
	settling, stopSettling := context.WithCancel(work)
	keeping, stopKeeping := context.WithCancel(work)
	defer stopHandlers()
	defer stopSettling()
	defer stopKeeping()

	var input, lanes, settler, keeper clock.Group
	keeper.Go(keeping, "keeper", func() { n.keeper.Run(keeping) })
	settler.Go(settling, "settler", func() { n.settler.Run(settling) })
	for i, l := range n.lanes {
		lanes.Go(handling, "lane "+strconv.Itoa(i), func() { l.Run(handling) })
	}
	input.Go(reading, "sweeper", func() { n.sweeper.Run(reading) })
	if n.reader != nil {
		input.Go(reading, "reader", func() {
			if err := n.reader.Run(reading); err != nil {
				n.sub.fail(err)
			}
			cancel()
		})
	} else {
		n.sub.begin()
	}
	_ = clock.Wait(reading, nil) // until it is called off
	n.draining.Store(true)
	n.clearLanes(work)
	defer n.limit(ctx, work, func() {
		stopHandlers()
		n.settler.GiveUp()
	}, stopSettling)()
	input.Wait(work)
	if !n.settler.Unwritten() { // else nothing of a key may go before what is before it is written
		n.handBackKeys(work, false)
	}
	for _, l := range n.lanes {
		l.Close()
	}
	lanes.Wait(work)
	n.settler.Close()
	settler.Wait(work)
	n.handBackKeys(work, true)
	stopKeeping()
	keeper.Wait(work)
	s := n.sub
	s.tally.Count(tally.Left, n.held.Count())
	s.session.Store(nil)
	if ctx.Err() != nil {
		s.left.Add(int64(n.settler.Left() + n.held.Count()))
	}
	n.leave(work)
}

// limit ends what does not end by itself: drain_timeout after the process began to
// drain, or the subscription failed. A session that only lost its name is not
// bounded before that, so that no handler of a living process is called off for
// it. What is returned takes the limit back.
func (n *session) limit(ctx context.Context, work *bounded, stopHandlers, stopSettling func()) func() {
	var timers []clock.Timer
	begin := func() {
		timeout, c := n.sub.engine.cfg.Pipeline.DrainTimeout, n.sub.engine.cfg.Clock
		work.until(c.Now().Add(timeout + settleGrace))
		timers = append(timers, c.AfterFunc(timeout, stopHandlers), c.AfterFunc(timeout+settleGrace, stopSettling))
	}
	ended, end := context.WithCancel(ctx)
	var later clock.Group
	if ctx.Err() != nil || n.sub.failure() != nil {
		begin()
	} else {
		later.Go(work, "drain limit", func() {
			if _ = clock.Wait(ended, nil); ctx.Err() != nil {
				begin()
			}
		})
	}
	return func() {
		end()
		later.Wait(work)
		for _, t := range timers {
			t.Stop()
		}
	}
}

// wakeLanes has the lanes look for what they may run now.
func (n *session) wakeLanes() {
	for _, l := range n.lanes {
		l.Wake()
	}
}

// clearLanes has the lanes hand back what has not started, without waiting for
// what runs.
func (n *session) clearLanes(ctx context.Context) {
	for _, l := range n.lanes {
		l.Drain(ctx)
	}
}

// leave gives the name up. What is still pending under it is found by the
// slot's next holder, or claimed.
func (n *session) leave(ctx context.Context) {
	c := n.sub.engine.cfg
	call, cancel := context.WithCancel(ctx)
	defer cancel()
	timer := c.Clock.AfterFunc(settleGrace, cancel)
	defer timer.Stop()
	if n.sub.engine.server.Down() {
		return // the lease runs out by itself
	}
	_, _ = c.Broker.RemoveConsumer(call, n.owner)
	n.giveUpSlot(call)
}

// giveUpSlot lets others have the slot. If that does not reach the server the
// lease runs out by itself.
func (n *session) giveUpSlot(ctx context.Context) {
	_ = n.sub.engine.cfg.Broker.ReleaseSlot(ctx, n.slot, n.number)
}

// idle reports whether nothing runs and everything waits for entries or time.
func (n *session) idle() bool {
	return n.held.Count() == n.settler.Stuck() && n.keeper.Waiting() && n.sweeper.Waiting() &&
		(n.reader == nil || n.reader.Waiting() || n.crowded())
}

// crowded reports whether the reader waits, without reading, for room in streams
// that nobody reads.
func (n *session) crowded() bool { return n.settler.Stuck() > 0 && n.reader.Crowded() }

// turns counts how often anything of the session began or ended to wait.
func (n *session) turns() uint64 {
	t := n.sweeper.Turns() + n.settler.Turns()
	if n.reader != nil {
		t += n.reader.Turns()
	}
	return t
}
