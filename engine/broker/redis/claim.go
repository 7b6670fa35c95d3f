package redis

import (
	"context"
	_ "embed"
	"slices"
	"time"

	"pipeline/engine/broker"
)

//go:embed scripts/takeover.lua
var takeoverText string

var takeoverScript = newScript(takeoverText)

//go:embed scripts/claimidle.lua
var claimIdleText string

var claimIdleScript = newScript(claimIdleText)

// AutoClaim implements broker.Broker: it looks through a page of the pending list
// (XPENDING), and a script takes what is idle. If an answer of that is lost,
// entries of the page are pending under the consumer.
func (b *Broker) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	op := on(r.Owner, "claim")
	if r.Count < 1 {
		return broker.AutoClaimed{}, b.fail(op, &broker.Error{Detail: "count must be at least 1"})
	}
	looks := r.Looks()
	list, err := b.pendingRange(ctx, r.Stream, r.Group, "", r.Start.Prev(), broker.MaxID, looks+1)
	if err != nil {
		return broker.AutoClaimed{}, b.fail(op, err)
	}
	var page broker.AutoClaimed
	if len(list) > looks {
		page.Next = list[looks].ID
		list = list[:looks]
	}
	err = b.claimIdle(ctx, &r, list, &page)
	return page, b.fail(op, err)
}

// claimIdle takes over what is idle of a list of pending entries, until the page
// is full.
func (b *Broker) claimIdle(ctx context.Context, r *broker.AutoClaimRequest, list []broker.Pending, page *broker.AutoClaimed) error {
	idle := time.Duration(milliseconds(r.MinIdle)) * time.Millisecond
	var took broker.TakenOver
	for {
		room := min(r.Count-len(took.Deliveries)-len(took.Deleted), maxEntries)
		var ids []broker.ID
		at := 0
		for ; at < len(list) && len(ids) < room; at++ {
			if list[at].Idle >= idle {
				ids = append(ids, list[at].ID)
			}
		}
		if len(ids) > 0 {
			if err := b.claimIdleIDs(ctx, r, ids, &took); err != nil {
				return err
			}
		}
		list = list[at:]
		page.Deliveries, page.Deleted = took.Deliveries, took.Deleted
		if len(list) == 0 {
			return nil
		}
		if len(took.Deliveries)+len(took.Deleted) == r.Count {
			page.Next = list[0].ID
			return nil
		}
	}
}

func (b *Broker) claimIdleIDs(ctx context.Context, r *broker.AutoClaimRequest, ids []broker.ID, took *broker.TakenOver) error {
	a := newArgs()
	defer a.release()
	mark := claimIdleScript.call(a, 1)
	a.add(r.Stream, r.Group, r.Consumer)
	a.int(milliseconds(r.MinIdle))
	if r.JustDeleted {
		a.int(1)
	} else {
		a.int(0)
	}
	for _, id := range ids {
		a.id(id)
	}
	reply, err := b.runRaw(ctx, claimIdleScript, a.since(mark))
	if err != nil {
		return err
	}
	return takenOver(took, reply)
}

// TakeOver implements broker.Broker, with one script for every 250 ids. After
// an error, entries of earlier scripts are pending under the owner.
func (b *Broker) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	op := on(o, "take over")
	var out broker.TakenOver
	for chunk := range slices.Chunk(ids, maxEntries) {
		a := newArgs()
		reply, err := b.runRaw(ctx, takeoverScript, ownedIDs(a, takeoverScript, o, from, chunk))
		a.release()
		if err == nil {
			err = takenOver(&out, reply)
		}
		if err != nil {
			return out, b.fail(op, err)
		}
	}
	return out, nil
}

// takenOver reads [[id, deliveries, …], entries].
func takenOver(out *broker.TakenOver, reply string) error {
	c := cursor{text: reply}
	if n, err := c.array(); err != nil || n != 2 {
		return cmpError(err, c.fail("two lists"))
	}
	n, err := c.array()
	if err != nil || n%2 != 0 {
		return cmpError(err, c.fail("list of ids and counts"))
	}
	counts := make(map[broker.ID]int64, max(0, n/2))
	order := make([]broker.ID, 0, max(0, n/2))
	for range n / 2 {
		id, err := c.id()
		if err != nil {
			return err
		}
		if counts[id], err = c.integer(); err != nil {
			return err
		}
		order = append(order, id)
	}
	entries, err := readDeliveries(&c)
	if err != nil {
		return err
	}
	for i := range entries {
		entries[i].Deliveries = counts[entries[i].ID]
		delete(counts, entries[i].ID)
	}
	out.Deliveries = append(out.Deliveries, entries...)
	for _, id := range order {
		if _, gone := counts[id]; gone {
			out.Deleted = append(out.Deleted, id)
		}
	}
	return nil
}

// cmpError is the first error, or the second without one.
func cmpError(err, otherwise error) error {
	if err != nil {
		return err
	}
	return otherwise
}
