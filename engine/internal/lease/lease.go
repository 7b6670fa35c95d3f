// Package lease keeps what a consumer holds: it renews the slot that gives the
// consumer its name and the entries that are queued or running, and finds out
// when either is lost.
package lease

import (
	"context"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/health"
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
func Caution(minIdle time.Duration) time.Duration { return minIdle/3 + 2*time.Second }

// Keeper renews for one consumer. Its fields are set before Run.
type Keeper struct {
	Broker broker.Broker
	Owner  broker.Owner
	Clock  clock.Clock
	Server *health.Server
	Held   *batch.Held
	// Waits is held while entries are renewed, and by the settler while it puts
	// entries back: a renewal after that would undo their aging.
	Waits *clock.Mutex
	// Slot is the lease of the consumer's name; Number the slot.
	Slot   broker.SlotRequest
	Number int
	// MinIdle is the group's smallest; 0 where nobody claims, and then entries
	// are not renewed.
	MinIdle time.Duration
	// SlotLost is called when another process holds the slot: everything must
	// stop and start again under a new name.
	SlotLost func()
	// EntryLost is called for an entry whose lease is lost while it is held.
	EntryLost func(id broker.ID)
	// Interrupted is called when leases may have run out unnoticed: the server
	// was away, or this process stood still, for too long.
	Interrupted func()
	Event       func(observe.Event)

	ids      []broker.ID
	renewed  time.Time
	slotLost bool
}

// Run renews until ctx is done.
func (k *Keeper) Run(ctx context.Context) {
	slotEvery := k.Slot.TTL / 3
	every := slotEvery
	if k.MinIdle > 0 {
		every = min(every, k.MinIdle/3)
	}
	began := k.Clock.Now()
	k.renewed = began
	slotDue, entriesDue := began.Add(slotEvery), began.Add(k.MinIdle/3)
	for clock.Sleep(ctx, k.Clock, every) == nil {
		now := k.Clock.Now()
		// Half a step early rather than one late: the two rhythms differ.
		if k.MinIdle > 0 && now.Add(every/2).After(entriesDue) {
			k.Renew(ctx)
			entriesDue = now.Add(k.MinIdle / 3)
		}
		if !k.slotLost && !now.Before(slotDue) {
			k.renewSlot(ctx)
			slotDue = now.Add(slotEvery)
		}
	}
}

// answer is how long a renewal may take, so that one which hangs does not make
// the next one late.
func (k *Keeper) answer() time.Duration {
	if k.MinIdle == 0 {
		return k.Slot.TTL / 3
	}
	return max(k.MinIdle/3, time.Second)
}

func (k *Keeper) renewSlot(ctx context.Context) {
	call, cancel := context.WithTimeout(ctx, k.answer())
	defer cancel()
	held, err := k.Broker.RenewSlot(call, k.Slot, k.Number)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		k.failed(err)
	case !held:
		// What is still held is renewed while it is finished under the old name.
		k.slotLost = true
		k.Event(observe.Event{
			Name: observe.EventSlotLost, Level: sandbox.Warn,
			Message: "the lease of consumer " + k.Owner.Consumer + " ran out; starting again under a new name",
		})
		k.SlotLost()
	}
}

// Renew renews every held entry and acts on those that are lost.
func (k *Keeper) Renew(ctx context.Context) {
	k.Waits.Lock(ctx)
	defer k.Waits.Unlock()
	if k.renewed.IsZero() {
		k.renewed = k.Clock.Now()
	}
	k.ids = k.Held.IDs(k.ids[:0])
	late := clock.Since(k.Clock, k.renewed) > 2*k.MinIdle/3
	if len(k.ids) > 0 {
		call, cancel := context.WithTimeout(ctx, k.answer())
		holdings, err := k.Broker.Renew(call, k.Owner, k.ids)
		cancel()
		if err != nil {
			if ctx.Err() == nil {
				k.failed(err)
			}
			return
		}
		for i, h := range holdings {
			k.judge(k.ids[i], h)
		}
	}
	if late {
		k.Interrupted()
	}
	k.renewed = k.Clock.Now()
}

func (k *Keeper) failed(err error) {
	if broker.Transient(err) {
		k.Server.Failed(err)
	}
	if k.MinIdle > 0 && clock.Since(k.Clock, k.renewed) > k.MinIdle/3 {
		k.Interrupted()
	}
}

// judge acts on the answer for one entry. An entry that was settled while the
// question was under way is not pending either: Lose tells them apart.
func (k *Keeper) judge(id broker.ID, h broker.Holding) {
	switch h {
	case broker.Held:
	case broker.HeldByOther:
		if s, ok := k.Held.Lose(id, batch.Taken); ok && s < batch.Finished {
			k.Event(observe.Event{
				Name: observe.EventLeaseLost, Level: sandbox.Warn, Count: 1,
				Message: "entry " + id.String() + " was taken over by another consumer while it was held here; nothing of it is published",
			})
			k.EntryLost(id)
		}
	case broker.BodyGone:
		k.Held.Lose(id, batch.BodyGone)
	}
}
