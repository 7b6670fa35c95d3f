// Package waiting reads what is pending in the groups of a pipeline: a page at a
// time, with the records of retries, when each entry may run again and why it
// waits. It changes nothing. It needs XINFO GROUPS, XPENDING and, for the records,
// HMGET on the group's keys; with XRANGE it tells which entries were trimmed.
package waiting

import (
	"context"
	"errors"
	"time"

	"pipeline/cmd/pipeline/internal/deadletters"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// perPage is how many entries one command to the server lists.
const perPage = 500

// Walk reads pending lists in pages, whatever their length.
type Walk struct {
	Broker broker.Broker
	// After is where each list is gone on after; Limit bounds the entries of a
	// group.
	After broker.ID
	Limit int64
	Now   time.Time
	Each  func(view.PendingEntry)
	// Mask takes out of a page what must not be seen; nil does not.
	Mask func(context.Context, *spec.Group, []view.PendingEntry) error
}

// Group reads a group's pending list.
func (w *Walk) Group(ctx context.Context, g *spec.Group) (view.PendingGroup, error) {
	out := view.PendingGroup{Group: g.Label, Stream: g.Stream.Name, Missing: true}
	infos, err := w.Broker.GroupInfos(ctx, g.Stream.Name)
	if err != nil {
		return out, err
	}
	for _, info := range infos {
		if info.Name == g.Name {
			out.Missing, out.Total = false, info.Pending
		}
	}
	var kept broker.ID
	if out.Total > 0 {
		if kept, err = w.kept(ctx, g.Stream.Name); err != nil {
			return out, err
		}
	}
	after := w.After
	for !out.Missing {
		// One more than is shown tells whether any follows.
		count := int(min(perPage, w.Limit-out.Shown+1))
		entries, err := w.page(ctx, g, after, count)
		if errors.Is(err, broker.ErrNoGroup) {
			out.Missing = true
			break
		}
		if err != nil {
			return out, err
		}
		for _, e := range entries {
			if out.Shown == w.Limit {
				out.After = after
				break
			}
			e.Trimmed = e.ID.Less(kept)
			w.Each(e)
			out.Shown, after = out.Shown+1, e.ID
		}
		if len(entries) < count || !out.After.IsZero() {
			break
		}
	}
	out.Total = max(out.Total, out.Shown)
	return out, nil
}

// kept is the id of the first entry that a stream still has: the bodies of those before it
// are gone. It is the zero id, before which there is none, for a login that may not look.
func (w *Walk) kept(ctx context.Context, stream string) (broker.ID, error) {
	first, err := w.Broker.Range(ctx, stream, broker.ID{}, broker.MaxID, 1)
	switch {
	case errors.Is(err, broker.ErrNoPermission):
		return broker.ID{}, nil
	case err != nil:
		return broker.ID{}, err
	case len(first) == 0:
		return broker.MaxID, nil
	}
	return first[0].ID, nil
}

// page reads some entries with their records.
func (w *Walk) page(ctx context.Context, g *spec.Group, after broker.ID, count int) ([]view.PendingEntry, error) {
	list, err := w.Broker.Pending(ctx, g.Stream.Name, g.Name, "", after, count)
	if err != nil || len(list) == 0 {
		return nil, err
	}
	ids := make([]broker.ID, len(list))
	for i := range list {
		ids[i] = list[i].ID
	}
	records, err := w.Broker.Records(ctx, g.Stream.Name, g.Name, ids)
	if err != nil {
		return nil, err
	}
	entries := make([]view.PendingEntry, len(list))
	for i := range list {
		entries[i] = entryOf(g, list[i], records[i], w.Now)
	}
	if w.Mask != nil {
		err = w.Mask(ctx, g, entries)
	}
	return entries, err
}

// MaskErrors takes out of the errors of a page what their entries' stream declares
// sensitive. Only such a stream's entries are read for it; an error whose entry is
// gone, or may not be read, is not shown.
func MaskErrors(ctx context.Context, b broker.Broker, printed *view.Letters, g *spec.Group, page []view.PendingEntry) error {
	if !printed.Masks(g.Stream) {
		return nil
	}
	var ids []broker.ID
	var at []int
	for i := range page {
		if page[i].Error != "" {
			ids, at = append(ids, page[i].ID), append(at, i)
		}
	}
	err := deadletters.Fetch(ctx, b, g.Stream.Name, ids, func(i int, e *broker.Entry) error {
		p := &page[at[i]]
		if e == nil {
			p.Error = view.Masked
			return nil
		}
		l := deadletters.Waiting(g, *e)
		p.Error = printed.Scrub(&l, p.Error)
		return nil
	})
	if errors.Is(err, broker.ErrNoPermission) {
		for _, i := range at {
			page[i].Error = view.Masked
		}
		return nil
	}
	return err
}

func entryOf(g *spec.Group, p broker.Pending, r broker.Record, now time.Time) view.PendingEntry {
	e := view.PendingEntry{Group: g.Label, Stream: g.Stream.Name, Pending: p, Attempts: r.Attempts(p.Deliveries), Error: r.Error}
	if due, ok := dueAt(g, p, r, now); ok {
		e.Due, e.In = due, due.Sub(now)
	}
	return e
}

// dueAt is when a pending entry may run again: at the time in its record, which its consumer keeps by itself, a
// little before others may claim it; without one when it has been idle for as long as the group's claims demand.
// ok is false when neither says anything.
func dueAt(g *spec.Group, p broker.Pending, r broker.Record, now time.Time) (due time.Time, ok bool) {
	if minIdle := MinIdle(g); minIdle > 0 {
		due, ok = now.Add(max(0, minIdle-p.Idle)), true
	}
	if r.Due.After(now) {
		due, ok = r.Due, true
	}
	return due, ok
}

// MinIdle is the smallest min_idle of a group's claims, 0 without any.
func MinIdle(g *spec.Group) time.Duration {
	var least time.Duration
	for _, s := range g.Subscriptions {
		if s.Claim != nil && (least == 0 || s.Claim.MinIdle < least) {
			least = s.Claim.MinIdle
		}
	}
	return least
}
