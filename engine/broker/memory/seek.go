package memory

import (
	"context"

	"pipeline/engine/broker"
)

// Seek implements broker.Broker. It is one step, however much is pending.
func (b *Broker) Seek(ctx context.Context, r broker.SeekRequest) (broker.Sought, error) {
	var sought broker.Sought
	err := b.do(ctx, operation{name: "seek", stream: r.Stream, group: r.Group}, func(now int64) error {
		s, g, err := b.group(r.Stream, r.Group)
		if err != nil {
			return err
		}
		x := b.besideOf(r.Stream, r.Group)
		sought = broker.Sought{From: g.last, At: g.last, Status: s.seekable(g, &r)}
		if sought.Status != broker.SeekDone {
			return nil
		}
		behind := g.behind(r.To)
		if len(behind) > 0 {
			if sought.Alive, sought.Until = x.living(now); sought.Alive > 0 {
				sought.Status = broker.SeekInUse
				return nil
			}
		}
		for _, p := range behind {
			g.drop(p)
			x.records.remove(byID(p.id))
		}
		g.last, g.read = r.To, unknown
		if r.To == s.last {
			g.read = s.added
		}
		x.floor, x.hasFloor = r.To, true
		if oldest, _, found := g.pending.first(); found {
			x.floor = oldest.id.Prev()
		}
		sought.At, sought.Freed = r.To, int64(len(behind))
		b.changed()
		return nil
	})
	if err != nil {
		return broker.Sought{}, err
	}
	return sought, nil
}

// seekable says whether the group may be moved, as far as its position tells.
func (s *stream) seekable(g *group, r *broker.SeekRequest) broker.SeekStatus {
	forward, back := g.last.Less(r.To), r.To.Less(g.last)
	switch {
	case s.last.Less(r.To):
		return broker.SeekBeyond
	case r.Seen == broker.MaxID:
	case forward && g.last.Less(r.Seen), back && r.Seen.Less(g.last):
		return broker.SeekMoved
	}
	return broker.SeekDone
}

// behind are the pending entries after an id.
func (g *group) behind(id broker.ID) []*pending {
	var all []*pending
	if id == broker.MaxID {
		return nil
	}
	for at := g.pending.from(byID(id.Next())); ; {
		_, p, ok := at.next()
		if !ok {
			return all
		}
		all = append(all, p)
	}
}
