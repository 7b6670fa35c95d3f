package memory

import (
	"context"
	"math"
	"time"

	"pipeline/engine/broker"
)

// min is before every key.
func (key) min() key { return key{at: math.MinInt64} }

// idle is how long an entry has been pending untouched.
func idle(p *pending, now int64) time.Duration {
	return time.Duration(max(0, now-p.at)) * time.Millisecond
}

// claim is XCLAIM of an entry that is pending: it gives it to the consumer as
// delivered at that time, and reports whether the entry is still pending. From
// 7.0 on a server drops an entry whose body is gone instead, which before 7.2
// does not count as having seen the consumer.
func (b *Broker) claim(s *stream, g *group, p *pending, to string, now, at, count int64) bool {
	c := b.reader(g, to, now)
	if _, exists := s.body(p.id); !exists && b.features.DeletedIDs {
		g.drop(p)
		return false
	}
	g.meet(c, now)
	g.move(p, c, at, count)
	return true
}

// AutoClaim implements broker.Broker.
func (b *Broker) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	op := on(r.Owner, "claim")
	if r.Count < 1 {
		return broker.AutoClaimed{}, op.fail(errCount)
	}
	var page broker.AutoClaimed
	err := b.do(ctx, op, func(now int64) error {
		if !b.features.AutoClaim {
			return &broker.Error{Kind: broker.ErrUnsupported, Detail: "XAUTOCLAIM needs Redis 6.2"}
		}
		s, g, err := b.group(r.Stream, r.Group)
		if err == nil {
			page = b.autoClaim(s, g, &r, now)
		}
		return err
	})
	if err != nil {
		return broker.AutoClaimed{}, err
	}
	return page, nil
}

func (b *Broker) autoClaim(s *stream, g *group, r *broker.AutoClaimRequest, now int64) broker.AutoClaimed {
	var page broker.AutoClaimed
	since := now - milliseconds(r.MinIdle)
	taken, gone := []*pending(nil), []*pending(nil)
	at := g.pending.from(byID(r.Start))
	for looks := r.Looks(); looks > 0 && len(taken)+len(gone) < r.Count; looks-- {
		_, p, ok := at.next()
		if !ok {
			break
		}
		if p.at > since {
			continue
		}
		if _, exists := s.body(p.id); !exists {
			gone = append(gone, p)
		} else if !r.JustDeleted {
			taken = append(taken, p)
		}
	}
	if k, _, ok := at.next(); ok {
		page.Next = k.id
	}
	for _, p := range gone {
		g.drop(p)
		page.Deleted = append(page.Deleted, p.id)
	}
	if len(taken)+len(gone) == 0 {
		return page
	}
	b.changed()
	if r.JustDeleted {
		return page
	}
	c := b.reader(g, r.Consumer, now)
	if len(taken) > 0 {
		g.meet(c, now)
	}
	for _, p := range taken {
		fields, _ := s.body(p.id)
		page.Deliveries = append(page.Deliveries, broker.Delivery{
			Entry: broker.Entry{ID: p.id, Fields: fields}, Deliveries: p.count,
		})
		g.move(p, c, now, p.count+1)
	}
	return page
}

// TakeOver implements broker.Broker.
func (b *Broker) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	var out broker.TakenOver
	if len(ids) == 0 {
		return out, nil
	}
	err := b.do(ctx, on(o, "take over"), func(now int64) error {
		s, g, err := b.group(o.Stream, o.Group)
		if err == nil {
			out = b.takeOver(s, g, o.Consumer, from, ids, now)
		}
		return err
	})
	if err != nil {
		return broker.TakenOver{}, err
	}
	return out, nil
}

func (b *Broker) takeOver(s *stream, g *group, to, from string, ids []broker.ID, now int64) broker.TakenOver {
	var out broker.TakenOver
	taken := make(map[broker.ID]bool, len(ids))
	for _, id := range ids {
		p := g.held(id, from)
		if p == nil || taken[id] {
			continue
		}
		taken[id] = true
		b.changed()
		c := b.reader(g, to, now)
		fields, exists := s.body(id)
		if !exists {
			g.drop(p)
			out.Deleted = append(out.Deleted, id)
			continue
		}
		out.Deliveries = append(out.Deliveries, broker.Delivery{
			Entry: broker.Entry{ID: id, Fields: fields}, Deliveries: p.count,
		})
		g.meet(c, now)
		g.move(p, c, now, p.count+1)
	}
	return out
}
