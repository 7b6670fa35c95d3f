package sim

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/harness"
)

// minIdle is that of every subscription that claims, in the first version.
const minIdle = 10 * time.Second

// kind is one thing that can happen.
type kind string

// The acts. Those of lossy make the server forget something.
const (
	publish  kind = "publish"
	advance  kind = "advance"
	fault    kind = "fault"
	network  kind = "network"
	start    kind = "start"
	stop     kind = "stop"
	kill     kind = "kill"
	stall    kind = "stall"
	jump     kind = "jump"
	setTime  kind = "set time"
	away     kind = "away"
	restart  kind = "restart"
	full     kind = "full"
	room     kind = "room"
	still    kind = "reader stands still"
	reads    kind = "reader goes on"
	deletion kind = "delete"
	trim     kind = "trim"
	destroy  kind = "destroy"
	remember kind = "remember"
	failover kind = "failover"
	flush    kind = "flush"
)

// act is one act; what its numbers mean depends on its kind.
type act struct {
	kind    kind
	n       int
	d       time.Duration
	fault   harness.Fault
	entries []order
	network hitch
}

// plan is one history: the shape of the pipeline and what happens.
type plan struct {
	shape shape
	acts  []act
	// Mutants that no server can play: with passes the pipeline does not hold keys,
	// though its shape says so, with late its readers are latecomers.
	passes, late bool
	// tally, if set, counts what happens.
	tally *tally
}

// String is the plan as a failure prints it.
func (p *plan) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "%+v\n", p.shape)
	for i := range p.acts {
		a := &p.acts[i]
		fmt.Fprintf(&b, "%3d %s", i, a.kind)
		switch a.kind {
		case publish:
			fmt.Fprintf(&b, " %v", a.entries)
		case fault:
			fmt.Fprintf(&b, " %s %s in %q, number %d, for %v", a.fault.Kind, a.fault.At, a.fault.Subscription, a.fault.Nth, a.fault.For)
		case network:
			fmt.Fprintf(&b, " %+v", a.network)
		case advance, away:
			fmt.Fprintf(&b, " %v", a.d)
		case setTime:
			fmt.Fprintf(&b, " by %v", a.d)
		case stall, jump:
			fmt.Fprintf(&b, " worker %d, %v", a.n, a.d)
		case start, stop, kill, deletion, trim, destroy:
			fmt.Fprintf(&b, " %d", a.n)
		}
		b.WriteByte('\n')
	}
	return b.String()
}

// weights are how often each act comes. Gentle histories have no lossy acts:
// their model is the strictest.
var (
	gentle = []kind{
		publish, publish, publish, publish, advance, advance, advance, advance, fault, fault, fault, fault, network, network, network, network,
		start, stop, kill, stall, jump, setTime, away, restart, full, room, still, still, reads,
	}
	lossy = append([]kind{deletion, deletion, deletion, trim, destroy, remember, remember, failover, failover, flush}, gentle...)
)

// drawPlan draws a history.
func drawPlan(t *rapid.T) *plan {
	p := &plan{shape: drawShape(t)}
	kinds := gentle
	if rapid.Bool().Draw(t, "lossy") {
		kinds = lossy
	}
	p.acts = slices.Concat(several(t, 3, "hitches", func(t *rapid.T) act { return act{kind: network, network: drawHitch(t)} }), several(t, 20, "acts", func(t *rapid.T) act { return drawAct(t, kinds) }))
	return p
}

func drawAct(t *rapid.T, kinds []kind) act {
	a := act{kind: one(t, kinds, "act")}
	switch a.kind {
	case publish:
		a.entries = several(t, 6, "entries", drawOrder)
	case advance, away:
		a.d = drawTime(t)
	case fault:
		a.fault = drawFault(t)
	case network:
		a.network = drawHitch(t)
	case stall:
		a.n, a.d = between(t, 0, 5, "worker"), drawTime(t)
	case jump:
		a.n, a.d = between(t, 0, 5, "worker"), drawJump(t)
		if rapid.Bool().Draw(t, "far") {
			a.d *= 2880 // up to a day
		}
	case setTime:
		a.d = drawJump(t)
	case start, stop, kill, deletion, trim, destroy:
		a.n = between(t, 0, 5, "n")
	}
	return a
}

// drawTime draws from a tenth of a second to half a minute: both sides of
// min_idle, of a block and of a lease.
func drawTime(t *rapid.T) time.Duration {
	if rapid.Bool().Draw(t, "long") {
		return time.Duration(between(t, 1, 300, "tenths")) * 100 * time.Millisecond
	}
	return time.Duration(between(t, 1, 300, "hundredths")) * 10 * time.Millisecond
}

// drawJump draws a change of a clock, forward or back.
func drawJump(t *rapid.T) time.Duration {
	d := drawTime(t)
	if rapid.Bool().Draw(t, "back") {
		return -d
	}
	return d
}

func drawFault(t *rapid.T) harness.Fault {
	kinds := []harness.FaultKind{harness.Crash, harness.Crash, harness.Stall, harness.Slow, harness.LostReply, harness.LostReply}
	f := harness.Fault{
		Kind: one(t, kinds, "fault"),
		Nth:  between(t, 1, 4, "nth"),
		For:  drawTime(t),
	}
	switch f.Kind {
	case harness.Crash, harness.Stall:
		points := []harness.Point{harness.BeforeRun, harness.AfterRun, harness.BeforeAck, harness.AfterAck}
		f.At = one(t, points, "at")
	case harness.LostReply:
		f.At = one(t, []harness.Point{harness.AtSettle, harness.AtRead}, "at")
	}
	return f
}
