package harness

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"pipeline/engine/broker"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// Check compares what the server and the workers hold and what they counted, at
// rest, and returns what does not agree: a record without a pending entry, an
// entry that is settled and still pending, one that was delivered and is neither
// pending nor came to anything, or came to two outcomes that publish; entries
// that a worker holds though none is pending under its name, or that are pending
// there though it knows nothing of them; deliveries that came to nothing or to
// two things, runs, outcomes and messages that were counted otherwise than they
// happened. It holds for whatever has happened to workers and their server, but
// not for what a test did to pending entries behind their backs. Close calls it.
func (h *Harness) Check() error {
	var errs []error
	for _, g := range h.cfg.Pipeline.Groups {
		errs = append(errs, h.checkGroup(g)...)
	}
	for _, w := range h.workers {
		if w.Alive() {
			errs = append(errs, h.checkWorker(w)...)
		}
		if !w.crashed {
			errs = append(errs, h.checkCounts(w)...)
		}
	}
	return errors.Join(errs...)
}

// checkGroup compares the pending list of a group with its records and with what
// came of its entries.
func (h *Harness) checkGroup(g *spec.Group) (errs []error) {
	ctx := context.Background()
	infos, err := h.server.GroupInfos(ctx, g.Stream.Name)
	if err != nil {
		return nil // the stream is gone, or is none
	}
	last, exists := broker.ID{}, false
	for _, info := range infos {
		if info.Name == g.Name {
			last, exists = info.LastDelivered, true
		}
	}
	pending := map[broker.ID]bool{}
	for _, p := range h.Pending(g.Label) {
		pending[p.ID] = true
	}
	entries, err := h.server.Range(ctx, g.Stream.Name, broker.ID{}, last, all)
	if err != nil || !exists || len(entries) == 0 {
		return nil
	}
	ids := make([]broker.ID, len(entries))
	for i := range entries {
		ids[i] = entries[i].ID
	}
	records, err := h.server.Records(ctx, g.Stream.Name, g.Name, ids)
	if err != nil {
		return []error{err}
	}
	restored := h.restored(g)
	if !restored {
		for id, n := range h.published[g] {
			if n > 1 {
				errs = append(errs, fmt.Errorf("group %s: entry %v was answered or buried %d times", g.Label, id, n))
			}
		}
	}
	ended, came := h.ends(g)
	for i, id := range ids {
		switch {
		case pending[id] && ended[id] && !restored:
			errs = append(errs, fmt.Errorf("group %s: entry %v is settled and still pending", g.Label, id))
		case !pending[id] && records[i] != (broker.Record{}):
			errs = append(errs, fmt.Errorf("group %s: entry %v is not pending and has a record: %+v", g.Label, id, records[i]))
		case !pending[id] && !ended[id] && came && h.published[g][id] == 0: // else its worker died before it heard of it
			errs = append(errs, fmt.Errorf("group %s: entry %v was delivered, is not pending, and nothing came of it", g.Label, id))
		}
	}
	return errs
}

// restored reports whether the group was lost at some time, and reads again what
// it had settled: a lost group of which nothing was written down yet is created a
// second time.
func (h *Harness) restored(g *spec.Group) bool {
	made := 0
	for _, e := range h.events {
		switch {
		case e.Stream != g.Stream.Name || e.Group != g.Name:
		case e.Name == observe.EventGroupRestored:
			return true
		case e.Name == observe.EventGroupCreated:
			made++
		}
	}
	return made > 1
}

// ends are the entries of a group that a settled call has ended. came: there
// were calls at all, so that what was before the group's start does not count.
func (h *Harness) ends(g *spec.Group) (ended map[broker.ID]bool, came bool) {
	ended = map[broker.ID]bool{}
	for _, s := range g.Subscriptions {
		for _, c := range h.calls[s.Label] {
			came = came || g.Start == "0"
			if c.Settled {
				ended[c.ID] = ended[c.ID] || !c.waits(s)
			}
		}
	}
	return ended, came
}

// waits reports whether the entry of a call stays pending after it. Where nobody
// claims, a copy takes the place of one that is to be retried at no certain time.
func (c *Call) waits(s *spec.Subscription) bool {
	return !c.Dead && (c.HasAfter || c.Outcome == observe.ResultInvalid && s.OnInvalid == spec.PolicyStop || c.Said == "retry" && s.Claim != nil || c.Said == "failed")
}

// checkWorker compares what a worker holds with what is pending under its names.
func (h *Harness) checkWorker(w *Worker) (errs []error) {
	for _, s := range w.Snapshot().Subscriptions {
		if s.Err != nil {
			continue
		}
		owned, claimed := 0, false
		for _, sub := range h.cfg.Pipeline.Subscriptions() {
			if sub.Label != s.Label {
				continue
			}
			claimed = slices.ContainsFunc(sub.Group.Subscriptions, func(s *spec.Subscription) bool { return s.Claim != nil })
			for _, p := range h.Pending(sub.Group.Label) {
				if p.Consumer == s.Consumer {
					owned++
				}
			}
		}
		if s.Held > 0 && owned == 0 {
			errs = append(errs, fmt.Errorf("%s: subscription %s holds %d entries and none is pending as %s", w.name, s.Label, s.Held, s.Consumer))
		}
		// Where somebody claims, what waits is in nobody's memory. After an answer that
		// was lost, what it brought is looked for as soon as the server answers.
		if known := s.Held + s.Parked + s.HeldBack; owned > known && !claimed && !w.stalled && !h.down && w.Snapshot().ServerUp {
			errs = append(errs, fmt.Errorf("%s: subscription %s knows of %d entries and %d are pending as %s", w.name, s.Label, known, owned, s.Consumer))
		}
	}
	return errs
}
