package deadletters

import (
	"context"

	"pipeline/engine/broker"
)

// Freeze writes the chosen letters of sources to a selection. What a replay could
// not put back is left out and counted by why.
func Freeze(ctx context.Context, s *Scan, sources []*Source, sel Selection, path string) (chosen int64, leftOut Counts, err error) {
	w, err := sel.Write(path)
	if err != nil {
		return 0, leftOut, err
	}
	for _, from := range sources {
		for l, err := range s.Letters(ctx, from) {
			if err == nil && sel.Action == Replay {
				if _, _, why := l.Target(sel.AllGroups); why != "" {
					leftOut.Add(why)
					continue
				}
			}
			if err == nil {
				err = w.Add(&l)
			}
			if err != nil {
				w.Abandon()
				return 0, leftOut, err
			}
		}
	}
	if w.Total() == 0 {
		w.Abandon()
		return 0, leftOut, nil
	}
	return w.Total(), leftOut, w.Commit()
}

// Preview is what a selection holds.
type Preview struct {
	Letters        int64
	Reasons        Counts
	Oldest, Newest broker.ID
	// Places are where letters stand and what they go back to, in the order in
	// which they come.
	Places []*Place
}

// Place is a dead-letter stream, and a stream and group whose letters stand in it.
type Place struct {
	Letters       string
	Stream, Group string
	Count         int64
}

// maxPlaces bounds the places of a preview; a letter may name any group.
const maxPlaces = 1000

// places finds a place by what it is.
type places map[Place]*Place

// count adds a letter.
func (p *Preview) count(seen *places, c *Chosen) {
	id, _ := broker.ParseID(c.ID) // it was parsed before
	if p.Letters++; p.Letters == 1 || id.Less(p.Oldest) {
		p.Oldest = id
	}
	p.Newest = broker.Later(p.Newest, id)
	p.Reasons.Add(c.Reason)
	key := Place{Letters: c.Letters, Stream: c.Stream, Group: c.Group}
	if (*seen)[key] == nil && len(*seen) >= maxPlaces {
		key = Place{Letters: c.Letters}
	}
	if (*seen)[key] == nil {
		if *seen == nil {
			*seen = places{}
		}
		place := key
		(*seen)[key] = &place
		p.Places = append(p.Places, &place)
	}
	(*seen)[key].Count++
}
