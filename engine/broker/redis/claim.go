package redis

import (
	"context"
	_ "embed"
	"slices"

	"pipeline/engine/broker"
)

//go:embed scripts/takeover.lua
var takeoverText string

var takeoverScript = newScript(takeoverText)

// longIdle is a min-idle-time that no entry reaches, in milliseconds: an
// XAUTOCLAIM with it only drops what has no body any more.
const longIdle = 9_000_000_000_000

// AutoClaim implements broker.Broker. XAUTOCLAIM does not tell how often an
// entry was delivered, so that is asked after it (XPENDING); if the second
// answer is lost, the entries of the page are pending under the consumer.
func (b *Broker) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	op := on(r.Owner, "claim")
	if r.Count < 1 {
		return broker.AutoClaimed{}, b.fail(op, &broker.Error{Detail: "count must be at least 1"})
	}
	a := newArgs()
	defer a.release()
	a.add("XAUTOCLAIM", r.Stream, r.Group, r.Consumer)
	if r.JustDeleted {
		a.int(longIdle)
	} else {
		a.int(milliseconds(r.MinIdle))
	}
	a.id(r.Start)
	a.add("COUNT")
	a.int(int64(r.Count))
	if r.JustDeleted {
		a.add("JUSTID")
	}
	reply, err := b.raw(ctx, a.since(0))
	if err != nil {
		return broker.AutoClaimed{}, b.fail(op, err)
	}
	page, err := autoClaimReply(reply, r.JustDeleted)
	if err == nil {
		err = b.countDeliveries(ctx, r.Owner, page.Deliveries)
	}
	return page, b.fail(op, err)
}

// autoClaimReply reads [cursor, entries or ids, deleted ids]; the third part
// is missing before 7.0.
func autoClaimReply(reply string, justIDs bool) (page broker.AutoClaimed, err error) {
	c := cursor{text: reply}
	parts, err := c.array()
	if err != nil {
		return page, err
	}
	if parts != 2 && parts != 3 {
		return page, c.fail("cursor with its page")
	}
	if page.Next, err = c.id(); err != nil {
		return page, err
	}
	if justIDs {
		err = c.skip(3)
	} else {
		page.Deliveries, err = readDeliveries(&c)
	}
	if err == nil && parts == 3 {
		page.Deleted, err = c.ids()
	}
	return page, err
}

// countDeliveries fills in how often entries that the consumer has just
// claimed had been delivered before.
func (b *Broker) countDeliveries(ctx context.Context, o broker.Owner, claimed []broker.Delivery) error {
	if len(claimed) == 0 {
		return nil
	}
	at := make(map[broker.ID]*broker.Delivery, len(claimed))
	after, last := claimed[0].ID, claimed[0].ID
	for i := range claimed {
		at[claimed[i].ID] = &claimed[i]
		after, last = earlier(after, claimed[i].ID), later(last, claimed[i].ID)
	}
	after = after.Prev()
	for after.Less(last) {
		page, err := b.pendingRange(ctx, o.Stream, o.Group, o.Consumer, after, last, len(claimed))
		if err != nil {
			return err
		}
		for i := range page {
			if d := at[page[i].ID]; d != nil {
				d.Deliveries = page[i].Deliveries - 1
			}
		}
		if len(page) < len(claimed) {
			break
		}
		after = page[len(page)-1].ID
	}
	return nil
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
