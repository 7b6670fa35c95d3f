// Package lease keeps what a consumer holds: it renews the slot that gives the
// consumer its name and the entries that are queued or running, and finds out
// when either is lost.
package lease

import (
	"context"
	"errors"
	"slices"
	"sync"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
	"pipeline/engine/internal/hold"
	"pipeline/engine/observe"
	"pipeline/sandbox"
)

// Grace is how much longer than its Block a read may take.
const Grace = 2 * time.Second

// TTL is how long a slot is leased: three reads, so that one that hangs does
// not cost the name.
func TTL(block time.Duration) time.Duration { return 3 * (block + Grace) }

// Caution is how long nothing is claimed after an interruption, so that
// everyone can renew first: otherwise everyone takes everyone's entries.
func Caution(minIdle time.Duration) time.Duration { return broker.BackWithin(minIdle) }

// Keeper renews for one consumer. Its fields are set before Run.
type Keeper struct {
	Broker broker.Broker
	Owner  broker.Owner
	Clock  clock.Clock
	Server *health.Server
	Held   *batch.Held
	// Keys are those that are held; nil where none are. What waits there is
	// renewed as well.
	Keys *hold.Keys
	// Waits is held while entries are renewed, and by the settler while it puts
	// entries back: a renewal after that would undo their aging.
	Waits *clock.Mutex
	// Slot is the lease of the consumer's name; Number the slot. What it announces
	// is the keeper's to change.
	Slot   broker.SlotRequest
	Number int
	// MinIdle is the smallest with which this pipeline claims in the group; 0
	// where it does not. Others may claim with a smaller one: see follow.
	MinIdle time.Duration
	// Permit is granted while this consumer may claim.
	Permit *Permit
	// Time is set by what the server answers; nil where nobody needs it.
	Time *ServerTime
	// Origin is a moment that all consumers of the process share: see align. Zero: they
	// share none.
	Origin time.Time
	// SlotLost is called when another process holds the slot: everything must
	// stop and start again under a new name.
	SlotLost func()
	// EntryLost is called for an entry whose lease is lost while it is held.
	EntryLost func(id broker.ID)
	// Fatal is told of an error that does not pass: what cannot be renewed is not
	// to be worked on, because others take it.
	Fatal func(error)
	// Interrupted is called when leases may have run out unnoticed: the server
	// was away, or this process stood still, for too long.
	Interrupted func()
	Event       func(observe.Event)

	// follows is the min_idle at a third of which entries are renewed; 0 where
	// nobody claims, and then they are not.
	follows time.Duration
	ids     []broker.ID
	// taken and gone are entries of closed keys that were lost, to be told of.
	taken, gone []broker.ID
	renewed     time.Time
	opened      bool
	slotLost    bool
	// name and entries are when the slot and what is held are renewed next.
	name, entries task

	mu sync.Mutex
	// waiting is exact from the moment that the timer fires, before Run goes on.
	waiting bool
}

// Open announces the consumer to the group. Call it before anything is read or
// claimed, and before Run.
func (k *Keeper) Open(ctx context.Context) error {
	k.name.part, k.entries.part = k.Server.Part(), k.Server.Part()
	k.renewBy(k.MinIdle)
	k.Slot.Follows = k.MinIdle
	now := k.Clock.Now()
	k.renewed, k.name.due, k.entries.due = now, now.Add(k.slotEvery()), now.Add(k.follows/3)
	err := k.follow(ctx)
	k.name.due = now.Add(k.slotEvery())
	if err == nil {
		k.align()
	}
	k.opened = true
	return err
}

// Run renews until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	defer k.name.part.Leave()
	defer k.entries.part.Leave()
	for k.sleep(ctx) == nil {
		now := k.Clock.Now()
		if k.Held.Count()+k.Keys.Count() == 0 {
			k.entries.leave(now, k.follows/3) // takes no turn from those who have something to ask
		}
		if k.follows > 0 && k.entries.ready(now) {
			k.entries.done(now, k.Renew(ctx), k.follows/3)
		}
		switch {
		case !k.name.ready(now):
		case k.inTime(ctx, now):
			answered := k.renewSlot(ctx)
			if k.name.done(now, answered, k.slotEvery()); answered {
				k.align()
			}
		default:
			k.name.due = k.entries.due
		}
	}
}

// Waiting reports whether nothing is to be renewed now.
func (k *Keeper) Waiting() bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	return k.waiting
}

// slotEvery is how often the slot is renewed: more often while this consumer
// waits for the others to renew as often as it needs.
func (k *Keeper) slotEvery() time.Duration {
	every := k.Slot.TTL / 3
	if k.MinIdle > 0 && k.Permit != nil && !k.Permit.granted() {
		every = min(every, time.Second)
	}
	return every
}

// align has the slot renewed when those of other consumers of the process are, up to a
// sixteenth of the interval sooner than it has to be: what is asked at the same time
// can be sent together.
func (k *Keeper) align() {
	if step := k.slotEvery() / 16; !k.Origin.IsZero() && step > 0 && k.name.due.After(k.Origin) {
		k.name.due = k.name.due.Add(-(k.name.due.Sub(k.Origin) % step))
	}
}

// answer is how long a renewal may take, so that one which hangs does not make
// the next one late.
func (k *Keeper) answer() time.Duration {
	if k.follows == 0 {
		return k.Slot.TTL / 3
	}
	return max(k.follows/3, time.Second)
}

// renewSlot reports whether the server answered.
func (k *Keeper) renewSlot(ctx context.Context) bool {
	err := k.follow(ctx)
	if err != nil && ctx.Err() == nil {
		k.failed(&k.name, err)
	}
	return err == nil
}

// slotTaken acts, once, on a slot that is lost. What is still held is renewed
// while it is finished under the old name, and announced as before.
func (k *Keeper) slotTaken() {
	if k.slotLost {
		return
	}
	k.slotLost = true
	k.Event(observe.Event{
		Name: observe.EventSlotLost, Level: sandbox.Warn,
		Message: "the lease of consumer " + k.Owner.Consumer + " ran out; starting again under a new name",
	})
	k.SlotLost()
}

// Renew renews every held entry, acts on those that are lost, and reports
// whether the server answered.
func (k *Keeper) Renew(ctx context.Context) bool {
	k.Waits.Lock(ctx)
	defer k.Waits.Unlock()
	k.ids = k.Held.IDs(k.ids[:0])
	if k.Keys.Count() > 0 {
		// Claims take what was renewed first. If this process dies, that is the
		// order of the ids.
		k.ids = k.Keys.IDs(k.ids)
		slices.SortFunc(k.ids, broker.ID.Compare)
	}
	late := k.sinceRenewed() > 2*k.follows/3
	if len(k.ids) > 0 {
		holdings, err := k.renew(ctx)
		if err != nil {
			if ctx.Err() == nil {
				k.failed(&k.entries, err)
			}
			return false
		}
		k.entries.part.OK()
		for i, h := range holdings {
			k.judge(k.ids[i], h)
		}
		k.tellLost()
	} else {
		k.entries.part.Leave() // what is held is not to be renewed: nothing was asked
	}
	if late {
		k.Interrupted()
	}
	k.renewed = k.Clock.Now()
	return true
}

func (k *Keeper) renew(ctx context.Context) ([]broker.Holding, error) {
	call, cancel := context.WithTimeout(ctx, k.answer())
	defer cancel()
	return k.Broker.Renew(call, k.Owner, k.ids)
}

// sinceRenewed is how long ago the last renewal was: by the wall clock where that
// is more, because it runs on while the machine is suspended.
func (k *Keeper) sinceRenewed() time.Duration {
	now := k.Clock.Now()
	return max(now.Sub(k.renewed), now.Round(0).Sub(k.renewed.Round(0)))
}

func (k *Keeper) failed(t *task, err error) {
	switch {
	case broker.Transient(err):
		t.part.Failed(err)
	case errors.Is(err, broker.ErrNoGroup):
		k.Server.GroupLost()
	case !errors.Is(err, broker.ErrClosed):
		k.Fatal(err)
	}
	if k.follows > 0 && k.sinceRenewed() > k.follows/3 {
		k.Interrupted()
	}
}

// judge acts on the answer for one entry. An entry that was settled while the
// question was under way is not pending either: Lose tells them apart.
func (k *Keeper) judge(id broker.ID, h broker.Holding) {
	switch h {
	case broker.Held:
	case broker.HeldByOther:
		if k.Keys.Lose(id) {
			k.taken = append(k.taken, id)
			return
		}
		if s, ok := k.Held.Lose(id, batch.Taken); ok && s < batch.Finished {
			k.Event(observe.Event{
				Name: observe.EventLeaseLost, Level: sandbox.Warn, Count: 1,
				Message: "entry " + id.String() + " was taken over by another consumer while it was held here; nothing of it is published",
			})
			k.EntryLost(id)
		}
	case broker.BodyGone:
		if k.Keys.Lose(id) {
			k.gone = append(k.gone, id)
			return
		}
		k.Held.Lose(id, batch.BodyGone)
	}
}

// tellLost tells of entries that were lost while they waited under a closed key,
// which opens by that.
func (k *Keeper) tellLost() {
	if n := len(k.taken); n > 0 {
		k.Event(observe.Event{
			Name: observe.EventLeaseLost, Level: sandbox.Warn, Count: n,
			Message: "entries held behind earlier ones of their keys, from " + k.taken[0].String() + " to " + k.taken[n-1].String() +
				", were taken over by another consumer; they are not run here",
		})
	}
	if n := len(k.gone); n > 0 {
		k.Event(observe.Event{
			Name: observe.EventBodyMissing, Level: sandbox.Error, Count: n,
			Message: "entries were deleted from the stream while they waited under their keys: " + k.gone[0].String() + " to " + k.gone[n-1].String(),
		})
	}
	k.taken, k.gone = k.taken[:0], k.gone[:0]
}
