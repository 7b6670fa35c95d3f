package seek

import (
	"context"
	"errors"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/engine/broker"
	"pipeline/engine/spec"
)

// Preview is what moving a group comes to, as the server is now.
type Preview struct {
	Group *spec.Group
	// From is where the group stands, To the position. Last is the last id of the
	// stream, First that of the oldest entry that is still there.
	From, To, First, Last broker.ID
	// Again are the entries that were delivered and would be delivered again, Skipped
	// those that nobody was given and nobody would be. At most one of them is any.
	Again, Skipped Span
	// Freed are pending entries behind the position: they would be taken out of the
	// pending list and delivered as new. Kept ones stay pending.
	Freed, Kept int64
}

// Span are entries that lie one behind the other.
type Span struct {
	Entries int64
	// Exact: they were counted, all of them; else that is how many there are as far as
	// the server counts, or more than so many where More.
	Exact, More bool
	First, Last broker.ID
}

// Back reports whether the group is moved back.
func (p *Preview) Back() bool { return p.To.Less(p.From) }

// Beyond reports whether the position is beyond the last id of the stream.
func (p *Preview) Beyond() bool { return p.Last.Less(p.To) }

// Still reports whether the group stands there already, with nothing to do.
func (p *Preview) Still() bool { return p.To == p.From && p.Freed == 0 }

// counted bounds how many entries are counted by reading them.
const counted = 100_000

// Look finds out what moving a group comes to. It changes nothing. Without the group
// the error is of the kind broker.ErrNoGroup.
func Look(ctx context.Context, b broker.Broker, g *spec.Group, to Position) (Preview, error) {
	p := Preview{Group: g}
	stream, err := b.StreamInfo(ctx, g.Stream.Name)
	if err != nil {
		return p, err
	}
	groups, err := b.GroupInfos(ctx, g.Stream.Name)
	if err != nil {
		return p, err
	}
	var group *broker.GroupInfo
	for i := range groups {
		if groups[i].Name == g.Name {
			group = &groups[i]
		}
	}
	if group == nil {
		return p, &broker.Error{Op: "seek", Stream: g.Stream.Name, Group: g.Name, Kind: broker.ErrNoGroup}
	}
	p.From, p.To, p.First, p.Last = group.LastDelivered, to.of(stream.LastID), stream.FirstID, stream.LastID
	if p.Beyond() {
		return p, nil
	}
	if p.Back() {
		p.Again, err = span(ctx, b, g, p.To, p.From)
	} else {
		p.Skipped, err = span(ctx, b, g, p.From, p.To)
	}
	if err != nil {
		return p, err
	}
	p.estimate(&stream, group)
	if p.Freed, err = pendingBehind(ctx, b, g, p.To); err != nil {
		return p, err
	}
	p.Kept = max(0, group.Pending-p.Freed)
	return p, nil
}

// estimate takes what the server counts for a span that was too long to be read. It
// counts from the group's position to the end of a stream.
func (p *Preview) estimate(stream *broker.StreamInfo, group *broker.GroupInfo) {
	undelivered, known := group.Lag, group.LagKnown
	if p.From.Less(p.First) {
		undelivered, known = stream.Length, true // what was trimmed counts no more
	}
	switch {
	case p.Again.More && p.To.Less(p.First) && known:
		p.Again.Entries, p.Again.More = max(p.Again.Entries, stream.Length-undelivered), false
	case p.Skipped.More && p.To == p.Last && known:
		p.Skipped.Entries, p.Skipped.More = max(p.Skipped.Entries, undelivered), false
	}
}

// span counts the entries behind one id up to another.
func span(ctx context.Context, b broker.Broker, g *spec.Group, after, to broker.ID) (Span, error) {
	s := Span{Exact: true}
	size := live.NewPageSize()
	for after.Less(to) {
		page, err := b.Range(ctx, g.Stream.Name, after.Next(), to, size.Count)
		if err != nil {
			return s, err
		}
		if len(page) == 0 {
			break
		}
		if s.Entries == 0 {
			s.First = page[0].ID
		}
		s.Entries += int64(len(page))
		after = page[len(page)-1].ID
		s.Last = after
		if s.Entries >= counted && after.Less(to) {
			s.Exact, s.More, s.Last = false, true, to
			break
		}
		size.After(page)
	}
	return s, nil
}

// pendingPage is how many pending entries one command lists.
const pendingPage = 1000

// pendingBehind counts the pending entries behind an id.
func pendingBehind(ctx context.Context, b broker.Broker, g *spec.Group, after broker.ID) (n int64, err error) {
	for {
		page, err := b.Pending(ctx, g.Stream.Name, g.Name, "", after, pendingPage)
		if err != nil {
			return n, err
		}
		n += int64(len(page))
		if len(page) < pendingPage {
			return n, nil
		}
		after = page[len(page)-1].ID
	}
}

// tries bounds how often a group that moves on is looked at again.
const tries = 5

// Move looks at a group and moves it, so that no more is delivered again or passed
// over than the preview says. Seen is where it was seen before, or broker.MaxID for
// wherever it stands; allow may refuse what the preview says, whereupon nothing is done.
func Move(
	ctx context.Context, b broker.Broker, g *spec.Group, to Position, seen broker.ID, allow func(*Preview) error,
) (Preview, broker.Sought, error) {
	for try := 1; ; try++ {
		p, err := Look(ctx, b, g, to)
		if err == nil && allow != nil {
			err = allow(&p)
		}
		if err != nil {
			return p, broker.Sought{}, err
		}
		r := broker.SeekRequest{Stream: g.Stream.Name, Group: g.Name, To: p.To, Seen: seen}
		if seen == broker.MaxID {
			r.Seen = p.From
		}
		sought, err := b.Seek(ctx, r)
		if err != nil || sought.Status != broker.SeekMoved || seen != broker.MaxID || try == tries {
			return p, sought, err
		}
	}
}

// Absent reports whether an error says that the group does not exist.
func Absent(err error) bool { return errors.Is(err, broker.ErrNoGroup) }
