package deadletters

import (
	"context"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/engine/broker"
)

// Fetch brings entries of a stream by their ids, which rise: found is called for
// each in turn, with its entry or nil for one that is gone. An error of found ends
// it.
func Fetch(ctx context.Context, b broker.Broker, stream string, ids []broker.ID, found func(at int, e *broker.Entry) error) error {
	return newFetcher(b, stream).fetch(ctx, ids, found)
}

// fetcher brings entries by their ids. Where most entries of a range are
// wanted it reads ranges, and where few are it asks for each: it doubles and
// halves how many it asks for by how many of them were of use.
type fetcher struct {
	broker broker.Broker
	stream string
	size   live.PageSize
}

func newFetcher(b broker.Broker, stream string) *fetcher {
	return &fetcher{broker: b, stream: stream, size: live.NewPageSize()}
}

// fetch calls found for every id in turn, which rise: with its entry, or nil for
// one that is gone. An error of found ends it.
func (f *fetcher) fetch(ctx context.Context, ids []broker.ID, found func(at int, e *broker.Entry) error) error {
	for at := 0; at < len(ids); {
		count := min(f.size.Count, len(ids)-at+1)
		entries, err := f.broker.Range(ctx, f.stream, ids[at], ids[len(ids)-1], count)
		if err != nil {
			return err
		}
		full := len(entries) == count
		hits, next := 0, 0
		for ; at < len(ids); at++ {
			for next < len(entries) && entries[next].ID.Less(ids[at]) {
				next++
			}
			if next == len(entries) && full {
				break // it may stand on the next page
			}
			var e *broker.Entry
			if next < len(entries) && entries[next].ID == ids[at] {
				e = &entries[next]
				hits++
			}
			if err := found(at, e); err != nil {
				return err
			}
		}
		f.size.After(entries)
		if 2*hits < len(entries) {
			f.size.Count = max(1, f.size.Count/4)
		}
	}
	return nil
}
