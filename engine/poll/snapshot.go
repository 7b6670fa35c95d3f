package poll

import (
	"errors"
	"math"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// Snapshot is the state of a pipeline's streams at one moment. It never changes.
type Snapshot struct {
	// Asked is when the server was asked last, Answered when it last answered, by
	// the clock of this machine; zero for never. The values are those of Answered.
	Asked, Answered time.Time
	// Server is the server's clock when it last answered.
	Server time.Time
	// Err is why the last look brought nothing; nil when it did.
	Err error
	// Streams are those of the pipeline, in file order, and then the dead-letter
	// streams that no block declares.
	Streams []Stream
}

// Up reports whether the server answered when it was asked last.
func (s *Snapshot) Up() bool { return s.Err == nil && !s.Answered.IsZero() }

// Fresh reports whether the values are of now rather than of the last time that
// the server could be reached: whether it has answered within three rounds.
func (s *Snapshot) Fresh(now time.Time) bool {
	return !s.Answered.IsZero() && now.Sub(s.Answered) <= 3*Every
}

// Stream is the state of one stream.
type Stream struct {
	Spec *spec.Stream
	// Known: the server told; the fields below say nothing otherwise, and Err says
	// why, nil before the first look.
	Known bool
	Err   error
	// Length is in entries; an absent stream has none.
	Length int64
	// First and Last are the id of the oldest entry kept and the last one that was
	// given; zero for none.
	First, Last broker.ID
	// Oldest is the age of the oldest entry kept; 0 without one.
	Oldest time.Duration
	// Added is how many entries were ever added; -1 where the server does not tell
	// (before 7.0).
	Added int64
	// DeadLetters: some group of the pipeline sends its dead letters here.
	DeadLetters bool
	// Groups are those of the pipeline, in file order.
	Groups []Group
	// Others are groups on the server that the pipeline does not declare.
	Others []broker.GroupInfo
}

// Group is the state of one group.
type Group struct {
	Spec *spec.Group
	// Known: the server told; the fields below say nothing otherwise, and Err says
	// why: broker.ErrNoGroup where the group does not exist yet.
	Known bool
	Err   error
	// Lag is how many entries the group was not given yet. LagKnown is false after
	// an undelivered entry was deleted, and on servers before 7.0. Where the server
	// counts some and there is none, as 7.0 does for good once it has loaded its
	// append-only file, it is 0.
	Lag      int64
	LagKnown bool
	// Read is how many entries it was given or passed over since the stream began;
	// -1 where the server does not know.
	Read    int64
	Pending int64
	// Oldest are the oldest pending entries, at most broker.MaxOldest, without what is on
	// record of them.
	Oldest []broker.Pending
	// LastDelivered is the group's position.
	LastDelivered broker.ID
	// OldestPending and OldestUndelivered are ages since the entry was added, which
	// its id says; 0 without such an entry. They are known where Lag is not.
	OldestPending, OldestUndelivered time.Duration
	// TrimGap is how many pending entries have lost their bodies to a trim: they
	// can never be handled. It is counted up to broker.MaxTrimGap.
	TrimGap int64
	// Consumers are in the order of the server.
	Consumers []broker.ConsumerInfo
}

// Missing reports whether the group does not exist on the server.
func (g *Group) Missing() bool { return errors.Is(g.Err, broker.ErrNoGroup) }

// Group returns the state of a group of the pipeline, or nil.
func (s *Snapshot) Group(g *spec.Group) *Group {
	for i := range s.Streams {
		for j := range s.Streams[i].Groups {
			if found := &s.Streams[i].Groups[j]; found.Spec == g {
				return found
			}
		}
	}
	return nil
}

// Stream returns the state of the stream with this key on the server, or nil.
func (s *Snapshot) Stream(name string) *Stream {
	for i := range s.Streams {
		if s.Streams[i].Spec.Name == name {
			return &s.Streams[i]
		}
	}
	return nil
}

// Outline is the streams and groups of a pipeline in the order of its snapshots,
// with nothing known of them.
func Outline(p *spec.Pipeline) []Stream {
	streams, _ := outline(p)
	return streams
}

// outline is the pipeline's streams with their groups, of which nothing is known,
// and what to ask about them.
func outline(p *spec.Pipeline) ([]Stream, []broker.Ask) {
	var streams []Stream
	at := map[string]int{}
	meet := func(s *spec.Stream) *Stream {
		i, known := at[s.Name]
		if !known {
			i = len(streams)
			at[s.Name], streams = i, append(streams, Stream{Spec: s, Added: -1})
		}
		return &streams[i]
	}
	for _, s := range p.Streams {
		meet(s)
	}
	for _, g := range p.Groups {
		s := meet(g.Stream)
		s.Groups = append(s.Groups, Group{Spec: g, Read: -1})
		if g.DeadLetter != nil {
			meet(g.DeadLetter).DeadLetters = true
		}
	}
	asks := make([]broker.Ask, len(streams))
	for i := range streams {
		asks[i].Stream = streams[i].Spec.Name
		for _, g := range streams[i].Groups {
			asks[i].Groups = append(asks[i].Groups, g.Spec.Name)
		}
	}
	return streams, asks
}

// fill is the outline with what a survey of it found.
func fill(outline []Stream, found *broker.Survey) []Stream {
	streams := make([]Stream, len(outline))
	for i := range outline {
		streams[i] = outline[i]
		streams[i].fill(&found.Streams[i], found.Time)
	}
	return streams
}

func (s *Stream) fill(found *broker.StreamSurvey, now time.Time) {
	groups := make([]Group, len(s.Groups))
	declared := map[string]bool{}
	for i := range groups {
		groups[i] = s.Groups[i]
		groups[i].fill(&found.Groups[i], now)
		declared[groups[i].Spec.Name] = true
	}
	s.Groups, s.Err = groups, found.Err
	if found.Err != nil {
		return
	}
	s.Known, s.Added = true, found.Added
	s.Length, s.First, s.Last = found.Length, found.FirstID, found.LastID
	s.Oldest = age(found.FirstID, now)
	for _, g := range found.All {
		if !declared[g.Name] {
			s.Others = append(s.Others, g)
		}
	}
}

func (g *Group) fill(found *broker.GroupSurvey, now time.Time) {
	if g.Err = found.Err; found.Err != nil {
		return
	}
	g.Known, g.Read = true, found.Read
	g.Lag, g.LagKnown, g.Pending = found.Lag, found.LagKnown, found.Pending
	g.LastDelivered, g.TrimGap, g.Consumers = found.LastDelivered, found.TrimGap, found.Consumers
	g.Oldest = found.Oldest
	if found.OldestUndelivered.IsZero() && g.Lag > 0 {
		g.Lag = 0
	}
	g.OldestPending, g.OldestUndelivered = age(found.OldestPending, now), age(found.OldestUndelivered, now)
}

// age is how long ago an entry was added; 0 for no entry. Ids may be given by hand,
// to the end of time or its beginning: an entry of the future has no age, and none
// is older than can be told.
func age(id broker.ID, now time.Time) time.Duration {
	const oldest = uint64(math.MaxInt64 / int64(time.Millisecond))
	ms := uint64(max(0, now.UnixMilli()))
	if id.IsZero() || id.Ms >= ms {
		return 0
	}
	return time.Duration(min(ms-id.Ms, oldest)) * time.Millisecond
}
