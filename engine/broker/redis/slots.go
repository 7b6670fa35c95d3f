package redis

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"time"

	"pipeline/engine/broker"
)

//go:embed scripts/slot.lua
var slotText string

//go:embed scripts/renewslot.lua
var renewSlotText string

var (
	slotScript      = newScript(slotText)
	renewSlotScript = newScript(renewSlotText)
)

// Slots are looked at a few at a time: one call nearly always does.
const (
	slotsPerCall = 16
	maxSlots     = 4096
)

// errNoSlot is the end of the search.
var errNoSlot = errors.New("all 4096 consumer names of this subscription and host are taken")

func slotOperation(r *broker.SlotRequest, name string) operation {
	return operation{name: name, stream: r.Stream, group: r.Group}
}

// AcquireSlot implements broker.Broker. A call whose answer was lost may be
// repeated: a slot that the token already holds is found again.
func (b *Broker) AcquireSlot(ctx context.Context, r broker.SlotRequest) (int, error) {
	op := slotOperation(&r, "acquire slot")
	if r.Token == "" || r.TTL <= 0 {
		return 0, b.fail(op, &broker.Error{Detail: "token and time to live are required"})
	}
	keys := b.keys.of(r.Stream, r.Group)
	for first := 0; first < maxSlots; first += slotsPerCall {
		a := newArgs()
		slotScript.call(a, slotsPerCall)
		for n := range slotsPerCall {
			a.word(keys.slotKey(r.Base, first+n))
		}
		a.word(r.Token)
		a.int(milliseconds(r.MinIdle))
		a.int(milliseconds(r.TTL))
		v, err := b.run(ctx, slotScript, a.since(0))
		a.release()
		if err != nil {
			return 0, b.fail(op, err)
		}
		if n, ok := v.(int64); ok && n >= 0 {
			return first + int(n), nil
		}
	}
	return 0, b.fail(op, &broker.Error{Detail: errNoSlot.Error()})
}

// RenewSlot implements broker.Broker.
func (b *Broker) RenewSlot(ctx context.Context, r broker.SlotRequest, slot int) (broker.SlotLease, error) {
	lease, err := b.extend(ctx, &r, slot, max(1, milliseconds(r.TTL)))
	return lease, b.fail(slotOperation(&r, "renew slot"), err)
}

// ReleaseSlot implements broker.Broker.
func (b *Broker) ReleaseSlot(ctx context.Context, r broker.SlotRequest, slot int) error {
	_, err := b.extend(ctx, &r, slot, 0)
	return b.fail(slotOperation(&r, "release slot"), err)
}

// longest is the longest min_idle that can be announced, in milliseconds: the
// script tells the kinds of its scores apart by their range.
const longest = 1_000_000_000_000 - 1

func (b *Broker) extend(ctx context.Context, r *broker.SlotRequest, slot int, ttl int64) (broker.SlotLease, error) {
	keys := b.keys.of(r.Stream, r.Group)
	a := ownArgs()
	renewSlotScript.call(a, 2)
	a.add(keys.slotKey(r.Base, slot), keys.alive, r.Token)
	a.int(ttl)
	a.int(min(milliseconds(r.MinIdle), longest))
	a.int(min(milliseconds(r.Follows), longest))
	a.int(max(ttl, min(milliseconds(r.Follows), longest)))
	v, err := b.background.run(ctx, renewSlotScript, a.since(0))
	if err != nil {
		return broker.SlotLease{}, err
	}
	return slotLease(v)
}

// slotLease reads [held, least, slowest, time, quiet].
func slotLease(v any) (broker.SlotLease, error) {
	list, _ := v.([]any)
	var n [5]int64
	for i := range n {
		if len(list) != len(n) {
			return broker.SlotLease{}, fmt.Errorf("%w of the renewal of a slot", errProtocol)
		}
		n[i], _ = list[i].(int64)
	}
	l := broker.SlotLease{
		Held: n[0] == 1, Least: time.Duration(n[1]) * time.Millisecond, Slowest: time.Duration(n[2]) * time.Millisecond,
		Time: instant(n[3]), Quiet: time.Duration(n[4]) * time.Millisecond,
	}
	if n[2] < 0 {
		l.Slowest = broker.Never
	}
	return l, nil
}
