package lease

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// rounds bounds how often one renewal of the slot asks: to learn, to tell, and
// once more for those who announced themselves between the two.
const rounds = 4

// follow announces this consumer to its group and follows the smallest min_idle
// with which anyone alive claims.
//
// What is announced is never smaller than what is done: a smaller min_idle is
// announced only after everything held was renewed by it, and a larger one
// before it is followed, and then only if nobody objects. So whoever sees that
// all announce at most its own min_idle may claim: what any of them holds was
// renewed within a third of that, and will be. Whoever renews nothing, because
// its pipeline claims nothing, is waited for in the same way.
//
// Who is new in the group cannot know whether the server was away just now. Where
// one of the others has not been heard of for nearly a third of min_idle, it claims
// nothing for the time of Caution. What is held by those who have was renewed within
// a third of min_idle before that, see inTime, and will be when they are back from an
// interruption since, a sixth and a second after this one is at the latest, see
// renewBy: together less than min_idle.
func (k *Keeper) follow(ctx context.Context) error {
	for range rounds {
		asked := k.Clock.Now()
		found, err := k.announce(ctx)
		if err != nil {
			return err
		}
		k.name.part.OK()
		k.Time.Hear(found.Time)
		k.grant(asked, found)
		if !found.Held && k.opened {
			k.slotTaken()
		}
		least := found.Least
		if longer(least, k.MinIdle) { // a full server may not have written down what this one announced
			least = k.MinIdle
		}
		if least == k.follows && least == k.Slot.Follows || !k.adopt(ctx, least) {
			return nil
		}
	}
	return nil
}

// adopt goes one step towards renewing by the least min_idle and reports whether
// that has to be announced.
func (k *Keeper) adopt(ctx context.Context, least time.Duration) bool {
	if longer(least, k.follows) {
		if k.Slot.Follows == least {
			// It was announced, and nobody claims with a smaller one.
			k.renewBy(least)
			return false
		}
		k.Slot.Follows = least
		return true
	}
	k.renewBy(least)
	k.entries.due = k.Clock.Now().Add(least / 3)
	if !k.Renew(ctx) {
		return false // it is announced with the next renewal that is answered
	}
	k.Slot.Follows = least
	return true
}

// inTime reports whether what is held was renewed in time, or is renewed now. Who is
// heard of by its slot must have: see follow.
func (k *Keeper) inTime(ctx context.Context, now time.Time) bool {
	if k.follows == 0 || k.sinceRenewed() <= 2*k.follows/3 {
		return true
	}
	renewed := k.Renew(ctx)
	k.entries.done(now, renewed, k.follows/3)
	return renewed
}

// renewBy has entries renewed by a min_idle. Whoever is back first after an outage
// claims nothing for the time of Caution: a server that is away is asked for twice as
// often, so that what is held here is renewed by then even where an attempt hangs.
func (k *Keeper) renewBy(minIdle time.Duration) {
	k.follows = minIdle
	if minIdle > 0 {
		k.Server.Within(Caution(minIdle) / 2)
	}
}

// longer compares what is followed; 0 is never.
func longer(x, y time.Duration) bool { return y != 0 && (x == 0 || x > y) }

func (k *Keeper) announce(ctx context.Context) (broker.SlotLease, error) {
	call, cancel := context.WithTimeout(ctx, k.answer())
	defer cancel()
	return k.Broker.RenewSlot(call, k.Slot, k.Number)
}

// grant gives the right to claim for as long as what was announced lives, or
// takes it.
func (k *Keeper) grant(asked time.Time, found broker.SlotLease) {
	if k.Permit == nil || k.MinIdle == 0 {
		return
	}
	if !k.opened && found.Quiet > max(0, k.MinIdle/3-time.Second) {
		k.Permit.Pause(Caution(k.MinIdle))
	}
	if found.Slowest > k.MinIdle {
		k.Permit.Revoke()
		return
	}
	k.Permit.Grant(asked.Add(max(k.Slot.TTL, k.Slot.Follows)))
}
