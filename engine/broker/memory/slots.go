package memory

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// maxSlots bounds the search for a free slot, as on a server.
const maxSlots = 4096

// lease is who holds a slot, until when. The zero lease is a free slot.
type lease struct {
	token   string
	minIdle time.Duration
	until   int64
}

func (l *lease) heldBy(token string, now int64) bool { return l.token == token && now < l.until }

// AcquireSlot implements broker.Broker. A slot that the token already holds is
// found again, and its lease starts anew.
func (b *Broker) AcquireSlot(ctx context.Context, r broker.SlotRequest) (int, error) {
	op := operation{name: "acquire slot", stream: r.Stream, group: r.Group}
	if r.Token == "" || r.TTL <= 0 {
		return 0, op.fail(invalid("token and time to live are required"))
	}
	slot := 0
	err := b.do(ctx, op, func(now int64) error {
		leases := b.besideOf(r.Stream, r.Group).leases
		slot = pick(leases[r.Base], r.Token, now)
		if slot == maxSlots {
			return invalid("all 4096 consumer names of this subscription and host are taken")
		}
		if slot == len(leases[r.Base]) {
			leases[r.Base] = append(leases[r.Base], lease{})
		}
		leases[r.Base][slot] = lease{token: r.Token, minIdle: r.MinIdle, until: now + milliseconds(r.TTL)}
		b.changed()
		return nil
	})
	if err != nil {
		return 0, err
	}
	return slot, nil
}

// pick is the slot that the token holds, else the lowest that nobody does.
func pick(leases []lease, token string, now int64) int {
	free := len(leases)
	for i := range leases {
		l := &leases[i]
		if l.heldBy(token, now) {
			return i
		}
		if free == len(leases) && now >= l.until {
			free = i
		}
	}
	return free
}

// RenewSlot implements broker.Broker.
func (b *Broker) RenewSlot(ctx context.Context, r broker.SlotRequest, slot int) (bool, error) {
	return b.extend(ctx, "renew slot", &r, slot, func(l *lease, now int64) { l.until = now + max(1, milliseconds(r.TTL)) })
}

// ReleaseSlot implements broker.Broker.
func (b *Broker) ReleaseSlot(ctx context.Context, r broker.SlotRequest, slot int) error {
	_, err := b.extend(ctx, "release slot", &r, slot, func(l *lease, _ int64) { *l = lease{} })
	return err
}

// extend changes a lease if the token holds it.
func (b *Broker) extend(ctx context.Context, name string, r *broker.SlotRequest, slot int, change func(*lease, int64)) (bool, error) {
	held := false
	err := b.do(ctx, operation{name: name, stream: r.Stream, group: r.Group}, func(now int64) error {
		leases := b.besideOf(r.Stream, r.Group).leases[r.Base]
		if slot < 0 || slot >= len(leases) || !leases[slot].heldBy(r.Token, now) {
			return nil
		}
		held = true
		change(&leases[slot], now)
		b.changed()
		return nil
	})
	return held && err == nil, err
}
