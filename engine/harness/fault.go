package harness

import (
	"fmt"
	"slices"
	"time"

	"pipeline/engine/broker"
)

// FaultKind is what goes wrong.
type FaultKind string

// The faults.
const (
	// Crash kills a worker at a Point.
	Crash FaultKind = "crash"
	// Stall stops a worker at a Point for For, as SIGSTOP does: its goroutines and
	// its clock stand still while everything else goes on. See Worker.Stall.
	Stall FaultKind = "stall"
	// Slow has a handler take For of the harness's time before it does its work.
	// From its time limit on, the call is the failed attempt that a script's time
	// limit makes of it, and the handler does not run.
	Slow FaultKind = "slow"
	// ServerDown keeps all workers from the server, at once, for For or until
	// Restore. Producers still reach it.
	ServerDown FaultKind = "server_down"
	// LostReply has the server do what it is asked and loses its answer.
	LostReply FaultKind = "lost_reply"
)

// Point is where a fault strikes.
type Point string

// The points.
const (
	// BeforeRun: the entry was delivered, its handler not called.
	BeforeRun Point = "before_run"
	// AfterRun: the handler has returned, and nobody heard what.
	AfterRun Point = "after_run"
	// BeforeAck: the outcome is about to be written. What would be written with it
	// is not written either.
	BeforeAck Point = "before_ack"
	// AfterAck: the outcome is written, and the worker did not learn of it.
	AfterAck Point = "after_ack"
	// AtSettle: the answer to the writing of an outcome; where LostReply strikes by
	// default.
	AtSettle Point = "settle"
	// AtRead: the answer to a read that delivered entries.
	AtRead Point = "read"
)

// Fault is something that is to go wrong.
type Fault struct {
	Kind FaultKind
	// Subscription is where, by label; any where it is empty.
	Subscription string
	// At is where a Crash, a Stall or a LostReply strikes. Required for the first
	// two.
	At Point
	// Entry limits it to one entry. The zero ID is any.
	Entry broker.ID
	// Nth is which of the entries that come to the point from now on it strikes,
	// 1 for the first. 0 is the first for all but Slow, and every one for Slow. All but a Slow with Nth 0 strike once.
	Nth int
	// For is how long a Slow handler takes, a Stall and ServerDown last; for the last
	// 0 is until Restore.
	For time.Duration
}

// armed is a fault that waits for its moment.
type armed struct {
	Fault

	seen int
}

// points are where a fault may strike.
var points = map[FaultKind][]Point{
	Crash:      {BeforeRun, AfterRun, BeforeAck, AfterAck},
	Stall:      {BeforeRun, AfterRun, BeforeAck, AfterAck},
	Slow:       {""},
	ServerDown: {""},
	LostReply:  {AtSettle, AtRead},
}

// Arm makes a fault happen: ServerDown now, any other when its moment comes. It
// fails for a fault that cannot happen.
func (h *Harness) Arm(f Fault) error {
	if f.Kind == LostReply && f.At == "" {
		f.At = AtSettle
	}
	at, known := points[f.Kind]
	_, subscribed := h.order[f.Subscription]
	switch {
	case !known:
		return fmt.Errorf("fault %q: there is no such fault; there are crash, stall, slow, server_down and lost_reply", f.Kind)
	case !slices.Contains(at, f.At):
		return fmt.Errorf("fault %s: it cannot strike at %q, only at %q", f.Kind, f.At, at)
	case f.Subscription != "" && !subscribed:
		return fmt.Errorf("fault %s: there is no enabled subscription %q", f.Kind, f.Subscription)
	case (f.Kind == Slow || f.Kind == Stall) && f.For <= 0:
		return fmt.Errorf("fault %s: it takes no time; set For", f.Kind)
	case f.Nth < 0:
		return fmt.Errorf("fault %s: Nth is %d; it counts from 1", f.Kind, f.Nth)
	}
	if f.Kind != ServerDown {
		h.faults = append(h.faults, &armed{Fault: f})
		return nil
	}
	h.Restore()
	h.down = true
	h.server.Disconnect()
	if f.For > 0 {
		h.back = h.time.AfterFunc(f.For, func() { h.down = false })
	}
	return nil
}

// Armed are the faults that have not struck yet; those that strike again and
// again stay.
func (h *Harness) Armed() []Fault {
	faults := make([]Fault, len(h.faults))
	for i, f := range h.faults {
		faults[i] = f.Fault
	}
	return faults
}

// Disarm takes all faults back that have not struck, and restores the server.
func (h *Harness) Disarm() {
	h.faults = nil
	h.Restore()
}

// Restore ends ServerDown. The workers find out as they do in production: when
// they try again.
func (h *Harness) Restore() {
	h.down = false
	if h.back != nil {
		h.back.Stop()
		h.back = nil
	}
}

// hit finds the fault that strikes when the entries come to a point, if there is
// one, and forgets it if it strikes once.
func (h *Harness) hit(kind FaultKind, at Point, subscription string, ids []broker.ID) *Fault {
	var struck *armed
	for _, f := range h.faults {
		if f.Kind != kind || f.At != at || f.Subscription != "" && f.Subscription != subscription {
			continue
		}
		for _, id := range ids {
			if !f.Entry.IsZero() && f.Entry != id {
				continue
			}
			f.seen++
			if struck == nil && (f.seen == max(1, f.Nth) || kind == Slow && f.Nth == 0) {
				struck = f
			}
		}
	}
	if struck == nil {
		return nil
	}
	if kind != Slow || struck.Nth > 0 {
		h.faults = slices.DeleteFunc(h.faults, func(f *armed) bool { return f == struck })
	}
	return &struck.Fault
}
