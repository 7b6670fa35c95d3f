package view

import (
	"strconv"

	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/engine/value"
)

// DryRun prints what a dry-run finds. Outcome and the others are called from
// one goroutine.
type DryRun struct {
	v     *View
	lines *lines
	tally *Tally
	scrub *scrubber
	buf   []byte
}

// DryRun returns the view of a dry-run of p.
func (v *View) DryRun(p *spec.Pipeline) *DryRun {
	return &DryRun{v: v, lines: newLines(v.o, p), tally: NewTally(p), scrub: newScrubber(p)}
}

// Outcome prints one outcome of an entry with the given body, nil or null where
// it could not be decoded. What streams declare sensitive is masked.
func (d *DryRun) Outcome(sub *spec.Subscription, body *value.Value, o *observe.Outcome) error {
	d.tally.Add(sub, o)
	undecoded := d.scrub.undecoded(sub.Group.Stream.Name, body, o)
	if o = d.scrub.outcome(o, d.scrub.of(sub.Group.Stream.Name, body, o)); undecoded && o.Key != "" {
		o.Key = masked // of a copy; why it could not be decoded is told without its values
	}
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
func (d *DryRun) Summary(s DrySummary) {
	if d.v.o.JSON {
		b := append([]byte(nil), `{"event":"summary","entries":`...)
		b = strconv.AppendInt(b, s.Entries, 10)
		b = append(b, `,"outcomes":`...)
		b = s.appendLive(d.tally.appendUsage(d.tally.appendCounts(b)))
		d.v.write(append(b, '}', '\n'))
		return
	}
	b := []byte("\n" + count(s.Entries, "entry", "entries") + ", each run once and nothing written" + s.speed() + "\n")
	b = s.text(b)
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
