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
		x := b.besideOf(r.Stream, r.Group)
		leases := x.leases
		slot = pick(leases[r.Base], r.Token, now)
		if slot == maxSlots {
			return invalid("all 4096 consumer names of this subscription and host are taken")
		}
		if slot == len(leases[r.Base]) || !leases[r.Base][slot].heldBy(r.Token, now) {
			if err := b.room(); err != nil {
				return err
			}
		}
		x.take(r.Base, slot, lease{token: r.Token, minIdle: r.MinIdle, until: now + milliseconds(r.TTL)})
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

// announcement is what one who is alive in a group told the others.
type announcement struct {
	minIdle, follows time.Duration
	// heard is when it was last heard of, until for how long it counts as alive, silent,
	// once it is known to be that, for how long it is remembered.
	heard, until, silent int64
}

// RenewSlot implements broker.Broker.
func (b *Broker) RenewSlot(ctx context.Context, r broker.SlotRequest, slot int) (broker.SlotLease, error) {
	var found broker.SlotLease
	ttl := max(1, milliseconds(r.TTL))
	err := b.extend(ctx, "renew slot", &r, slot, func(l *lease, x *beside, now int64) {
		free := l == nil && x.free(r.Base, slot, now)
		found.Held, found.Time = l != nil || free, instant(now)
		switch {
		case l != nil:
			l.until = now + ttl
		case b.full:
			found.Least, found.Slowest, found.Quiet = x.peers(r.Token, now)
			return // a full server writes it only behind a lease that it extends
		case free:
			x.take(r.Base, slot, lease{token: r.Token, minIdle: r.MinIdle, until: now + ttl})
		}
		lives := max(ttl, milliseconds(r.Follows))
		x.alive[r.Token] = announcement{minIdle: r.MinIdle, follows: r.Follows, heard: now, until: now + lives}
		x.silence(now, lives)
		found.Least, found.Slowest, found.Quiet = x.peers(r.Token, now)
	})
	if err != nil {
		return broker.SlotLease{}, err
	}
	return found, nil
}

// free reports whether nobody holds the slot.
func (x *beside) free(base string, slot int, now int64) bool {
	leases := x.leases[base]
	return slot >= 0 && slot < maxSlots && (slot >= len(leases) || now >= leases[slot].until)
}

// take gives the slot to a holder.
func (x *beside) take(base string, slot int, l lease) {
	if missing := slot + 1 - len(x.leases[base]); missing > 0 {
		x.leases[base] = append(x.leases[base], make([]lease, missing)...)
	}
	x.leases[base][slot] = l
}

// silence finds who has not renewed for longer than it counts as alive, as one who
// itself does for so long, and forgets who must be back by now if it lives.
func (x *beside) silence(now, lives int64) {
	for token, a := range x.alive {
		switch {
		case a.silent == 0 && now > a.until:
			if a.minIdle, a.silent = 0, now+lives; a.follows > 0 {
				a.silent = now + milliseconds(broker.BackWithin(a.follows))
			}
			x.alive[token] = a
		case a.silent > 0 && now > a.silent:
			delete(x.alive, token)
		}
	}
}

// peers is what those who are alive or silent announced together, and for how long one
// of them has not been heard of, other than the one who asks.
func (x *beside) peers(asks string, now int64) (least, slowest, quiet time.Duration) {
	for token, a := range x.alive {
		if token != asks {
			quiet = max(quiet, time.Duration(max(1, now-a.heard))*time.Millisecond)
		}
		if a.minIdle > 0 && (least == 0 || a.minIdle < least) {
			least = a.minIdle
		}
		if a.follows == 0 {
			a.follows = broker.Never
		}
		slowest = max(slowest, a.follows)
	}
	return least, slowest, quiet
}

// living is how many are alive, and until when the last of them is.
func (x *beside) living(now int64) (n int, until time.Time) {
	var last int64
	for _, a := range x.alive {
		if now <= a.until {
			n, last = n+1, max(last, a.until)
		}
	}
	if n == 0 {
		return 0, time.Time{}
	}
	return n, instant(last)
}

// ReleaseSlot implements broker.Broker.
func (b *Broker) ReleaseSlot(ctx context.Context, r broker.SlotRequest, slot int) error {
	return b.extend(ctx, "release slot", &r, slot, func(l *lease, x *beside, _ int64) {
		if l != nil {
			*l = lease{}
		}
		delete(x.alive, r.Token)
	})
}

// extend changes a lease, which is nil if the token does not hold it, and what
// was announced.
func (b *Broker) extend(ctx context.Context, name string, r *broker.SlotRequest, slot int, change func(*lease, *beside, int64)) error {
	return b.do(ctx, operation{name: name, stream: r.Stream, group: r.Group}, func(now int64) error {
		x := b.besideOf(r.Stream, r.Group)
		var held *lease
		if leases := x.leases[r.Base]; slot >= 0 && slot < len(leases) && leases[slot].heldBy(r.Token, now) {
			held = &leases[slot]
		}
		change(held, x, now)
		b.changed()
		return nil
	})
}
