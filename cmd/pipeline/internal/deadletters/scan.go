package deadletters

import (
	"context"
	"iter"
	"slices"
	"sync"

	"pipeline/cmd/pipeline/internal/live"
	"pipeline/engine/broker"
)

// Scan is how letters are read.
type Scan struct {
	Broker broker.Broker
	Filter Filter
	// Newest reads from the newest letter to the oldest.
	Newest bool
	// After is the id to go on after, in the direction of reading; zero begins.
	After broker.ID
	// Read is called for every page with the number of letters that it brought,
	// chosen or not, and the id of the last one; nil is not called.
	Read func(letters int, last broker.ID)
}

// page is what one range brought.
type page struct {
	entries []broker.Entry
	err     error
}

// Letters are the chosen letters of a source, by id. What is buried after the
// first page was asked for is not among them. An error of the server ends them,
// and is the last thing they give; so is the one of ctx.
func (s *Scan) Letters(ctx context.Context, from *Source) iter.Seq2[Letter, error] {
	return func(yield func(Letter, error) bool) {
		if len(s.Filter.IDs) > 0 {
			s.byID(ctx, from, yield)
			return
		}
		reading, cancel := context.WithCancel(ctx)
		pages := make(chan page)
		var fetching sync.WaitGroup
		defer fetching.Wait()
		defer cancel()
		fetching.Go(func() {
			defer close(pages)
			s.fetch(reading, from.Stream.Name, pages)
		})
		for p := range pages {
			if p.err != nil {
				yield(Letter{}, ended(ctx, p.err))
				return
			}
			if s.Read != nil && len(p.entries) > 0 {
				s.Read(len(p.entries), p.entries[len(p.entries)-1].ID)
			}
			if !s.give(from, p.entries, yield) {
				return
			}
		}
		if err := ctx.Err(); err != nil {
			yield(Letter{}, err)
		}
	}
}

// ended is the error that letters end with. A call of the server that is canceled says
// that the server cannot be reached; what ended them then is ctx.
func ended(ctx context.Context, err error) error {
	if canceled := ctx.Err(); canceled != nil {
		return canceled
	}
	return err
}

// give gives the chosen ones of a page.
func (s *Scan) give(from *Source, entries []broker.Entry, yield func(Letter, error) bool) bool {
	for i := range entries {
		l := newLetter(from, entries[i])
		if s.Filter.Match(&l) && !yield(l, nil) {
			return false
		}
	}
	return true
}

// byID looks at the letters that the filter names, and at no others.
func (s *Scan) byID(ctx context.Context, from *Source, yield func(Letter, error) bool) {
	ids := slices.Clone(s.Filter.IDs)
	slices.SortFunc(ids, broker.ID.Compare)
	ids = slices.Compact(ids)
	if s.Newest {
		slices.Reverse(ids)
	}
	for _, id := range ids {
		if !s.After.IsZero() && (id == s.After || id.Less(s.After) != s.Newest) {
			continue
		}
		entries, err := s.Broker.Range(ctx, from.Stream.Name, id, id, 1)
		if err != nil {
			yield(Letter{}, ended(ctx, err))
			return
		}
		if !s.give(from, entries, yield) {
			return
		}
	}
}

// fetch reads pages until the end of the range.
func (s *Scan) fetch(ctx context.Context, stream string, pages chan<- page) {
	first, last := s.Filter.From, s.Filter.last()
	if last == broker.MaxID {
		info, err := s.Broker.StreamInfo(ctx, stream)
		if err != nil {
			send(ctx, pages, page{err: err})
			return
		}
		if last = info.LastID; info.Length == 0 {
			return
		}
	}
	read := s.Broker.Range
	if s.Newest {
		read = s.Broker.RangeBack
	}
	if !s.After.IsZero() {
		first, last = s.beyond(s.After, first, last)
	}
	size := live.NewPageSize()
	for first.Compare(last) <= 0 {
		count := size.Count
		entries, err := read(ctx, stream, first, last, count)
		if !send(ctx, pages, page{entries, err}) || err != nil || len(entries) < count {
			return
		}
		size.After(entries)
		end := entries[len(entries)-1].ID
		if s.Newest && end.IsZero() || end == broker.MaxID {
			return
		}
		first, last = s.beyond(end, first, last)
	}
}

// beyond is what is left of a range after an id.
func (s *Scan) beyond(id, first, last broker.ID) (broker.ID, broker.ID) {
	if s.Newest {
		return first, broker.Earlier(last, id.Prev())
	}
	return broker.Later(first, id.Next()), last
}

// send hands a page over, or reports that nobody takes it any more.
func send(ctx context.Context, pages chan<- page, p page) bool {
	select {
	case pages <- p:
		return true
	case <-ctx.Done():
		return false
	}
}
