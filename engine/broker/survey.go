package broker

import "time"

// Ask is a stream that a survey looks at, and those of its groups of which it
// tells more than GroupInfo does.
type Ask struct {
	Stream string
	Groups []string
}

// Survey is what many streams look like, as far as a server tells it cheaply.
type Survey struct {
	// Time is the clock by which entries have their ids: the server's, or that of
	// this machine where the login may not ask for it.
	Time time.Time
	// Streams has one element for each Ask, in their order.
	Streams []StreamSurvey
}

// StreamSurvey is one stream. An absent one has length 0 and no groups.
type StreamSurvey struct {
	StreamInfo
	// Added is how many entries were ever added; -1 where the server does not
	// tell (before 7.0).
	Added int64
	// All are all groups of the stream, asked about or not.
	All []GroupInfo
	// Groups has one element for each group that was asked about, in their order.
	Groups []GroupSurvey
	// Err is why it could not be looked at; the other fields then say nothing.
	Err error
}

// GroupSurvey is one group.
type GroupSurvey struct {
	GroupInfo
	// Read is how many entries of the stream are known to have been read or passed
	// over by it; -1 where the server does not know, as with Lag.
	Read int64
	// Consumers are those of the group, in the server's order.
	Consumers []ConsumerInfo
	// OldestPending is the lowest id that is pending, zero without one.
	OldestPending ID
	// Oldest are the first of the pending list, at most MaxOldest, without what is on
	// record of them.
	Oldest []Pending
	// OldestUndelivered is the lowest id that was not delivered yet, zero without
	// one.
	OldestUndelivered ID
	// TrimGap is how many entries are pending whose bodies were trimmed: those
	// before the first one kept. It is counted up to MaxTrimGap. A body that was
	// deleted from the middle is not seen here.
	TrimGap int64
	// Err is why it could not be looked at, ErrNoGroup where it does not exist; the
	// other fields then say nothing.
	Err error
}

// MaxOldest is how many GroupSurvey.Oldest there are at most. The server lists that many
// in some 30 microseconds, however many are pending.
const MaxOldest = 100

// MaxTrimGap is how far GroupSurvey.TrimGap is counted: as many pending entries as
// a server lists in a fraction of a millisecond.
const MaxTrimGap = 1000
