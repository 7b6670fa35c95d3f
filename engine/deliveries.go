package engine

import "pipeline/engine/internal/tally"

// Deliveries counts what became of the deliveries of a subscription since the
// start. While nothing moves, each that was Received came to an outcome, is
// held, or is counted under one of the names from Again to Left: see
// SubscriptionSnapshot.Unaccounted.
type Deliveries struct {
	// Received is how many deliveries the server made: an entry that comes again,
	// for another attempt or because it was claimed, is one more.
	Received int64
	// Again are those of entries that are held here already. They were taken back.
	Again int64
	// NotDue were given out before their time, or are more than may wait here to run
	// alone, and were put back.
	NotDue int64
	// Lost were taken by another consumer before they were queued.
	Lost int64
	// Bodiless had been deleted from the stream.
	Bodiless int64
	// Unasked are entries that the server could not be asked about. They stay
	// pending here and are looked for again.
	Unasked int64
	// HandedBack were not started before the consumer stopped.
	HandedBack int64
	// Behind were not started, and wait here behind an earlier one of their key.
	Behind int64
	// Waiting were not started, because their time had not come.
	Waiting int64
	// Left stay pending as they are: called off, or with an outcome that could not
	// be written.
	Left int64
	// Started are the runs of handlers, CalledOff those that came to nothing.
	Started, CalledOff int64
	// Published are the messages written for outcomes: replies, dead letters and
	// copies. Where an answer was lost it may have been more.
	Published int64
	// Claimed are those of the Received that had been delivered before, here or to
	// another consumer, and are not held here.
	Claimed int64
}

func deliveries(t *tally.Tally) Deliveries {
	return Deliveries{
		Received: t.Get(tally.Received), Again: t.Get(tally.Again), NotDue: t.Get(tally.NotDue), Lost: t.Get(tally.Lost),
		Bodiless: t.Get(tally.Bodiless), Unasked: t.Get(tally.Unasked), HandedBack: t.Get(tally.HandedBack),
		Behind: t.Get(tally.Behind), Waiting: t.Get(tally.Waiting), Left: t.Get(tally.Left),
		Started: t.Get(tally.Started), CalledOff: t.Get(tally.CalledOff), Published: t.Get(tally.Published),
		Claimed: t.Get(tally.Claimed),
	}
}

// Unaccounted is how many deliveries came to nothing that is known: 0 while
// nothing moves. A negative number says that some are counted twice. While
// entries come and go, the counts are of different moments.
func (s *SubscriptionSnapshot) Unaccounted() int64 {
	d := &s.Deliveries
	n := d.Received - d.Again - d.NotDue - d.Lost - d.Bodiless - d.Unasked - d.HandedBack - d.Behind - d.Waiting - d.Left - int64(s.Held)
	for _, count := range s.Settled {
		n -= count
	}
	return n
}
