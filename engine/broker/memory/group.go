package memory

import "pipeline/engine/broker"

// unknown stands for a number of read entries that cannot be told.
const unknown = -1

// group is a consumer group of a stream.
type group struct {
	name string
	// last is the last delivered id; read how many entries were delivered up
	// to it, or unknown.
	last broker.ID
	read int64

	pending list[*pending]
	// byTime is the pending list by time of delivery, and in the order in which
	// that was set where it is the same: placed counts how often it was.
	byTime    list[*pending]
	placed    uint64
	consumers map[string]*consumer
}

// consumer is a consumer of a group.
type consumer struct {
	name    string
	pending list[*pending]
	// seen is when it last tried to read or claim.
	seen int64
}

// pending is an entry that was delivered and not acknowledged.
type pending struct {
	id       broker.ID
	consumer *consumer
	// at is when it was delivered, or last renewed, in milliseconds; an aged
	// entry has an earlier time than that.
	at int64
	// place orders entries with the same at.
	place uint64
	// count is how often it was delivered.
	count int64
}

func (p *pending) timeKey() key { return key{p.at, broker.ID{Seq: p.place}} }

// place puts an entry into its place by time, behind those of the same time.
func (g *group) place(p *pending, at int64) {
	g.placed++
	p.at, p.place = at, g.placed
	g.byTime.set(p.timeKey(), p)
}

func newGroup(name string, at broker.ID) *group {
	return &group{name: name, last: at, read: unknown, consumers: map[string]*consumer{}}
}

// consumer returns the consumer, which is created by the first command that
// names it, and notes that it was seen.
func (g *group) consumer(name string, now int64) *consumer {
	c := g.consumers[name]
	if c == nil {
		c = &consumer{name: name}
	}
	g.meet(c, now)
	return c
}

// meet makes the consumer one of the group and notes that it was seen.
func (g *group) meet(c *consumer, now int64) {
	g.consumers[c.name] = c
	c.seen = now
}

// held returns the entry if it is pending under the consumer.
func (g *group) held(id broker.ID, consumer string) *pending {
	if p, found := g.pending.get(byID(id)); found && p.consumer.name == consumer {
		return p
	}
	return nil
}

// heldOf are the entries that are pending under the consumer, nil for each that
// is not. As in a server's scripts, who holds what is asked before anything is
// done, so that an entry that is named twice is the same both times.
func (g *group) heldOf(ids []broker.ID, consumer string) []*pending {
	out := make([]*pending, len(ids))
	for i, id := range ids {
		out[i] = g.held(id, consumer)
	}
	return out
}

// put adds an entry that was not pending.
func (g *group) put(p *pending) {
	g.pending.set(byID(p.id), p)
	g.place(p, p.at)
	p.consumer.pending.set(byID(p.id), p)
}

// move gives a pending entry to a consumer with a delivery time and a count.
func (g *group) move(p *pending, to *consumer, at, count int64) {
	g.byTime.remove(p.timeKey())
	g.place(p, at)
	if p.consumer != to {
		p.consumer.pending.remove(byID(p.id))
		p.consumer = to
		to.pending.set(byID(p.id), p)
	}
	p.count = count
}

// drop takes an entry out of the pending list: XACK, or a body that is gone.
func (g *group) drop(p *pending) {
	g.pending.remove(byID(p.id))
	g.byTime.remove(p.timeKey())
	p.consumer.pending.remove(byID(p.id))
}

// acknowledge is XACK of one id, by whomever.
func (g *group) acknowledge(id broker.ID) bool {
	p, found := g.pending.get(byID(id))
	if found {
		g.drop(p)
	}
	return found
}
