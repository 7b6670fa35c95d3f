package memory

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// Renew implements broker.Broker. One that plays a server before 7.0 does not
// tell that a body is gone: such an entry is Held.
func (b *Broker) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	if len(ids) == 0 {
		return nil, nil
	}
	var out []broker.Holding
	err := b.do(ctx, on(o, "renew"), func(now int64) error {
		s, g, err := b.group(o.Stream, o.Group)
		if err != nil {
			return err
		}
		out = make([]broker.Holding, len(ids))
		for i, p := range g.heldOf(ids, o.Consumer) {
			out[i] = b.renew(s, g, p, o.Consumer, now)
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

func (b *Broker) renew(s *stream, g *group, p *pending, owner string, now int64) broker.Holding {
	if p == nil {
		return broker.HeldByOther
	}
	b.changed()
	if !b.claim(s, g, p, owner, now, now, p.count) {
		return broker.BodyGone
	}
	return broker.Held
}

// Release implements broker.Broker.
func (b *Broker) Release(ctx context.Context, o broker.Owner, ids []broker.ID, idle time.Duration) error {
	if len(ids) == 0 {
		return nil
	}
	return b.do(ctx, on(o, "release"), func(now int64) error {
		s, g, err := b.group(o.Stream, o.Group)
		if err != nil {
			return err
		}
		released := map[*pending]bool{nil: true}
		for _, p := range g.heldOf(ids, o.Consumer) {
			if !released[p] {
				released[p] = true
				b.claim(s, g, p, o.Consumer, now, now-milliseconds(idle), max(0, p.count-1))
				b.changed()
			}
		}
		return nil
	})
}
