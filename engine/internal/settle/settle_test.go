package settle_test

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/retry"
	"pipeline/engine/internal/settle"
	"pipeline/engine/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(n int) broker.ID { return broker.ID{Ms: uint64(n)} }

// server answers settlements as a test says.
type server struct {
	broker.Broker
	mu       sync.Mutex
	settles  []broker.Settlement
	released []broker.ID
	added    []broker.Add
	addErrs  []error
	pending  []broker.Pending
	// asked counts the looks at the pending list, which fail with pendingErr.
	asked      int
	pendingErr error
	answer     func(n int, s *broker.Settlement) (broker.SettleResult, error)
}

// Settle remembers a copy: the settler builds the next one in the same memory.
func (f *server) Settle(_ context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	c := *s
	c.Acks, c.Steps, c.Waits, c.Forget = slices.Clone(s.Acks), slices.Clone(s.Steps), slices.Clone(s.Waits), slices.Clone(s.Forget)
	f.settles = append(f.settles, c)
	if f.answer != nil {
		return f.answer(len(f.settles), s)
	}
	return allDone(s), nil
}

func allDone(s *broker.Settlement) broker.SettleResult {
	return broker.SettleResult{Steps: make([]broker.StepResult, len(s.Steps)), Waits: make([]broker.Status, len(s.Waits))}
}

func (f *server) Release(_ context.Context, _ broker.Owner, ids []broker.ID, _ time.Duration) error {
	f.released = append(f.released, ids...)
	return nil
}

func (f *server) Add(_ context.Context, adds []broker.Add) ([]broker.ID, error) {
	if len(f.addErrs) > 0 {
		err := f.addErrs[0]
		f.addErrs = f.addErrs[1:]
		return nil, err
	}
	f.added = append(f.added, adds...)
	return make([]broker.ID, len(adds)), nil
}

func (f *server) Pending(context.Context, string, string, string, broker.ID, int) ([]broker.Pending, error) {
	f.asked++
	return f.pending, f.pendingErr
}

// bench is a settler with one batch whose items have the given actions.
type bench struct {
	t       *testing.T
	server  *server
	settler *settle.Settler
	held    *batch.Held
	parked  *retry.Parked
	batch   *batch.Batch
	settled []observe.Outcome
	events  []observe.EventName
	fatal   []error
}

func newBench(t *testing.T, verbs ...batch.Verb) *bench {
	b := &bench{t: t, server: &server{}, held: batch.NewHeld(), parked: retry.NewParked(), batch: batch.Get(len(verbs))}
	for i, v := range verbs {
		it := b.batch.Grow()
		it.Delivery.ID = id(i + 1)
		it.Outcome = batch.Outcome{Result: observe.ResultAck}
		it.Action = batch.Action{Verb: v}
		switch v {
		case batch.Step:
			it.Action.Publish = []broker.Add{{Stream: "out"}}
		case batch.Wait:
			it.Action.Wait = &broker.Wait{ID: id(i + 1), Timed: true, After: time.Minute}
		}
		it.SetState(batch.Finished)
	}
	b.held.Add(b.batch)
	b.settler = &settle.Settler{
		Broker: b.server, Owner: broker.Owner{Stream: "s", Group: "g", Consumer: "c"}, Clock: clock.Real(), Held: b.held,
		Parked: b.parked, Waits: &clock.Mutex{}, Server: health.New(clock.Real(), rand.Float64, func(observe.Event) {}),
		Settled: func(o []observe.Outcome) { b.settled = append(b.settled, o...) },
		Event:   func(e observe.Event) { b.events = append(b.events, e.Name) },
		Fatal:   func(err error) { b.fatal = append(b.fatal, err) },
	}
	b.settler.Init()
	return b
}

func (b *bench) item(n int) *batch.Item { return &b.batch.Items[n-1] }

// run settles everything.
func (b *bench) run() {
	b.t.Helper()
	var shares []batch.Share
	b.batch.Split(1, 0, false, func(_ int, s batch.Share) { shares = append(shares, s) })
	for _, s := range shares {
		b.settler.In() <- s
	}
	close(b.settler.In())
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	b.settler.Run(ctx)
}

// results are the settled outcomes as "id result".
func (b *bench) results() []string {
	var all []string
	for _, o := range b.settled {
		all = append(all, o.ID.String()+" "+string(o.Result))
	}
	return all
}

func expect[T comparable](t *testing.T, what string, got, want []T) {
	t.Helper()
	if !slices.Equal(got, want) {
		t.Errorf("%s: got %v, want %v", what, got, want)
	}
}

func TestOneSettlementCarriesEveryKindOfOutcome(t *testing.T) {
	b := newBench(t, batch.Ack, batch.Step, batch.Wait, batch.Release, batch.Ack)
	b.item(5).Delivery.Deliveries = 1
	b.item(2).Delivery.Deliveries = 2
	b.item(3).Action.Park = true
	b.run()
	if len(b.server.settles) != 1 {
		t.Fatalf("%d settlements, want 1", len(b.server.settles))
	}
	s := b.server.settles[0]
	expect(t, "acks", s.Acks, []broker.ID{id(1), id(5)})
	expect(t, "records dropped", s.Forget, []broker.ID{id(2), id(5)})
	if len(s.Steps) != 1 || s.Steps[0].ID != id(2) || len(s.Waits) != 1 || s.Waits[0].ID != id(3) {
		t.Errorf("steps %v, waits %v", s.Steps, s.Waits)
	}
	expect(t, "released", b.server.released, []broker.ID{id(4)})
	expect(t, "observed", b.results(), []string{"1-0 ack", "2-0 ack", "3-0 ack", "5-0 ack"})
	if b.held.Count() != 0 || !b.parked.Contains(id(3)) {
		t.Errorf("%d still held, parked: %v", b.held.Count(), b.parked.Contains(id(3)))
	}
}

func TestStepsGoOutByID(t *testing.T) {
	b := newBench(t, batch.Step, batch.Step, batch.Step)
	b.item(1).Delivery.ID = id(30)
	b.item(2).Delivery.ID = id(10)
	b.item(3).Delivery.ID = id(20)
	b.run()
	var got []broker.ID
	for _, s := range b.server.settles[0].Steps {
		got = append(got, s.ID)
	}
	expect(t, "steps", got, []broker.ID{id(10), id(20), id(30)})
}

func TestALostAnswerSendsTheSameSettlementAgain(t *testing.T) {
	b := newBench(t, batch.Ack, batch.Step)
	b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
		if n < 3 {
			return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrUnavailable}
		}
		// The first one was written after all.
		return broker.SettleResult{Steps: []broker.StepResult{{Status: broker.NotOwned}, {Status: broker.NotOwned}}}, nil
	}
	b.run()
	if len(b.server.settles) != 3 {
		t.Fatalf("sent %d times, want 3", len(b.server.settles))
	}
	expect(t, "acks of the first", b.server.settles[0].Acks, []broker.ID{id(1)})
	// Another server may answer by then: even an acknowledgement is fenced.
	if again := b.server.settles[2]; len(again.Acks) != 0 || len(again.Steps) != 2 || again.Steps[0].ID != id(1) {
		t.Errorf("the third is %+v", again)
	}
	expect(t, "observed", b.results(), []string{"1-0 ack", "2-0 ack"})
	if b.held.Count() != 0 || len(b.fatal) != 0 {
		t.Errorf("%d held, fatal %v", b.held.Count(), b.fatal)
	}
}

// A renewal between the two attempts does not find what the first one has settled,
// and takes it for lost.
func TestWhatAFirstAttemptHasWrittenIsKnownWhateverARenewalSaysInBetween(t *testing.T) {
	for name, c := range map[string]struct {
		minIdle time.Duration
		// before the first attempt, or in between, a renewal finds the lease lost.
		before, between batch.Lease
		want            string
	}{
		"in between":                      {time.Hour, batch.Ours, batch.Taken, "1-0 ack"},
		"in between, and nobody claims":   {0, batch.Ours, batch.Taken, "1-0 ack"},
		"when another one may have it":    {3 * time.Millisecond, batch.Ours, batch.Taken, "1-0 stale"},
		"before":                          {time.Hour, batch.Taken, batch.Taken, "1-0 stale"},
		"another entry has the id by now": {time.Hour, batch.Ours, batch.Replaced, "1-0 stale"},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBench(t, batch.Step)
			b.settler.MinIdle = c.minIdle
			b.item(1).SetLease(c.before)
			b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
				if n == 1 {
					b.item(1).SetLease(c.between)
					return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrUnavailable}
				}
				<-time.After(c.minIdle % time.Second) // the next attempt may follow at once
				return broker.SettleResult{Steps: []broker.StepResult{{Status: broker.NotOwned}}}, nil
			}
			b.run()
			expect(t, "observed", b.results(), []string{c.want})
		})
	}
}

func TestARefusedStepIsHeldAndSettledAgainWithoutTheOthers(t *testing.T) {
	b := newBench(t, batch.Step, batch.Step)
	b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
		res := allDone(s)
		if n == 1 {
			if !b.held.Contains(id(1)) {
				t.Error("not held while it is settled")
			}
			res.Steps[0] = broker.StepResult{Status: broker.Refused, Err: broker.ErrOutOfMemory}
		}
		return res, nil
	}
	b.run()
	if len(b.server.settles) != 2 || len(b.server.settles[1].Steps) != 1 || b.server.settles[1].Steps[0].ID != id(1) {
		t.Fatalf("settlements: %+v", b.server.settles)
	}
	expect(t, "observed", b.results(), []string{"2-0 ack", "1-0 ack"})
	expect(t, "events", b.events, []observe.EventName{observe.EventSettleRefused, observe.EventSettleAccepted})
}

func TestAFullServerIsToldOfOnceHoweverManyStreamsItRefusesMessagesFor(t *testing.T) {
	b := newBench(t, batch.Step, batch.Step)
	b.server.answer = func(n int, s *broker.Settlement) (broker.SettleResult, error) {
		res := allDone(s)
		if n < 5 {
			for i := range res.Steps { // the first of them is another one each time
				to := []string{"out", "dead"}[(n+i)%2]
				res.Steps[i] = broker.StepResult{Status: broker.Refused, Err: &broker.Error{Op: "publish", Stream: to, Kind: broker.ErrOutOfMemory}}
			}
		}
		return res, nil
	}
	b.run()
	expect(t, "events", b.events, []observe.EventName{observe.EventSettleRefused, observe.EventSettleAccepted})
}

func TestALostLeaseTakesTheReplyButNotTheAcknowledgement(t *testing.T) {
	b := newBench(t, batch.Ack, batch.Step)
	b.item(1).SetLease(batch.Taken)
	b.item(2).SetLease(batch.Taken)
	b.server.answer = func(_ int, s *broker.Settlement) (broker.SettleResult, error) {
		res := allDone(s)
		for i := range res.Steps {
			res.Steps[i].Status = broker.NotOwned
		}
		return res, nil
	}
	b.run()
	expect(t, "acks", b.server.settles[0].Acks, []broker.ID{id(1)})
	expect(t, "observed", b.results(), []string{"1-0 ack", "2-0 stale"})
	expect(t, "events", b.events, []observe.EventName{observe.EventStaleSettle})
}

func TestWhatWasTrimmedWhileItRanIsPublishedOnceWithoutAFence(t *testing.T) {
	b := newBench(t, batch.Step)
	b.item(1).SetLease(batch.BodyGone)
	b.run()
	if len(b.server.added) != 1 || len(b.server.settles[0].Steps) != 0 {
		t.Errorf("added %v, steps %v", b.server.added, b.server.settles[0].Steps)
	}
	expect(t, "events", b.events, []observe.EventName{observe.EventBodyMissing})
}

func TestALostGroupMakesOutcomesStaleAndEndsNothing(t *testing.T) {
	b := newBench(t, batch.Ack, batch.Step)
	b.server.answer = func(int, *broker.Settlement) (broker.SettleResult, error) {
		return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrNoGroup}
	}
	b.run()
	expect(t, "observed", b.results(), []string{"1-0 stale", "2-0 stale"})
	if len(b.fatal) != 0 || b.held.Count() != 0 {
		t.Errorf("fatal %v, %d held", b.fatal, b.held.Count())
	}
}

func TestAnErrorThatDoesNotPassEndsTheSubscriptionAndLeavesTheEntries(t *testing.T) {
	b := newBench(t, batch.Ack)
	b.server.answer = func(int, *broker.Settlement) (broker.SettleResult, error) {
		return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrNoPermission}
	}
	b.run()
	if len(b.fatal) != 1 || !errors.Is(b.fatal[0], broker.ErrNoPermission) || b.settler.Left() != 1 || len(b.settled) != 0 {
		t.Errorf("fatal %v, left %d, observed %v", b.fatal, b.settler.Left(), b.results())
	}
}

func TestStopEndsTheSubscriptionAndKeepsTheEntry(t *testing.T) {
	b := newBench(t, batch.Stop)
	b.item(1).Outcome.Result, b.item(1).Outcome.Explain().Error = observe.ResultInvalid, "bad body"
	b.run()
	if len(b.fatal) != 1 || len(b.server.settles[0].Acks) != 0 {
		t.Fatalf("fatal %v, acks %v", b.fatal, b.server.settles[0].Acks)
	}
	if want := `entry 1-0: bad body (on_invalid = "stop"): it stays pending; mend it or the handler and start again`; b.fatal[0].Error() != want {
		t.Errorf("got %q, want %q", b.fatal[0], want)
	}
}

func TestWhatCannotBeWrittenByTheDeadlineStaysHeld(t *testing.T) {
	b := newBench(t, batch.Ack)
	ctx, cancel := context.WithCancel(t.Context())
	b.server.answer = func(int, *broker.Settlement) (broker.SettleResult, error) {
		cancel()
		return broker.SettleResult{}, &broker.Error{Op: "settle", Kind: broker.ErrUnavailable}
	}
	b.batch.Split(1, 0, false, func(_ int, s batch.Share) { b.settler.In() <- s })
	close(b.settler.In())
	b.settler.Run(ctx)
	if left := b.settler.Left() + b.held.Count(); left != 1 {
		t.Errorf("left %d, want 1", left)
	}
	if len(b.settled) != 0 || len(b.fatal) != 0 {
		t.Errorf("observed %v, fatal %v", b.results(), b.fatal)
	}
}
