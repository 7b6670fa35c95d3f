package broker

import "time"

// SeekRequest moves a group that exists to another position of its stream.
type SeekRequest struct {
	Stream, Group string
	// To is the position: the entries after it are those that are delivered next.
	// It may not be beyond the last id of the stream, because entries that are added
	// later would then be passed over: that is refused, with nothing done.
	To ID
	// Seen is where the group stood when it was looked at. Where it stands elsewhere
	// by now, it is moved only if no more is delivered again, or passed over, than
	// from there; MaxID is from wherever it stands.
	Seen ID
}

// SeekStatus is what became of a seek.
type SeekStatus uint8

// The statuses.
const (
	// SeekDone: the group stands at the position, and its floor was written down
	// anew, so that a group that is lost later is not restored where it stood before.
	SeekDone SeekStatus = iota
	// SeekMoved: the group has moved since it was seen, so that more would be
	// delivered again, or passed over. Nothing was done.
	SeekMoved
	// SeekInUse: entries that would be delivered again are pending, and consumers of
	// the group are alive that may be working on them. Nothing was done.
	SeekInUse
	// SeekBeyond: the position is beyond the last id of the stream. Nothing was done.
	SeekBeyond
)

// Sought is what a seek came to.
type Sought struct {
	Status SeekStatus
	// From is where the group stood, At where it stands now. They are the same where
	// nothing was done.
	From, At ID
	// Freed are entries that were pending behind the position. They were taken out of
	// the pending list, with their records, because they are delivered as new ones.
	Freed int64
	// Alive is how many consumers are alive where the group is in use, and Until when
	// the last of them no longer counts as that if it has gone without a word, by the
	// server's clock.
	Alive int
	Until time.Time
}
