// Package tally counts what becomes of the deliveries of one subscription, so
// that it can be checked that each came to something, and to one thing only.
package tally

import "sync/atomic"

// Part is one thing that is counted.
type Part uint8

// What is counted. Each delivery that was Received ends as one of the parts from
// Again to Left, or with an outcome, or is still held.
const (
	// Received: the server delivered it here, by a read, a claim or a sweep.
	Received Part = iota
	// Again: it is held here already. The delivery was taken back.
	Again
	// NotDue: it was given out before its time, or is one too many to wait here to run
	// alone, and was put back.
	NotDue
	// Lost: it was no longer pending here when it was to be queued.
	Lost
	// Bodiless: it was deleted from the stream.
	Bodiless
	// Unasked: the server could not be asked about it. It is pending here, and is
	// looked for again.
	Unasked
	// HandedBack: it was not started.
	HandedBack
	// Behind: it was not started, and waits here behind an earlier one of its key.
	Behind
	// Waiting: it was not started, because its time has not come.
	Waiting
	// Left: it stays pending as it is. Its handler was called off, or what it came
	// to could not be written, and nobody here tries that any more.
	Left
	// Started are runs of handlers, CalledOff those of them that came to nothing.
	Started
	CalledOff
	// Published are messages that were written for outcomes, as far as is known:
	// where an answer was lost, it may have been more.
	Published
	// Claimed are those of the Received that had been delivered before: claimed, or
	// taken up again here.
	Claimed

	parts
)

// Tally is the counts of one subscription. It is safe for concurrent use; a nil
// one counts nothing.
type Tally struct{ counts [parts]atomic.Int64 }

// Count counts n more.
func (t *Tally) Count(p Part, n int) {
	if t != nil && n != 0 {
		t.counts[p].Add(int64(n))
	}
}

// Get is how many were counted.
func (t *Tally) Get(p Part) int64 { return t.counts[p].Load() }
