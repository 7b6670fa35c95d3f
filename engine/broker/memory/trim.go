package memory

import (
	"context"

	"pipeline/engine/broker"
)

// trimStep is how many entries one Trim looks at.
const trimStep = 10_000

// nodeSize is how many entries a server packs together at most: an approximate
// trim removes whole nodes.
const nodeSize = 100

// Trim implements broker.Broker.
func (b *Broker) Trim(ctx context.Context, r broker.TrimRequest) (int64, error) {
	var removed int64
	if r.MaxLen <= 0 && r.MinID.IsZero() && r.MaxAge <= 0 {
		return 0, nil
	}
	err := b.do(ctx, operation{name: "trim", stream: r.Stream}, func(now int64) error {
		s, err := b.stream(r.Stream)
		if s == nil {
			return err
		}
		if least := (broker.ID{Ms: uint64(max(0, now-r.MaxAge.Milliseconds()))}); r.MaxAge > 0 && r.MinID.Less(least) {
			r.MinID = least
		}
		removed = b.trim(s, &r)
		if removed > 0 {
			b.changed()
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	return removed, nil
}

// trim removes the oldest entries that are beyond a bound, and passes over
// those that are to be protected. Entries from between count as deleted, as
// with the XDEL that a server needs for them.
func (b *Broker) trim(s *stream, r *broker.TrimRequest) int64 {
	var excess int64
	if r.MaxLen > 0 {
		excess = int64(s.entries.len()) - r.MaxLen
	}
	var gone []broker.ID
	seen := 0
	for at := s.entries.from(key{}); seen < trimStep; seen++ {
		k, _, ok := at.next()
		if !ok || int64(len(gone)) >= excess && !k.id.Less(r.MinID) {
			break
		}
		if r.Protect {
			delivered, acknowledged := s.settled(k.id)
			if !delivered {
				break
			}
			if !acknowledged {
				continue
			}
		}
		gone = append(gone, k.id)
	}
	for _, id := range gone {
		if len(gone) < seen {
			s.delete(id)
		} else {
			s.entries.remove(byID(id))
		}
	}
	return int64(len(gone))
}

// settled reports whether every group was delivered the entry, and whether
// every group also acknowledged it.
func (s *stream) settled(id broker.ID) (delivered, acknowledged bool) {
	acknowledged = true
	for _, g := range s.groups {
		if g.last.Less(id) {
			return false, false
		}
		if _, pending := g.pending.get(byID(id)); pending {
			acknowledged = false
		}
	}
	return true, acknowledged
}

// trimAbout is the trim of an XADD MAXLEN ~: whole nodes, never below the
// bound.
func (s *stream) trimAbout(length int64) {
	for int64(s.entries.len())-nodeSize >= length {
		for range nodeSize {
			k, _, _ := s.entries.first()
			s.entries.remove(k)
		}
	}
}
