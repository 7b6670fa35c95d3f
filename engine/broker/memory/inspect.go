package memory

import (
	"context"
	"time"

	"pipeline/engine/broker"
)

// StreamInfo implements broker.Broker.
func (b *Broker) StreamInfo(ctx context.Context, stream string) (broker.StreamInfo, error) {
	var info broker.StreamInfo
	err := b.do(ctx, operation{name: "inspect", stream: stream}, func(int64) error {
		s, err := b.stream(stream)
		if s != nil {
			info = s.info()
		}
		return err
	})
	if err != nil {
		return broker.StreamInfo{}, err
	}
	return info, nil
}

func (s *stream) info() broker.StreamInfo {
	return broker.StreamInfo{
		Length: int64(s.entries.len()), FirstID: s.firstID(), LastID: s.last, Groups: int64(len(s.groups)),
	}
}

// GroupInfos implements broker.Broker. Groups are sorted by name.
func (b *Broker) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	var infos []broker.GroupInfo
	err := b.do(ctx, operation{name: "inspect groups of", stream: stream}, func(int64) error {
		s, err := b.stream(stream)
		if s == nil {
			return err
		}
		for _, name := range s.groupNames() {
			infos = append(infos, b.groupInfo(s, s.groups[name]))
		}
		return nil
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

func (b *Broker) groupInfo(s *stream, g *group) broker.GroupInfo {
	info := broker.GroupInfo{
		Name: g.name, Consumers: int64(len(g.consumers)), Pending: int64(g.pending.len()), LastDelivered: g.last,
	}
	if b.features.Lag {
		info.Lag, info.LagKnown = g.lag(s, b.version)
	}
	return info
}

// ConsumerInfos implements broker.Broker. Consumers are sorted by name.
func (b *Broker) ConsumerInfos(ctx context.Context, stream, group string) ([]broker.ConsumerInfo, error) {
	var infos []broker.ConsumerInfo
	err := b.do(ctx, operation{name: "inspect consumers of", stream: stream, group: group}, func(now int64) error {
		_, g, err := b.group(stream, group)
		if err != nil {
			return err
		}
		infos = g.consumerInfos(now)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return infos, nil
}

func (g *group) consumerInfos(now int64) []broker.ConsumerInfo {
	var infos []broker.ConsumerInfo
	for _, name := range sortedNames(g.consumers) {
		c := g.consumers[name]
		infos = append(infos, broker.ConsumerInfo{
			Name: name, Pending: int64(c.pending.len()), Idle: time.Duration(max(0, now-c.seen)) * time.Millisecond,
		})
	}
	return infos
}

// Pending implements broker.Broker.
func (b *Broker) Pending(ctx context.Context, stream, group, consumer string, after broker.ID, count int) ([]broker.Pending, error) {
	op := operation{name: "list pending of", stream: stream, group: group}
	if count < 1 {
		return nil, op.fail(errCount)
	}
	var out []broker.Pending
	err := b.do(ctx, op, func(now int64) error {
		_, g, err := b.group(stream, group)
		if err != nil || after == broker.MaxID {
			return err
		}
		list := &g.pending
		if consumer != "" {
			c := g.consumers[consumer]
			if c == nil {
				return nil
			}
			list = &c.pending
		}
		out = page(list, after, count, now)
		return nil
	})
	if err != nil {
		return nil, err
	}
	return out, nil
}

// page is the first count of a pending list behind an id.
func page(all *list[*pending], after broker.ID, count int, now int64) (out []broker.Pending) {
	for at := all.from(byID(after.Next())); len(out) < count; {
		_, p, ok := at.next()
		if !ok {
			break
		}
		out = append(out, broker.Pending{ID: p.id, Consumer: p.consumer.name, Idle: idle(p, now), Deliveries: p.count})
	}
	return out
}
