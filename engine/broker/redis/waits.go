package redis

import (
	"context"
	_ "embed"
	"fmt"

	"pipeline/engine/broker"
)

//go:embed scripts/wait.lua
var waitText string

var waitScript = newScript(waitText)

// maxWaits is how many entries one script puts back. To put an entry back takes the
// server 8 to 11 µs of processor time (Redis 8.6, loopback), about twice what a reply
// takes, so that fewer go into a script that blocks it no longer.
const maxWaits = 100

// waits appends the script calls of the waits.
func (p *settling) waits(ctx context.Context) {
	for first := 0; first < len(p.Waits); first += maxWaits {
		waits := p.Waits[first:min(first+maxWaits, len(p.Waits))]
		a := p.args
		low, high := waits[0].ID, waits[0].ID
		for i := range waits {
			low, high = broker.Earlier(low, waits[i].ID), broker.Later(high, waits[i].ID)
		}
		mark := waitScript.call(a, 2)
		a.add(p.Stream, p.keys.records, p.Group, p.Consumer)
		a.int(int64(len(waits)))
		a.id(low)
		a.id(high)
		for i := range waits {
			wait(a, &waits[i])
		}
		p.calls = append(p.calls, settleCall{cmd: len(p.batch.cmds), first: first, waits: true})
		p.batch.add(ctx, waitScript, a.since(mark))
	}
}

// wait appends one wait. One that carries nothing to remember leaves the record
// as it is.
func wait(a *args, w *broker.Wait) {
	a.id(w.ID)
	after := int64(-1)
	idle := int64(0)
	if w.Timed {
		after = max(0, milliseconds(w.After))
		if w.MinIdle > 0 {
			idle = max(0, milliseconds(w.MinIdle)-after)
		}
	}
	a.int(idle)
	a.int(after)
	a.flag(w.Uncount)
	a.flag(w.Asked)
	a.flag(w.Timed || w.Asked || w.Error != "")
	a.int(w.Delivery)
	a.int(milliseconds(w.Ago))
	a.ref(&w.Error)
}

func (p *settling) readWaits(statuses string, first int) error {
	if len(statuses) != min(maxWaits, len(p.Waits)-first) {
		return fmt.Errorf("%w of the wait script", errProtocol)
	}
	for i := range len(statuses) {
		p.result.Waits[first+i] = letters[statuses[i]]
	}
	return nil
}
