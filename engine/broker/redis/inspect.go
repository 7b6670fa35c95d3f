package redis

import (
	"context"
	"strings"
	"time"

	"pipeline/engine/broker"
)

// errNoSuchKey is what XINFO says of an absent stream.
const errNoSuchKey = "ERR no such key"

// Range implements broker.Broker.
func (b *Broker) Range(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return b.rangeOf(ctx, "XRANGE", stream, first, last, count)
}

// RangeBack implements broker.Broker.
func (b *Broker) RangeBack(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return b.rangeOf(ctx, "XREVRANGE", stream, last, first, count)
}

func (b *Broker) rangeOf(ctx context.Context, command, stream string, start, end broker.ID, count int) ([]broker.Entry, error) {
	op := operation{name: "read range of", stream: stream}
	if count < 1 {
		return nil, b.fail(op, &broker.Error{Detail: "count must be at least 1"})
	}
	a := newArgs()
	defer a.release()
	a.add(command, stream)
	a.id(start)
	a.id(end)
	a.add("COUNT")
	a.int(int64(count))
	reply, err := b.raw(ctx, a.since(0))
	if err != nil {
		return nil, b.fail(op, err)
	}
	found, err := readDeliveries(&cursor{text: reply})
	if err != nil {
		return nil, b.fail(op, err)
	}
	entries := make([]broker.Entry, len(found))
	for i := range found {
		entries[i] = found[i].Entry
	}
	return entries, nil
}

// StreamInfo implements broker.Broker.
func (b *Broker) StreamInfo(ctx context.Context, stream string) (broker.StreamInfo, error) {
	op := operation{name: "inspect", stream: stream}
	v, err := b.settle.Do(ctx, "XINFO", "STREAM", stream).Result()
	if absent(err) {
		return broker.StreamInfo{}, nil
	}
	if err != nil {
		return broker.StreamInfo{}, b.fail(op, err)
	}
	return properties(v).stream(), nil
}

func (i info) stream() broker.StreamInfo {
	return broker.StreamInfo{
		Length: i.number("length"), Groups: i.number("groups"),
		FirstID: entryID(i.get("first-entry")), LastID: i.id("last-generated-id"),
	}
}

// entryID is the id of an entry in a reply, zero for none.
func entryID(v any) broker.ID {
	if entry, ok := v.([]any); ok && len(entry) > 0 {
		return idOf(entry[0])
	}
	return broker.ID{}
}

// idOf is an id in a reply, zero for none.
func idOf(v any) broker.ID {
	text, _ := v.(string)
	id, _ := parseID(text)
	return id
}

// absent reports whether XINFO found no stream.
func absent(err error) bool { return err != nil && strings.HasPrefix(err.Error(), errNoSuchKey) }

// GroupInfos implements broker.Broker.
func (b *Broker) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	v, err := b.settle.Do(ctx, "XINFO", "GROUPS", stream).Slice()
	if absent(err) {
		return nil, nil
	}
	if err != nil {
		return nil, b.fail(operation{name: "inspect groups of", stream: stream}, err)
	}
	groups := make([]broker.GroupInfo, len(v))
	for i := range v {
		groups[i] = properties(v[i]).group()
	}
	return groups, nil
}

func (i info) group() broker.GroupInfo {
	g := broker.GroupInfo{
		Name: i.text("name"), Consumers: i.number("consumers"), Pending: i.number("pending"),
		LastDelivered: i.id("last-delivered-id"),
	}
	g.Lag, g.LagKnown = i.get("lag").(int64)
	return g
}

// ConsumerInfos implements broker.Broker.
func (b *Broker) ConsumerInfos(ctx context.Context, stream, group string) ([]broker.ConsumerInfo, error) {
	op := operation{name: "inspect consumers of", stream: stream, group: group}
	v, err := b.settle.Do(ctx, "XINFO", "CONSUMERS", stream, group).Slice()
	if absent(err) {
		err = &broker.Error{Kind: broker.ErrNoGroup, Detail: "the stream does not exist"}
	}
	if err != nil {
		return nil, b.fail(op, err)
	}
	consumers := make([]broker.ConsumerInfo, len(v))
	for i := range v {
		consumers[i] = properties(v[i]).consumer()
	}
	return consumers, nil
}

func (i info) consumer() broker.ConsumerInfo {
	return broker.ConsumerInfo{
		Name: i.text("name"), Pending: i.number("pending"),
		Idle: time.Duration(i.number("idle")) * time.Millisecond,
	}
}

// Pending implements broker.Broker.
func (b *Broker) Pending(ctx context.Context, stream, group, consumer string, after broker.ID, count int) ([]broker.Pending, error) {
	op := operation{name: "list pending of", stream: stream, group: group}
	if count < 1 {
		return nil, b.fail(op, &broker.Error{Detail: "count must be at least 1"})
	}
	if after == broker.MaxID { // nothing is behind it, but the group may be absent
		_, err := b.pendingRange(ctx, stream, group, consumer, after.Prev(), after, 1)
		return nil, b.fail(op, err)
	}
	p, err := b.pendingRange(ctx, stream, group, consumer, after, broker.MaxID, count)
	return p, b.fail(op, err)
}

// pendingRange is an XPENDING from after the first id to the last. Servers
// accept an exclusive start from 6.2 on.
func (b *Broker) pendingRange(ctx context.Context, stream, group, consumer string, after, last broker.ID, count int) ([]broker.Pending, error) {
	a := newArgs()
	defer a.release()
	a.add("XPENDING", stream, group)
	a.id(after.Next())
	a.id(last)
	a.int(int64(count))
	if consumer != "" {
		a.word(consumer)
	}
	reply, err := b.raw(ctx, a.since(0))
	if err != nil {
		return nil, err
	}
	return pendingReply(reply)
}

// pendingReply reads an array of [id, consumer, idle, deliveries].
func pendingReply(reply string) ([]broker.Pending, error) {
	c := cursor{text: reply}
	n, err := c.array()
	if err != nil || n <= 0 {
		return nil, err
	}
	out := make([]broker.Pending, n)
	for i := range out {
		if parts, err := c.array(); err != nil || parts != 4 {
			return nil, cmpError(err, c.fail("pending entry"))
		}
		p := &out[i]
		if p.ID, err = c.id(); err != nil {
			return nil, err
		}
		if p.Consumer, _, err = c.bulk(); err != nil {
			return nil, err
		}
		idle, err := c.integer()
		if err != nil {
			return nil, err
		}
		p.Idle = time.Duration(max(0, idle)) * time.Millisecond
		if p.Deliveries, err = c.integer(); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// info is a reply of names and values, in whichever shape it came. It is looked
// through for each name that is asked for: they are few.
type info struct {
	list  []any
	table map[any]any
}

func properties(v any) info {
	list, _ := v.([]any)
	table, _ := v.(map[any]any)
	return info{list, table}
}

// get is the value of a name, nil if there is none.
func (i info) get(name string) any {
	for at := 0; at+1 < len(i.list); at += 2 {
		if i.list[at] == any(name) {
			return i.list[at+1]
		}
	}
	return i.table[name]
}

func (i info) number(name string) int64 {
	n, _ := i.get(name).(int64)
	return n
}

// count is a number that may be missing or nil; -1 then.
func (i info) count(name string) int64 {
	if n, ok := i.get(name).(int64); ok {
		return n
	}
	return -1
}

func (i info) text(name string) string {
	s, _ := i.get(name).(string)
	return s
}

func (i info) id(name string) broker.ID {
	id, _ := parseID(i.text(name))
	return id
}
