package backlog

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// Backlog is how far the readers of a stream are behind.
type Backlog struct {
	// Entries is the number of entries that the slowest group has not
	// acknowledged; the length of a stream without groups.
	Entries int64
	// Group is the slowest group; empty for a stream without groups.
	Group string
	// About: Entries is not exact, because the server does not know how many
	// entries the group was not given yet. Below the limit it is not more than
	// Entries says.
	About bool
	// counted is how many entries had to be counted for it.
	counted int
}

// Where the server does not know the lag of a group (it was created in the
// middle of a stream that it has not read to the end since, an entry that it was
// not given was deleted, or the server is older than 7.0), the entries are
// counted: the reply to XRANGE has their bodies, so that it is bounded by bytes
// as well. Beyond that the length of the stream stands for the lag, which is never
// less.
const (
	countEntries = 10_000
	countBytes   = 4 << 20
	countPage    = 256 << 10
	firstPage    = 10
)

// countCost is how long is waited for each entry that had to be counted, so that
// counting takes the server a small part of its time.
const countCost = 100 * time.Microsecond

// wait is how long a reading is left alone: d, or longer if it was dear.
func (b *Backlog) wait(d time.Duration) time.Duration {
	return max(d, time.Duration(b.counted)*countCost)
}

// measure looks at a stream. It counts no further than limit.
func measure(ctx context.Context, s Server, stream string, limit int64) (Backlog, error) {
	groups, err := s.GroupInfos(ctx, stream)
	if err != nil {
		return Backlog{}, err
	}
	if len(groups) == 0 {
		info, err := s.StreamInfo(ctx, stream)
		return Backlog{Entries: info.Length}, err
	}
	most, counted := Backlog{Entries: -1}, 0
	for i := range groups {
		b, err := ofGroup(ctx, s, stream, &groups[i], limit)
		if err != nil {
			return Backlog{}, err
		}
		counted += b.counted
		if b.Entries > most.Entries {
			most = b
		}
	}
	most.counted = counted
	return most, nil
}

// ofGroup is the backlog of one group.
func ofGroup(ctx context.Context, s Server, stream string, g *broker.GroupInfo, limit int64) (Backlog, error) {
	b := Backlog{Group: g.Name, Entries: g.Pending + g.Lag}
	if g.LagKnown {
		return b, nil
	}
	b.Entries = g.Pending
	if g.Pending >= limit {
		b.About = true
		return b, nil
	}
	n, all, err := count(ctx, s, stream, g.LastDelivered, limit-g.Pending)
	if err != nil {
		return Backlog{}, err
	}
	b.Entries, b.counted = g.Pending+int64(n), n
	if all || b.Entries >= limit {
		b.About = !all
		return b, nil
	}
	info, err := s.StreamInfo(ctx, stream)
	b.Entries, b.About = max(b.Entries, info.Length), true
	return b, err
}

// count counts the entries after an id, up to a number and to bounds of its own;
// all reports that there are no more.
func count(ctx context.Context, s Server, stream string, after broker.ID, most int64) (n int, all bool, err error) {
	page, bytes := firstPage, 0
	for int64(n) < most && n < countEntries && bytes < countBytes {
		if after == broker.MaxID {
			return n, true, nil
		}
		page = int(min(int64(page), most-int64(n)))
		entries, err := s.Range(ctx, stream, after.Next(), broker.MaxID, page)
		if err != nil {
			return n, false, err
		}
		for i := range entries {
			bytes += size(&entries[i])
		}
		if n += len(entries); len(entries) < page {
			return n, true, nil
		}
		after = entries[len(entries)-1].ID
		page = min(max(1, countPage*n/max(1, bytes)), 1000)
	}
	return n, false, nil
}

// size is about how many bytes of a reply an entry takes.
func size(e *broker.Entry) int {
	n := 32
	for _, f := range e.Fields {
		n += len(f.Name) + len(f.Value) + 16
	}
	return n
}
