package view

import (
	"strconv"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
)

// DryRun prints what a dry-run finds. Outcome and the others are called from
// one goroutine.
type DryRun struct {
	v     *View
	lines *lines
	tally *Tally
	buf   []byte
}

// DryRun returns the view of a dry-run of p.
func (v *View) DryRun(p *spec.Pipeline) *DryRun {
	return &DryRun{v: v, lines: newLines(v.o, p), tally: NewTally(p)}
}

// Outcome prints one outcome.
func (d *DryRun) Outcome(sub *spec.Subscription, o *observe.Outcome) error {
	d.tally.Add(sub, o)
	if d.v.o.JSON {
		d.buf = append(appendOutcome(d.buf[:0], sub, o), '}', '\n')
	} else {
		d.buf = d.lines.append(d.buf[:0], sub, o)
	}
	d.v.write(d.buf)
	return d.v.Err()
}

// Tally is what was counted so far.
func (d *DryRun) Tally() *Tally { return d.tally }

// NotRun says that a subscription was not run, and why.
func (d *DryRun) NotRun(sub *spec.Subscription, reason string) {
	if d.v.o.JSON {
		b := append([]byte(nil), `{"event":"not_run","subscription":`...)
		b = appendString(b, sub.Label)
		b = append(b, `,"reason":`...)
		b = appendString(b, reason)
		d.v.write(append(b, '}', '\n'))
		return
	}
	d.v.write([]byte("not run: " + clean(sub.Label) + ", " + clean(reason) + "\n"))
}

// Summary prints the counts at the end.
func (d *DryRun) Summary(entries int64) {
	if d.v.o.JSON {
		b := append([]byte(nil), `{"event":"summary","entries":`...)
		b = strconv.AppendInt(b, entries, 10)
		b = append(b, `,"outcomes":`...)
		b = d.tally.appendCounts(b)
		d.v.write(append(b, '}', '\n'))
		return
	}
	b := []byte("\n" + count(entries, "entry", "entries") + ", each run once and nothing written\n")
	if d.tally.Any() {
		b = d.tally.table().append(append(b, '\n'), paint(d.v.o.Color), 0)
	}
	d.v.write(b)
}

// Err is the first error of writing results.
func (v *View) Err() error {
	v.mu.Lock()
	defer v.mu.Unlock()
	return v.failed
}
