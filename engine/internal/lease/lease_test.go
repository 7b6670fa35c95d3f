package lease_test

import (
	"context"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	"go.uber.org/goleak"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/lease"
	"pipeline/engine/observe"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func id(n int) broker.ID { return broker.ID{Ms: uint64(n)} }

// server answers renewals as a test says.
type server struct {
	broker.Broker
	holding broker.Holding
	err     error
	slot    bool
	hangs   bool
	deaf    bool // for entries only
	quiet   time.Duration
	mu      sync.Mutex
	renews  []time.Duration
	slots   int
	clock   clock.Clock
}

func (f *server) Renew(_ context.Context, _ broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	f.mu.Lock()
	defer f.mu.Unlock()
	f.renews = append(f.renews, f.clock.Now().Sub(time.Unix(0, 0)))
	if f.deaf {
		return nil, &broker.Error{Op: "renew", Kind: broker.ErrUnavailable}
	}
	return slices.Repeat([]broker.Holding{f.holding}, len(ids)), f.err
}

func (f *server) RenewSlot(ctx context.Context, r broker.SlotRequest, _ int) (broker.SlotLease, error) {
	if f.hangs {
		<-ctx.Done()
		return broker.SlotLease{}, &broker.Error{Op: "renew slot", Kind: broker.ErrUnavailable}
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	f.slots++
	return broker.SlotLease{Held: f.slot, Least: r.MinIdle, Slowest: r.Follows, Quiet: f.quiet}, f.err
}

// bench is a keeper of one held entry.
type bench struct {
	clock       *clock.Virtual
	server      *server
	keeper      *lease.Keeper
	item        *batch.Item
	items       *batch.Batch
	lost        []broker.ID
	slotLost    int
	interrupted int
	events      []observe.EventName
	fatal       []error
}

func newBench(minIdle time.Duration) *bench {
	b := &bench{clock: clock.NewVirtual(time.Unix(0, 0))}
	b.server = &server{clock: b.clock, slot: true}
	held := batch.NewHeld()
	items := batch.Get(1)
	items.Grow().Delivery.ID = id(1)
	held.Add(items)
	b.item, b.items = &items.Items[0], items
	b.keeper = &lease.Keeper{
		Broker: b.server, Clock: b.clock, Held: held, Waits: &clock.Mutex{}, MinIdle: minIdle,
		Server:   health.New(b.clock, rand.Float64, func(observe.Event) {}),
		Slot:     broker.SlotRequest{TTL: lease.TTL(time.Second)},
		SlotLost: func() { b.slotLost++ }, EntryLost: func(id broker.ID) { b.lost = append(b.lost, id) },
		Interrupted: func() { b.interrupted++ }, Event: func(e observe.Event) { b.events = append(b.events, e.Name) },
		Permit: lease.NewPermit(b.clock), Fatal: func(err error) { b.fatal = append(b.fatal, err) },
	}
	if err := b.keeper.Open(context.Background()); err != nil {
		panic(err)
	}
	b.server.slots = 0
	return b
}

func TestEntriesAreRenewedAtAThirdOfMinIdleAndTheSlotAtAThirdOfItsLease(t *testing.T) {
	b := newBench(30 * time.Second)
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.keeper.Run(ctx) })
	for range 60 {
		// One step of the clock only once the keeper waits for it.
		for _, armed := b.clock.Next(); !armed; _, armed = b.clock.Next() {
			runtime.Gosched()
		}
		b.clock.Advance(time.Second)
	}
	cancel()
	running.Wait()
	if n := len(b.server.renews); n < 5 || n > 7 {
		t.Errorf("renewed at %v within a minute, want about every ten seconds", b.server.renews)
	}
	if b.server.slots < 17 || b.server.slots > 20 {
		t.Errorf("the slot was renewed %d times within a minute, want about every three seconds", b.server.slots)
	}
}

// What others will take, because it cannot be renewed, is not to be worked on in
// silence. A server that is away is waited for, and a lost group is restored.
func TestARenewalThatIsRefusedForGoodIsTold(t *testing.T) {
	for err, want := range map[error]int{
		broker.ErrNoPermission: 1, broker.ErrWrongType: 1, broker.ErrUnavailable: 0, broker.ErrAuth: 0, broker.ErrNoGroup: 0, broker.ErrClosed: 0,
	} {
		b := newBench(3 * time.Second)
		b.server.err = &broker.Error{Op: "renew", Kind: err}
		if b.keeper.Renew(t.Context()) {
			t.Errorf("%v: a renewal that failed counts as one", err)
		}
		if len(b.fatal) != want {
			t.Errorf("%v was told %d times, want %d", err, len(b.fatal), want)
		}
	}
}

// What is settled while the server is away need not be renewed any more, and must not
// keep the server from being back.
func TestARenewalThatFailedAndIsNotNeededAnyMoreDoesNotKeepTheServerDown(t *testing.T) {
	b := newBench(3 * time.Second)
	turns := clock.NewTurns()
	ctx, cancel := context.WithCancel(turns.Context(t.Context()))
	turns.Go("keeper", func() { b.keeper.Run(ctx) })
	step := func(d time.Duration) {
		t.Helper()
		until := b.clock.Now().Add(d)
		if err := turns.Run(t.Context(), time.Minute, func() bool { return b.clock.AdvanceToNext(until) }); err != nil {
			t.Fatal(err)
		}
	}
	b.server.err = broker.ErrUnavailable
	step(10 * time.Second)
	if !b.keeper.Server.Down() {
		t.Fatal("renewals fail and the server is up")
	}
	b.keeper.Held.Settled(b.items, []*batch.Item{b.item})
	b.server.err = nil
	step(time.Minute)
	if b.keeper.Server.Down() {
		t.Error("renewals of the slot succeed, nothing is held, and the server is down")
	}
	cancel()
	if err := turns.Run(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
}

func TestALostSlotIsToldOnceWhileWhatIsHeldIsRenewedOn(t *testing.T) {
	b := newBench(30 * time.Second)
	b.server.slot = false
	turns := clock.NewTurns()
	ctx, cancel := context.WithCancel(turns.Context(t.Context()))
	turns.Go("keeper", func() { b.keeper.Run(ctx) })
	minute := b.clock.Now().Add(time.Minute)
	if err := turns.Run(t.Context(), time.Minute, func() bool { return b.clock.AdvanceToNext(minute) }); err != nil {
		t.Fatal(err)
	}
	cancel()
	if err := turns.Run(t.Context(), time.Minute, nil); err != nil {
		t.Fatal(err)
	}
	if b.slotLost != 1 || !slices.Equal(b.events, []observe.EventName{observe.EventSlotLost}) {
		t.Errorf("told %d times, events %v", b.slotLost, b.events)
	}
	if n := len(b.server.renews); n < 5 || n > 7 {
		t.Errorf("renewed at %v within a minute, want about every ten seconds", b.server.renews)
	}
}

// The slot and the entries may be renewed over different connections, of which
// one is dead: what is held must not be taken by others for that.
func TestASlotRenewalWithoutAnAnswerDoesNotCostTheEntries(t *testing.T) {
	b := newBench(3 * time.Second)
	b.server.hangs = true
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.keeper.Run(ctx) })
	defer running.Wait()
	defer cancel()
	limit := time.Now().Add(20 * time.Second)
	for {
		b.server.mu.Lock()
		n := len(b.server.renews)
		b.server.mu.Unlock()
		if n >= 8 { // two renewals of the slot lie between
			break
		}
		if time.Now().After(limit) {
			t.Fatalf("%d renewals of entries: they wait for that of the slot", n)
		}
		if _, armed := b.clock.Next(); armed {
			b.clock.Advance(100 * time.Millisecond)
		}
		runtime.Gosched()
	}
}

// Who is heard of by its slot has renewed what it holds: by that a newcomer tells
// that it may claim.
func TestTheSlotIsNotRenewedWhileEntriesAreLate(t *testing.T) {
	b := newBench(30 * time.Second)
	b.server.deaf = true
	ctx, cancel := context.WithCancel(t.Context())
	var running sync.WaitGroup
	running.Go(func() { b.keeper.Run(ctx) })
	slots := func(seconds int) int {
		b.server.mu.Lock()
		before := b.server.slots
		b.server.mu.Unlock()
		for range seconds {
			for _, armed := b.clock.Next(); !armed; _, armed = b.clock.Next() {
				runtime.Gosched()
			}
			b.clock.Advance(time.Second)
		}
		for _, armed := b.clock.Next(); !armed; _, armed = b.clock.Next() {
			runtime.Gosched()
		}
		b.server.mu.Lock()
		defer b.server.mu.Unlock()
		return b.server.slots - before
	}
	if n := slots(18); n < 4 {
		t.Errorf("renewed %d times in 18 s in which the entries were not late yet", n)
	}
	slots(3)
	if n := slots(60); n > 0 {
		t.Errorf("renewed %d times while what is held was not renewed for two thirds of min_idle", n)
	}
	b.server.mu.Lock()
	b.server.deaf = false
	b.server.mu.Unlock()
	if n := slots(30); n < 4 {
		t.Errorf("renewed %d times in 30 s after the entries were", n)
	}
	cancel()
	running.Wait()
}

// A newcomer claims at once where everybody was heard of just now.
func TestANewcomerWaitsWhereAnotherHasBeenQuiet(t *testing.T) {
	if b := newBench(time.Second); !b.keeper.Permit.Allows() {
		t.Error("who is alone may not claim")
	}
	for quiet, want := range map[time.Duration]bool{0: true, 8 * time.Second: true, 9*time.Second + 1: false, time.Hour: false} {
		b := newBench(30 * time.Second)
		b.server.quiet = quiet
		permit := lease.NewPermit(b.clock)
		k := &lease.Keeper{
			Broker: b.server, Clock: b.clock, Held: batch.NewHeld(), Waits: &clock.Mutex{}, MinIdle: 30 * time.Second,
			Server: b.keeper.Server, Slot: b.keeper.Slot, Permit: permit,
		}
		if err := k.Open(t.Context()); err != nil {
			t.Fatal(err)
		}
		if permit.Allows() != want {
			t.Errorf("another was quiet for %v: allowed to claim %v", quiet, !want)
		}
		b.clock.Advance(lease.Caution(30 * time.Second))
		k.Permit.Grant(b.clock.Now().Add(time.Second))
		if !permit.Allows() {
			t.Errorf("another was quiet for %v: it may not claim though everybody must be back", quiet)
		}
	}
}

func TestALostEntryIsToldAndCalledOff(t *testing.T) {
	b := newBench(30 * time.Second)
	b.server.holding = broker.HeldByOther
	b.keeper.Renew(t.Context())
	if b.item.Lease() != batch.Taken || !slices.Equal(b.lost, []broker.ID{id(1)}) {
		t.Errorf("lease %v, called off %v", b.item.Lease(), b.lost)
	}
	if !slices.Equal(b.events, []observe.EventName{observe.EventLeaseLost}) {
		t.Errorf("events %v", b.events)
	}
}

func TestAnEntryThatIsFinishedAlreadyIsNotCalledOff(t *testing.T) {
	// Its settlement may have been written while the question was under way.
	b := newBench(30 * time.Second)
	b.item.SetState(batch.Finished)
	b.server.holding = broker.HeldByOther
	b.keeper.Renew(t.Context())
	if len(b.lost) != 0 || len(b.events) != 0 {
		t.Errorf("called off %v, events %v", b.lost, b.events)
	}
}

func TestATrimmedEntryGoesOn(t *testing.T) {
	b := newBench(30 * time.Second)
	b.server.holding = broker.BodyGone
	b.keeper.Renew(t.Context())
	if b.item.Lease() != batch.BodyGone || len(b.lost) != 0 {
		t.Errorf("lease %v, called off %v", b.item.Lease(), b.lost)
	}
}

func TestAStallAndAnUnansweredRenewalStopClaiming(t *testing.T) {
	b := newBench(30 * time.Second)
	b.keeper.Renew(t.Context())
	b.clock.Advance(10 * time.Second)
	b.keeper.Renew(t.Context())
	if b.interrupted != 0 {
		t.Fatal("interrupted without cause")
	}
	b.clock.Advance(21 * time.Second)
	b.keeper.Renew(t.Context())
	if b.interrupted != 1 {
		t.Errorf("a stall of two thirds of min_idle: interrupted %d times", b.interrupted)
	}
	b.server.err = &broker.Error{Op: "renew", Kind: broker.ErrUnavailable}
	b.clock.Advance(11 * time.Second)
	b.keeper.Renew(t.Context())
	if b.interrupted != 2 {
		t.Errorf("an unanswered renewal: interrupted %d times", b.interrupted)
	}
}

// A keeper that has nothing left to renew asks nothing: its last failure must not
// make the server count as away for ever.
func TestAKeeperWithNothingToRenewDoesNotKeepTheServerAway(t *testing.T) {
	b := newBench(30 * time.Second)
	b.server.err = &broker.Error{Op: "renew", Kind: broker.ErrUnavailable}
	if b.keeper.Renew(t.Context()) || !b.keeper.Server.Down() {
		t.Fatal("a renewal without an answer does not count as one")
	}
	b.server.err = nil
	b.keeper.Held = batch.NewHeld()
	if !b.keeper.Renew(t.Context()) {
		t.Fatal("nothing to renew is a failure")
	}
	other := b.keeper.Server.Part()
	other.OK()
	if b.keeper.Server.Down() {
		t.Error("the server is still away, though everybody who asks is answered")
	}
}
