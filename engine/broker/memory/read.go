package memory

import (
	"context"

	"pipeline/engine/broker"
)

// Read implements broker.Broker. A canceled context wakes it at once.
func (b *Broker) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	op := on(r.Owner, "read")
	if r.Count < 1 {
		return nil, op.fail(errCount)
	}
	effect, err := b.begin(ctx, op)
	if err != nil {
		return nil, op.fail(err)
	}
	var out []broker.Delivery
	var w *waiter
	b.mu.Lock()
	err = b.run(func(now int64) (err error) {
		out, w, err = b.read(&r, now)
		return err
	})
	b.mu.Unlock()
	if w != nil {
		out, err = b.await(ctx, w)
	}
	if effect.Err != nil {
		return nil, op.fail(effect.Err)
	}
	return out, op.fail(err)
}

// read reads what there is, or blocks.
func (b *Broker) read(r *broker.ReadRequest, now int64) ([]broker.Delivery, *waiter, error) {
	if r.MinIdle > 0 && !b.features.ClaimingRead {
		return nil, nil, &broker.Error{Kind: broker.ErrUnsupported,
			Detail: "XREADGROUP … CLAIM needs Redis " + broker.ClaimingReadSince}
	}
	s, g, err := b.group(r.Stream, r.Group)
	if err != nil {
		return nil, nil, err
	}
	out := b.take(s, g, r, now)
	if len(out) == 0 && r.Block > 0 {
		return nil, b.block(s, g, r, now), nil
	}
	return out, nil, nil
}

// take delivers what can be delivered now: first what is idle long enough,
// then what is new.
func (b *Broker) take(s *stream, g *group, r *broker.ReadRequest, now int64) []broker.Delivery {
	c := b.reader(g, r.Consumer, now)
	var out []broker.Delivery
	if r.MinIdle > 0 {
		out = claimIdle(s, g, c, now-milliseconds(r.MinIdle), now, r.Count)
	}
	if len(out) < r.Count && g.last.Less(s.last) {
		out = b.deliverNew(s, g, c, now, r.Count, out)
	}
	if len(out) > 0 {
		g.meet(c, now)
		b.changed()
	}
	return out
}

// reader is the consumer that a read or a claim is for. From 7.2 on one that
// brings nothing creates it, too, and counts as having seen it.
func (b *Broker) reader(g *group, name string, now int64) *consumer {
	if b.version.atLeast(7, 2) {
		return g.consumer(name, now)
	}
	if c := g.consumers[name]; c != nil {
		return c
	}
	return &consumer{name: name}
}

// claimIdle gives the consumer entries that have been pending since before
// the given time, oldest delivery first. It passes over those without a body,
// which stay pending: only XAUTOCLAIM and XCLAIM drop them.
func claimIdle(s *stream, g *group, c *consumer, since, now int64, count int) []broker.Delivery {
	var out []broker.Delivery
	var claimed []*pending
	for at := g.byTime.from(key{}.min()); len(out) < count; {
		_, p, ok := at.next()
		if !ok || p.at > since {
			break
		}
		fields, exists := s.body(p.id)
		if !exists {
			continue
		}
		claimed = append(claimed, p)
		out = append(out, broker.Delivery{
			Entry: broker.Entry{ID: p.id, Fields: fields}, Idle: idle(p, now), Deliveries: p.count,
		})
	}
	for _, p := range claimed {
		g.move(p, c, now, p.count+1)
	}
	return out
}

// deliverNew appends entries that the group has not been given yet.
func (b *Broker) deliverNew(s *stream, g *group, c *consumer, now int64, count int, out []broker.Delivery) []broker.Delivery {
	first := len(out)
	if out == nil {
		out = make([]broker.Delivery, 0, min(count, s.entries.len()))
	}
	for at := s.entries.from(byID(g.last.Next())); len(out) < count; {
		k, fields, ok := at.next()
		if !ok {
			break
		}
		out = append(out, broker.Delivery{Entry: broker.Entry{ID: k.id, Fields: fields}})
	}
	batch := make([]pending, len(out)-first)
	for i := range batch {
		p := &batch[i]
		*p = pending{id: out[first+i].ID, consumer: c, at: now, count: 1}
		g.put(p)
		g.advance(s, p.id, b.version)
	}
	return out
}
