// Package broker is what the engine asks of a server that holds streams. The
// operations are those of delivery, not single commands: each is atomic on the
// server where its text says so, and each says what a lost answer leaves.
//
// Two rules hold for all of them. An operation that writes on behalf of a
// consumer is fenced: it does nothing to an entry that is pending under
// another name, so a stalled process that wakes cannot touch what was taken
// over from it. And no operation is repeated by the broker itself after an
// answer was lost: the caller decides, knowing what is safe to repeat.
//
// All methods are safe for concurrent use. Errors are *Error with one of the
// kinds in this package.
package broker

import (
	"context"
	"math"
	"time"
)

// Broker is a server that holds streams.
type Broker interface {
	// Probe asks the server what it is and what it can do.
	Probe(ctx context.Context) (Server, error)

	// CreateGroup creates the group at start ("$", "0" or an id), and the stream
	// with it where that is absent. A group that exists is left as it is, its
	// position included, and created is false; the right to create groups is not
	// needed then. A group that is absent but has a
	// floor was lost: it is created as RestoreGroup does it, not at start.
	CreateGroup(ctx context.Context, stream, group, start string) (created bool, err error)
	// SaveFloor writes down the position from which the group would have to be
	// read again if it were lost: the id before its oldest pending entry, else
	// its last delivered id. The floor only moves forward.
	SaveFloor(ctx context.Context, stream, group string) error
	// RestoreGroup creates a lost group again at its floor, or at the beginning
	// when there is no floor or the floor lies beyond the stream's last
	// generated id, and returns the position. A group that exists is left alone;
	// restored is then false.
	RestoreGroup(ctx context.Context, stream, group string) (at ID, restored bool, err error)
	// Floor returns the position that was written down last, and false when none
	// was. It changes nothing and needs neither the stream nor the group.
	Floor(ctx context.Context, stream, group string) (at ID, found bool, err error)
	// Seek moves a group that exists to a position, and its floor with it, in one
	// atomic step. What was delivered and is not pending is not touched: behind the
	// position it is delivered again. What is pending behind it is taken out of the
	// pending list, because it is delivered as new; that is refused while consumers of
	// the group are alive. What is pending before it stays so. Where more than 1,000
	// entries are taken out, it takes several steps, each of which leaves the group
	// farther back than the one before, with nothing passed over; after an error the
	// group may stand anywhere between. A seek may be repeated.
	Seek(ctx context.Context, r SeekRequest) (Sought, error)

	// Read reads for a consumer: where MinIdle is set, first entries that have
	// been pending for that long under any consumer, oldest delivery first, then
	// new ones by id. It waits up to Block for the first entry and returns none,
	// without an error, when none came. A canceled context ends the wait early,
	// but what the server has delivered is always returned. After an error, the
	// server may have delivered entries that never arrived: they are pending
	// under the consumer.
	Read(ctx context.Context, r ReadRequest) ([]Delivery, error)
	// AutoClaim takes over entries idle for MinIdle, as XAUTOCLAIM does, a page at a
	// time: Next is the cursor, zero at the end. An empty page is not the end. What
	// has been idle for less is not touched, whether it has a body or not.
	AutoClaim(ctx context.Context, r AutoClaimRequest) (AutoClaimed, error)
	// TakeOver moves the given entries from one consumer to another (which may
	// be the same), each only if it is pending under from, and counts a delivery.
	TakeOver(ctx context.Context, o Owner, from string, ids []ID) (TakenOver, error)

	// Admit is asked about redelivered entries before they are queued: it reads
	// their records and puts back what is not due. One atomic step per 250 entries.
	Admit(ctx context.Context, r AdmitRequest) ([]Admission, error)
	// Marked looks up keys that settled entries have marked, and returns a Mark
	// for each key, the zero one for a key that is not marked. It changes nothing
	// and needs neither the stream nor the group. It is a help, not a promise:
	// what may be marked meanwhile is decided by the step that settles.
	Marked(ctx context.Context, r MarkedRequest) ([]Mark, error)
	// Begin records that entries are about to run, from their third delivery on,
	// and renews them; it says of each whether the owner still holds it. A start is
	// recorded once for each delivery: after a lost answer the call may be repeated.
	Begin(ctx context.Context, o Owner, ids []ID) ([]Holding, error)
	// Renew resets the idle time of entries that the owner holds, without
	// counting a delivery, and says of each whether it still holds it.
	Renew(ctx context.Context, o Owner, ids []ID) ([]Holding, error)
	// Release hands entries that were never started back: the delivery is not
	// counted, and they look idle for the given time, so that whoever claims with
	// less can claim them at once. Longer than that costs: a server may look for
	// their place among all that was delivered since then.
	Release(ctx context.Context, o Owner, ids []ID, idle time.Duration) error
	// Settle writes outcomes: see Settlement. The result is complete when err is
	// nil; otherwise nothing is known, and the same settlement may be sent again:
	// what was written the first time is then reported as Lost, or
	// acknowledged once more without effect.
	Settle(ctx context.Context, s *Settlement) (SettleResult, error)

	// AcquireSlot takes the lowest free slot of a base name for TTL, by a token
	// that is new at each start.
	AcquireSlot(ctx context.Context, r SlotRequest) (slot int, err error)
	// RenewSlot extends the lease for r.TTL if the token still holds the slot, takes
	// the slot back if the lease ran out and nobody else has taken it, and
	// announces to the group, whoever holds it, that the token is alive, with
	// which MinIdle it claims and what it Follows. The announcement outlives the
	// call by the longer of TTL and Follows.
	RenewSlot(ctx context.Context, r SlotRequest, slot int) (SlotLease, error)
	// ReleaseSlot gives the slot up if the token holds it, and takes back what the
	// token announced.
	ReleaseSlot(ctx context.Context, r SlotRequest, slot int) error
	// RemoveConsumer removes the consumer if nothing is pending under it and
	// reports whether it is gone. A login that may not remove consumers leaves it
	// where it is, which is no error: an empty consumer does no harm.
	RemoveConsumer(ctx context.Context, o Owner) (gone bool, err error)

	// Add appends entries, in order, and returns their ids. When err is not nil
	// the ids are those of the entries known to be added. After ErrUnavailable it
	// is not known of the others; after any other error none of them was added.
	Add(ctx context.Context, adds []Add) ([]ID, error)
	// Range returns up to count entries from first to last, both inclusive.
	Range(ctx context.Context, stream string, first, last ID, count int) ([]Entry, error)
	// RangeBack returns up to count entries from last down to first, both
	// inclusive.
	RangeBack(ctx context.Context, stream string, first, last ID, count int) ([]Entry, error)
	// Move adds a message for each entry and deletes the entry, only if it is
	// there: each entry in one atomic step where both streams share a server.
	// Across the slots of a cluster, and for a message too wide for a script, a
	// mark beside the message's stream, kept for 30 days, sees to it that a move
	// which was broken off and is sent again adds no second message. It stops at
	// the first message that is refused, with which nothing was done: the results
	// are those of the moves before it. After ErrUnavailable it is not known how far
	// the others came, and the same request may be sent again.
	Move(ctx context.Context, r MoveRequest) ([]Moved, error)
	// Remove deletes entries and returns how many of them were there. When err is
	// not nil, some may have been removed besides.
	Remove(ctx context.Context, stream string, ids []ID) (int64, error)
	// Trim removes old entries in one bounded step and returns how many; callers
	// repeat it until it returns 0.
	Trim(ctx context.Context, r TrimRequest) (int64, error)

	// StreamInfo, GroupInfos and ConsumerInfos look without changing anything.
	// An absent stream has length 0 and no groups; an absent group is ErrNoGroup.
	StreamInfo(ctx context.Context, stream string) (StreamInfo, error)
	GroupInfos(ctx context.Context, stream string) ([]GroupInfo, error)
	ConsumerInfos(ctx context.Context, stream, group string) ([]ConsumerInfo, error)
	// Survey looks at many streams and groups at once, in a few round trips
	// however many they are, and only by questions whose cost does not grow with
	// what is pending. What cannot be looked at says so in its Err; err is not nil
	// only if nothing was answered.
	Survey(ctx context.Context, asks []Ask) (Survey, error)
	// Pending returns up to count pending entries with ids after the given one,
	// by id; of one consumer, or of all when consumer is empty.
	Pending(ctx context.Context, stream, group, consumer string, after ID, count int) ([]Pending, error)
	// Records returns the records of entries, one for each id.
	Records(ctx context.Context, stream, group string, ids []ID) ([]Record, error)

	// Close ends all connections. Operations under way end with ErrClosed or
	// ErrUnavailable.
	Close() error
}

// Field is one field of an entry: byte strings that may be empty, binary, and
// repeat within an entry.
type Field = struct{ Name, Value string }

// Entry is one entry of a stream. Fields keep their order and must not be
// changed: a broker may share them between readers.
type Entry struct {
	ID     ID
	Fields []Field
}

// Delivery is an entry as it was delivered to a consumer.
type Delivery struct {
	Entry
	// Idle is how long it had been pending untouched; 0 for a new entry, and
	// from AutoClaim and TakeOver, where servers do not tell.
	Idle time.Duration
	// Deliveries is how often it had been delivered before: 0 for a new entry.
	Deliveries int64
}

// Owner is a consumer of a group, on whose behalf fenced operations act.
type Owner struct{ Stream, Group, Consumer string }

// ReadRequest is what Read reads.
type ReadRequest struct {
	Owner
	// Count bounds the entries of one read; at least 1.
	Count int
	// Block is how long to wait for the first entry; 0 does not wait.
	Block time.Duration
	// MinIdle makes it a claiming read when positive (in whole milliseconds).
	// It needs Features.ClaimingRead.
	MinIdle time.Duration
}

// AutoClaimRequest is one page of a look through a pending list.
type AutoClaimRequest struct {
	Owner
	MinIdle time.Duration
	// Start is the cursor: zero at first, then AutoClaimed.Next.
	Start ID
	Count int
	// JustDeleted takes nothing over and only drops pending entries whose body
	// is gone, of those that are idle for MinIdle.
	JustDeleted bool
}

// Looks is how many pending entries the page looks at: ten for each that it may
// bring, up to a thousand.
func (r *AutoClaimRequest) Looks() int { return max(r.Count, min(10*r.Count, 1000)) }

// AutoClaimed is what one page brought.
type AutoClaimed struct {
	Next       ID
	Deliveries []Delivery
	// Deleted are entries whose body no longer existed; they were dropped from
	// the pending list.
	Deleted []ID
}

// TakenOver is what TakeOver brought. Ids in neither list are pending under
// somebody else, or acknowledged.
type TakenOver struct {
	Deliveries []Delivery
	// Deleted are entries whose body no longer existed; they were dropped from
	// the pending list.
	Deleted []ID
}

// AdmitRequest asks about redelivered entries.
type AdmitRequest struct {
	Owner
	// MinIdle is the group's; entries that are not due are aged so that they
	// are idle for it when they become due.
	MinIdle time.Duration
	// MaxAttempts is at least 3, because the first two deliveries count as
	// started whether they were or not.
	MaxAttempts int
	// Entries were delivered before, or put back with no delivery counted.
	Entries []Redelivery
}

// Redelivery is an entry delivered Deliveries times before.
type Redelivery struct {
	ID         ID
	Deliveries int64
}

// Verdict is what is to be done with a redelivered entry.
type Verdict uint8

// The verdicts.
const (
	// Run: run it; from its third delivery on its start has to be recorded (Begin).
	Run Verdict = iota
	// NotDue: it was put back, its delivery not counted; due in Remaining.
	NotDue
	// Exhausted: it used up its attempts; it must not be run.
	Exhausted
	// Lost: it is no longer pending under the owner; nothing was done.
	Lost
)

// Admission is the answer for one entry. Record is the record as it was before.
type Admission struct {
	Verdict   Verdict
	Record    Record
	Remaining time.Duration
}

// Record is what is written down about an entry that was retried or started
// more than twice. It cannot be rebuilt: a lost record means an entry that never
// failed and is due at once. The zero Record is that of an entry without one.
type Record struct {
	// Starts are the starts recorded from the third delivery on.
	Starts int64
	// Delivery is the delivery, 1 for the first, of which a start or an end is on
	// record last; 0 for none. Ended: it is an end, so that the attempt in this
	// delivery came to an outcome.
	Delivery int64
	Ended    bool
	// First is when the entry was first delivered; zero where that is not known,
	// because the first delivery came to no outcome.
	First time.Time
	// Asked are the retries that the handler asked for.
	Asked int64
	// Due is the server's time before which the entry must not run; zero: now.
	Due time.Time
	// Error is the last failure, or the reason of the last asked retry.
	Error string
	// At is when an outcome was last written, By the consumer that wrote it.
	At time.Time
	By string
}

// Recorded is from how many earlier deliveries on the start of an entry is
// recorded.
const Recorded = 2

// Attempts is how many attempts an entry has used up that was delivered
// deliveries times before. The first two deliveries count as started without
// being recorded; a delivery alone, beyond them, proves no start.
func (r Record) Attempts(deliveries int64) int64 {
	return max(0, min(deliveries, Recorded)+r.Starts-r.Asked)
}

// Unsettled reports whether the last of that many deliveries came to no outcome
// that is on record: the process may have died of the entry.
func (r Record) Unsettled(deliveries int64) bool { return !r.Ended || r.Delivery != deliveries }

// Holding says whether an entry is still held.
type Holding uint8

// The answers of Renew.
const (
	// Held: it is pending under the owner and was renewed.
	Held Holding = iota
	// HeldByOther: it is pending under another consumer, or acknowledged.
	HeldByOther
	// BodyGone: it was pending under the owner but its body no longer exists;
	// it is now out of the pending list.
	BodyGone
)

// Settlement is the outcome of entries of one owner. The parts are independent
// of each other; each entry stands in one of them.
type Settlement struct {
	Owner
	// Acks are acknowledged without a fence: a handler finished, so the first
	// finished outcome wins.
	Acks []ID
	// Steps are done one by one, each atomically and only if its entry is
	// pending under the owner. They must be sorted by id.
	Steps []Step
	// Waits put entries back, each only if it is pending under the owner.
	Waits []Wait
	// Forget are entries among Acks and Steps whose records are dropped with
	// them: those that were redelivered.
	Forget []ID
	// Marks is where the keys of Steps are marked; needed where one has a key.
	Marks Marks
	// Repeat is how long a step may be done again, at least a second; 0 is the
	// longest that the server can be told, a day. It matters to steps that publish
	// to other servers of a cluster, which are two: where the server can, it
	// recognises for that long what it has added before (Features.IdempotentAdd).
	Repeat time.Duration
}

// Step publishes messages and acknowledges an entry in one. Where the messages go
// to other servers of a cluster (see Slot) it is two: they are published, and
// then the entry is acknowledged if it is still pending under the owner. Such a
// step is never Torn, and one with a key is Refused.
type Step struct {
	ID ID
	// Publish may be empty: a fenced acknowledgement.
	Publish []Add
	// Mark is a key to be marked in the same step; empty for none. Where it is
	// marked already, nothing is published and the entry is only acknowledged:
	// the step is a Duplicate. With a key, no message may have more than
	// MaxMarkedFields fields; such a step is Refused.
	Mark string
	// Gone: the entry is known to be no longer pending under anybody, because its
	// body was trimmed while it was worked on, and the step is done without a
	// fence. It needs a key, which then keeps it from being done twice.
	Gone bool
}

// Add is one entry to append.
type Add struct {
	Stream string
	Fields []Field
	// MaxLen trims the stream approximately to that length; 0 does not trim.
	MaxLen int64
}

// Wait leaves an entry in the pending list, to come back later under its id.
type Wait struct {
	ID ID
	// Timed: the entry is not due before After has passed, by the server's
	// clock. Without it only the idle time decides, which starts again at 0.
	Timed bool
	After time.Duration
	// MinIdle is the group's, 0 where nobody claims: a timed entry is aged so
	// that it has been idle for MinIdle when After has passed.
	MinIdle time.Duration
	// Asked counts an asked retry in the record.
	Asked bool
	// Error goes to the record.
	Error string
	// Uncount takes the delivery that put it here back.
	Uncount bool
	// Delivery is the delivery that ends so, 1 for the first, and Ago how long ago
	// it was; 0 where that is not known. With it a wait may be sent again after a
	// lost answer: what was written the first time is Done and not written twice.
	Delivery int64
	Ago      time.Duration
}

// Status is what became of a step or a wait.
type Status uint8

// The statuses.
const (
	// Done: it was written.
	Done Status = iota
	// NotOwned: the entry is pending under another consumer or no longer
	// pending; nothing was written.
	NotOwned
	// Refused: the server refused the first message, or one of the destinations
	// holds no stream (Err says why); nothing was written and the entry is still
	// pending.
	Refused
	// Torn: the first message was added and a later one refused; the entry was
	// acknowledged.
	Torn
	// Duplicate: the key of the step was marked already; nothing was published
	// and the entry was acknowledged.
	Duplicate
	// Gone: an entry that was to wait was pending under the owner, but its body no
	// longer exists; it is now out of the pending list.
	Gone
)

// StepResult is the result of one step. Err is set when it was refused or torn.
// Mark is the one that was found: that of a Duplicate, or of a step that is
// NotOwned and whose key the same entry has marked, which is how an entry looks
// whose settlement was written and its answer lost.
type StepResult struct {
	Status Status
	Err    error
	Mark   *Mark
}

// SettleResult has one result for each step and wait, in their order.
type SettleResult struct {
	Steps []StepResult
	Waits []Status
}

// SlotRequest names a slot's lease.
type SlotRequest struct {
	Stream, Group string
	// Base is the first part of the consumer's name: subscription and host.
	Base string
	// Token tells the holder from every other.
	Token string
	TTL   time.Duration
	// MinIdle is the smallest with which the holder, or anyone of its pipeline,
	// claims in the group; 0 for nobody. Others see it.
	MinIdle time.Duration
	// Follows is the min_idle at a third of which the holder renews what it holds;
	// 0: it renews nothing.
	Follows time.Duration
}

// SlotLease is what a renewal of a slot finds.
type SlotLease struct {
	// Held: nobody else holds the slot. The token does, unless the server's memory
	// is too full to take it back; nobody else can take it then either.
	Held bool
	// Least is the smallest MinIdle that anyone alive in the group announced, the
	// one who asks included; 0 when nobody claims.
	Least time.Duration
	// Slowest is the largest Follows that anyone announced who is alive or silent;
	// Never when somebody renews nothing.
	Slowest time.Duration
	// Quiet is for how long another one of the group has not renewed its slot, the one
	// for whom that is longest: at least 1 ms, 0 where there is no other. Silent is who
	// has not for longer than the larger of its TTL and Follows, without having released
	// it: it may be dead, or cut off from the server and back within BackWithin its
	// Follows. It counts as silent for so long, from when another's renewal first found
	// it to be; for the time that the finder counts as alive where it renews nothing.
	Quiet time.Duration
	// Time is the server's clock when it answered, in whole milliseconds: the one by
	// which entries have their ids.
	Time time.Time
}

// BackWithin is how long after an outage everyone who lives, and renews what it holds at
// a third of follows, has renewed it: see engine/internal/lease. scripts/renewslot.lua
// of the Redis broker computes the same.
func BackWithin(follows time.Duration) time.Duration { return follows/3 + 2*time.Second }

// Never is the Follows of those who renew nothing: longer than any other.
const Never = time.Duration(math.MaxInt64)

// TrimRequest bounds a stream. Zero fields do not bound; of several bounds each
// removes what it would alone.
type TrimRequest struct {
	Stream string
	MaxLen int64
	// MinID removes entries before it.
	MinID ID
	// MaxAge removes entries whose ids are older than this, in whole milliseconds,
	// by the clock of the server: it gave the ids, and callers' clocks may be wrong.
	MaxAge time.Duration
	// Protect keeps every entry that some group has not acknowledged.
	Protect bool
}

// StreamInfo is the state of a stream.
type StreamInfo struct {
	Length int64
	// LastID is the last generated id, FirstID that of the first entry kept.
	FirstID, LastID ID
	Groups          int64
}

// GroupInfo is the state of a group.
type GroupInfo struct {
	Name          string
	Consumers     int64
	Pending       int64
	LastDelivered ID
	// Lag is the number of entries not yet delivered; unknown after an
	// undelivered entry was deleted, and on servers before 7.0.
	Lag      int64
	LagKnown bool
}

// ConsumerInfo is the state of a consumer.
type ConsumerInfo struct {
	Name    string
	Pending int64
	// Idle is the time since its last attempt to read or claim.
	Idle time.Duration
}

// Pending is one pending entry. Deliveries includes the current one.
type Pending struct {
	ID         ID
	Consumer   string
	Idle       time.Duration
	Deliveries int64
}
