package sim

import (
	"context"
	"errors"
	"slices"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/harness"
)

// sink is the group that reads the replies, readsEvery how often.
const (
	sink       = "sink"
	readsEvery = time.Second
)

// reader is the service that reads the replies: it acknowledges all of them every
// second, or stands still while replies pile up until their stream is full.
type reader struct {
	sim    *sim
	still  bool
	number int
}

// run reads until the history ends, from the group's start if the group was lost.
func (r *reader) run() {
	if !r.still {
		r.read()
	}
	r.sim.clock.AfterFunc(readsEvery, r.run)
}

func (r *reader) read() {
	ctx, server := context.Background(), r.sim.memory
	o := broker.Owner{Stream: "out", Group: sink, Consumer: "reader"}
	_, err := server.CreateGroup(ctx, o.Stream, o.Group, "0")
	if errors.Is(err, broker.ErrOutOfMemory) {
		return // it was lost, and is made again when there is memory
	}
	r.sim.do("create the group of the reader", err)
	ds, err := server.Read(ctx, broker.ReadRequest{Owner: o, Count: 1 << 20})
	r.sim.do("read replies", err)
	s := broker.Settlement{Owner: o}
	for i := range ds {
		s.Acks = append(s.Acks, ds[i].ID)
	}
	_, err = server.Settle(ctx, &s)
	r.sim.do("acknowledge replies", err)
	r.number += len(ds)
}

// backlog checks what is promised of a stream with a max_backlog: replies are
// withheld while it is full, neither lost nor published twice for it, and their
// entries stay with who ran them.
type backlog struct {
	sim *sim
	// waits are the workers with which replies wait for room.
	waits map[place]string
	// back is how often an entry was handed back because there was no room for its
	// reply when its worker left.
	back map[place]int
	// limbo is how often what a look had let through was left unwritten for a while,
	// so that the next look did not see it.
	limbo int
}

func (b *backlog) init(s *sim) { b.sim, b.waits, b.back = s, map[place]string{}, map[place]int{} }

func (b *backlog) limit() int { return b.sim.plan.shape.Backlog }

// look notes whose replies wait, when all is at rest.
func (b *backlog) look() {
	if b.limit() == 0 {
		return
	}
	tally := b.sim.plan.tally
	for k, name := range b.waits {
		if w := b.sim.named(name); w.Crashed() {
			tally.add("replies withheld by a worker that died", 1)
			delete(b.waits, k)
		}
	}
	for k, w := range b.sim.model.open {
		if w.Alive() && !w.Stalled() && b.waits[k] == "" && b.withholds(k, w) {
			tally.add("replies withheld", 1)
			b.waits[k] = w.Name()
		}
	}
}

// withholds reports whether a worker has a reply to an entry that it may not write.
func (b *backlog) withholds(k place, w *harness.Worker) bool {
	m := &b.sim.model
	l := m.lanes[k]
	if m.counts.worker(l.consumer) != w.Name() || m.said[holding{l.consumer, m.entries[k.n].id}] != "reply" {
		return false
	}
	return slices.ContainsFunc(w.Snapshot().Subscriptions, func(s engine.SubscriptionSnapshot) bool {
		return s.Consumer == l.consumer && s.Withheld > 0
	})
}

// settled is told of what the server has written.
func (b *backlog) settled(s *broker.Settlement, res *broker.SettleResult) {
	m := &b.sim.model
	said := func(id broker.ID) string { return m.said[holding{s.Consumer, id}] }
	for _, id := range s.Acks {
		if said(id) == "reply" {
			m.wrong("entry %v of %s was acknowledged without its reply", id, s.Group)
		}
	}
	for i := range s.Steps {
		step := &s.Steps[i]
		k := place{s.Group, m.number(step.ID)}
		switch {
		case res.Steps[i].Status != broker.Done:
		case len(step.Publish) == 0 && said(step.ID) == "reply" && m.marks.window() == 0:
			m.wrong("entry %v of %s was acknowledged in a step without its reply", step.ID, s.Group)
		case len(step.Publish) > 0 && step.Publish[0].Stream == "out":
			if b.waits[k] != "" {
				b.sim.plan.tally.add("withheld replies published", 1)
			}
			delete(b.waits, k)
			b.full(step.ID, s.Group)
		}
	}
	for i := range s.Waits {
		w := &s.Waits[i]
		if k := (place{s.Group, m.number(w.ID)}); res.Waits[i] == broker.Done && b.unwritten(s, w) {
			if said(w.ID) == "reply" {
				b.sim.plan.tally.add("withheld replies handed back", 1)
			}
			delete(b.waits, k)
			b.back[k]++
		}
	}
}

// unwritten reports whether an entry is handed back that came to something else
// than a retry: to a reply for which there was no room, or to whatever comes after
// such a one under its key.
func (b *backlog) unwritten(s *broker.Settlement, w *broker.Wait) bool {
	return w.Asked && b.sim.model.said[holding{s.Consumer, w.ID}] != "retry"
}

// most is how many replies a step publishes.
const most = 3

// full checks that a reply was not published to a stream that is full. One process
// keeps to the limit, but for the rest of a step at each look and for what its look
// before had let through and is not written yet. Another one may publish half of
// the limit from its last look, and so may what had been let through and was not
// written for long. What came of an entry that is gone does not wait: it would be
// lost with its process.
func (b *backlog) full(id broker.ID, group string) {
	m := &b.sim.model
	if b.limit() == 0 || m.epoch > 0 || slices.ContainsFunc(m.entries, func(e *entry) bool { return e.gone }) {
		return
	}
	infos, err := b.sim.memory.GroupInfos(context.Background(), "out")
	if err != nil || len(infos) != 1 {
		m.wrong("groups of out: %v, %v", infos, err)
		return
	}
	others := len(b.sim.Workers()) - 1 + b.limbo
	for _, w := range b.sim.Workers() {
		others += len(w.Pauses())
	}
	behind := int(infos[0].Pending + infos[0].Lag)
	if !infos[0].LagKnown {
		rest, err := b.sim.memory.Range(context.Background(), "out", infos[0].LastDelivered.Next(), broker.MaxID, 1<<20)
		b.sim.do("count replies", err)
		behind = int(infos[0].Pending) + len(rest)
	}
	bound := b.limit() + 1 + 2*(most-1) + others*((b.limit()+1)/2+most-1)
	if behind > bound {
		m.wrong("backlog: the reply to entry %v of %s makes it %d, max_backlog is %d and %d others may know of less",
			id, group, behind, b.limit(), others)
	}
}

// backlogs are the limits that are played; 0 is none.
var backlogs = []int{0, 0, 2, 5}

// withheld is what histories with backlogs must come by.
var withheld = []string{
	"replies withheld", "withheld replies published", "withheld replies handed back", "replies withheld by a worker that died",
}

// judge reads what is left, and checks that the reader was given every reply once,
// unless the server has forgotten something.
func (r *reader) judge() {
	r.still = false
	r.read()
	if all := len(r.sim.Entries("out")); r.sim.model.epoch == 0 && r.number != all {
		r.sim.model.wrong("the reader was given %d replies of %d", r.number, all)
	}
}
