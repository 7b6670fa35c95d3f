package aging

import (
	"context"
	"slices"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
)

// on is an owner with the name of its stream on the server.
func (k *Keyspace) on(o broker.Owner) broker.Owner {
	o.Stream = k.Key(o.Stream)
	return o
}

// owned is ask for what an owner does.
func owned[T any](
	ctx context.Context, k *Keyspace, op string, o broker.Owner, run func(b *redis.Broker, o broker.Owner) (T, error),
) (T, error) {
	return ask(ctx, k, to(op, o.Stream, o.Group), func(b *redis.Broker, _ string) (T, error) {
		k.active[o] = k.frame.at
		return run(b, k.on(o))
	})
}

// none is the answer of operations that have none.
type none = struct{}

// Probe implements broker.Broker.
func (k *Keyspace) Probe(ctx context.Context) (broker.Server, error) {
	return ask(ctx, k, to("probe", "", ""), func(b *redis.Broker, _ string) (broker.Server, error) { return b.Probe(ctx) })
}

// CreateGroup implements broker.Broker.
func (k *Keyspace) CreateGroup(ctx context.Context, stream, group, start string) (bool, error) {
	return ask(ctx, k, to("create group", stream, group), func(b *redis.Broker, key string) (bool, error) { return b.CreateGroup(ctx, key, group, start) })
}

// SaveFloor implements broker.Broker.
func (k *Keyspace) SaveFloor(ctx context.Context, stream, group string) error {
	_, err := ask(ctx, k, to("save floor of", stream, group), func(b *redis.Broker, key string) (none, error) { return none{}, b.SaveFloor(ctx, key, group) })
	return err
}

// RestoreGroup implements broker.Broker.
func (k *Keyspace) RestoreGroup(ctx context.Context, stream, group string) (at broker.ID, restored bool, err error) {
	at, err = ask(ctx, k, to("restore group", stream, group), func(b *redis.Broker, key string) (id broker.ID, err error) {
		id, restored, err = b.RestoreGroup(ctx, key, group)
		return id, err
	})
	return at, restored, err
}

// Floor implements broker.Broker.
func (k *Keyspace) Floor(ctx context.Context, stream, group string) (at broker.ID, found bool, err error) {
	at, err = ask(ctx, k, to("read floor of", stream, group), func(b *redis.Broker, key string) (id broker.ID, err error) {
		id, found, err = b.Floor(ctx, key, group)
		return id, err
	})
	return at, found, err
}

// Seek implements broker.Broker.
func (k *Keyspace) Seek(ctx context.Context, r broker.SeekRequest) (broker.Sought, error) {
	return ask(ctx, k, to("seek", r.Stream, r.Group), func(b *redis.Broker, key string) (broker.Sought, error) {
		r.Stream = key
		sought, err := b.Seek(ctx, r)
		if !sought.Until.IsZero() {
			sought.Until = sought.Until.Add(k.frame.at.Sub(k.frame.server))
		}
		return sought, err
	})
}

// AutoClaim implements broker.Broker.
func (k *Keyspace) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	g := groupName{r.Stream, r.Group}
	return owned(ctx, k, "claim", r.Owner, func(b *redis.Broker, o broker.Owner) (broker.AutoClaimed, error) {
		r.Owner, r.MinIdle = o, k.minIdle(r.MinIdle)
		res, err := b.AutoClaim(ctx, r)
		k.delivered(g, res.Deliveries, nil)
		return res, err
	})
}

// TakeOver implements broker.Broker.
func (k *Keyspace) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	g := groupName{o.Stream, o.Group}
	return owned(ctx, k, "take over", o, func(b *redis.Broker, o broker.Owner) (broker.TakenOver, error) {
		took, err := b.TakeOver(ctx, o, from, ids)
		k.delivered(g, took.Deliveries, nil)
		return took, err
	})
}

// Admit implements broker.Broker.
func (k *Keyspace) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	g := groupName{r.Stream, r.Group}
	return owned(ctx, k, "admit", r.Owner, func(b *redis.Broker, o broker.Owner) ([]broker.Admission, error) {
		r.Owner, k.gaveBack = o, true
		admissions, err := b.Admit(ctx, r)
		for i := range admissions {
			a := &admissions[i]
			a.Record = k.record(pendingID{g, r.Entries[i].ID}, a.Record)
			if a.Verdict == broker.NotDue {
				a.Remaining = a.Record.Due.Sub(k.frame.at)
			}
		}
		return admissions, err
	})
}

// Begin implements broker.Broker.
func (k *Keyspace) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return owned(ctx, k, "begin", o, func(b *redis.Broker, o broker.Owner) ([]broker.Holding, error) { return b.Begin(ctx, o, ids) })
}

// Renew implements broker.Broker.
func (k *Keyspace) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return owned(ctx, k, "renew", o, func(b *redis.Broker, o broker.Owner) ([]broker.Holding, error) { return b.Renew(ctx, o, ids) })
}

// Release implements broker.Broker.
func (k *Keyspace) Release(ctx context.Context, o broker.Owner, ids []broker.ID, idle time.Duration) error {
	_, err := owned(ctx, k, "release", o, func(b *redis.Broker, o broker.Owner) (none, error) {
		k.gaveBack = true
		return none{}, b.Release(ctx, o, ids, idle)
	})
	return err
}

// Settle implements broker.Broker.
func (k *Keyspace) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	return owned(ctx, k, "settle", s.Owner, func(b *redis.Broker, o broker.Owner) (broker.SettleResult, error) {
		there := *s
		there.Owner, k.gaveBack = o, k.gaveBack || len(s.Waits) > 0
		there.Steps = make([]broker.Step, len(s.Steps))
		for i, step := range s.Steps {
			step.Publish = k.there(step.Publish)
			there.Steps[i] = step
		}
		k.meetMarks(groupName{s.Stream, s.Group}, s.Marks)
		res, err := b.Settle(ctx, &there)
		for i := range res.Steps {
			step := &res.Steps[i]
			step.Err = k.mine(step.Err)
			if step.Mark.Found() {
				m := k.mark(*step.Mark)
				step.Mark = &m
			}
		}
		var published []broker.Add
		for i := range s.Steps {
			published = append(published, s.Steps[i].Publish...)
		}
		k.added(published...)
		return res, err
	})
}

// meetMarks notes that there may be marks.
func (k *Keyspace) meetMarks(g groupName, m broker.Marks) {
	if m.Window > 0 {
		for _, name := range k.beside(g).Marks(m.Set) {
			k.keysOf(g)[key{name, isMarks}] = true
		}
	}
}

// Marked implements broker.Broker.
func (k *Keyspace) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	return ask(ctx, k, to("look up marks of", r.Stream, r.Group), func(b *redis.Broker, key string) ([]broker.Mark, error) {
		k.meetMarks(groupName{r.Stream, r.Group}, r.Marks)
		r.Stream = key
		marks, err := b.Marked(ctx, r)
		for i := range marks {
			marks[i] = k.mark(marks[i])
		}
		return marks, err
	})
}

// there are entries with the names of their streams on the server.
func (k *Keyspace) there(adds []broker.Add) []broker.Add {
	out := make([]broker.Add, len(adds))
	for i, a := range adds {
		k.meet(a.Stream, "")
		a.Stream = k.Key(a.Stream)
		out[i] = a
	}
	return out
}

// added serves the reads of streams that were added to, each once.
func (k *Keyspace) added(adds ...broker.Add) {
	done := map[string]bool{}
	for _, a := range adds {
		if !done[a.Stream] {
			done[a.Stream] = true
			k.stir(a.Stream)
		}
	}
}

// slot is ask for the lease of a slot.
func slot[T any](
	ctx context.Context, k *Keyspace, op string, r broker.SlotRequest, run func(b *redis.Broker, r broker.SlotRequest) (T, error),
) (T, error) {
	return ask(ctx, k, to(op, r.Stream, r.Group), func(b *redis.Broker, key string) (T, error) {
		r.Stream = key
		return run(b, r)
	})
}

// AcquireSlot implements broker.Broker.
func (k *Keyspace) AcquireSlot(ctx context.Context, r broker.SlotRequest) (int, error) {
	g := groupName{r.Stream, r.Group}
	return slot(ctx, k, "acquire slot", r, func(b *redis.Broker, r broker.SlotRequest) (int, error) {
		n, err := b.AcquireSlot(ctx, r)
		if err == nil {
			k.keysOf(g)[key{k.beside(g).Lease(r.Base, n), isLease}] = true
		}
		return n, err
	})
}

// RenewSlot implements broker.Broker.
func (k *Keyspace) RenewSlot(ctx context.Context, r broker.SlotRequest, n int) (broker.SlotLease, error) {
	return slot(ctx, k, "renew slot", r, func(b *redis.Broker, r broker.SlotRequest) (broker.SlotLease, error) {
		lease, err := b.RenewSlot(ctx, r, n)
		if err == nil {
			lease.Time = k.frame.at
		}
		return lease, err
	})
}

// ReleaseSlot implements broker.Broker.
func (k *Keyspace) ReleaseSlot(ctx context.Context, r broker.SlotRequest, n int) error {
	_, err := slot(ctx, k, "release slot", r, func(b *redis.Broker, r broker.SlotRequest) (none, error) { return none{}, b.ReleaseSlot(ctx, r, n) })
	return err
}

// RemoveConsumer implements broker.Broker.
func (k *Keyspace) RemoveConsumer(ctx context.Context, o broker.Owner) (bool, error) {
	return ask(ctx, k, to("remove consumer of", o.Stream, o.Group), func(b *redis.Broker, _ string) (bool, error) { return b.RemoveConsumer(ctx, k.on(o)) })
}

// Add implements broker.Broker.
func (k *Keyspace) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	return ask(ctx, k, to("add", "", ""), func(b *redis.Broker, _ string) ([]broker.ID, error) {
		ids, err := b.Add(ctx, k.there(adds))
		k.added(adds...)
		return ids, err
	})
}

// Range implements broker.Broker.
func (k *Keyspace) Range(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return ask(ctx, k, to("read range of", stream, ""), func(b *redis.Broker, key string) ([]broker.Entry, error) {
		return b.Range(ctx, key, first, last, count)
	})
}

// RangeBack implements broker.Broker.
func (k *Keyspace) RangeBack(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return ask(ctx, k, to("read range of", stream, ""), func(b *redis.Broker, key string) ([]broker.Entry, error) {
		return b.RangeBack(ctx, key, first, last, count)
	})
}

// Move implements broker.Broker. The marks of moves across slots stay until they
// expire.
func (k *Keyspace) Move(ctx context.Context, r broker.MoveRequest) ([]broker.Moved, error) {
	return ask(ctx, k, to("move from", r.From, ""), func(b *redis.Broker, key string) ([]broker.Moved, error) {
		there := broker.MoveRequest{From: key, Moves: slices.Clone(r.Moves)}
		var published []broker.Add
		for i := range there.Moves {
			published = append(published, r.Moves[i].Publish)
			there.Moves[i].Publish = k.there([]broker.Add{r.Moves[i].Publish})[0]
		}
		moved, err := b.Move(ctx, there)
		k.added(published...)
		return moved, err
	})
}

// Remove implements broker.Broker.
func (k *Keyspace) Remove(ctx context.Context, stream string, ids []broker.ID) (int64, error) {
	return ask(ctx, k, to("remove from", stream, ""), func(b *redis.Broker, key string) (int64, error) {
		return b.Remove(ctx, key, ids)
	})
}

// Trim implements broker.Broker. The age of entries is by the clock of the keyspace.
func (k *Keyspace) Trim(ctx context.Context, r broker.TrimRequest) (int64, error) {
	if r.MaxAge > 0 {
		least := broker.ID{Ms: uint64(max(0, k.clock.Now().Add(-r.MaxAge).UnixMilli()))}
		if r.MaxAge = 0; r.MinID.Less(least) {
			r.MinID = least
		}
	}
	return ask(ctx, k, to("trim", r.Stream, ""), func(b *redis.Broker, key string) (int64, error) {
		r.Stream = key
		return b.Trim(ctx, r)
	})
}

// StreamInfo implements broker.Broker.
func (k *Keyspace) StreamInfo(ctx context.Context, stream string) (broker.StreamInfo, error) {
	return ask(ctx, k, to("inspect", stream, ""), func(b *redis.Broker, key string) (broker.StreamInfo, error) { return b.StreamInfo(ctx, key) })
}

// GroupInfos implements broker.Broker.
func (k *Keyspace) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	return ask(ctx, k, to("inspect groups of", stream, ""), func(b *redis.Broker, key string) ([]broker.GroupInfo, error) { return b.GroupInfos(ctx, key) })
}

// ConsumerInfos implements broker.Broker. A consumer is idle, in the clock's time,
// since it last read, claimed or wrote.
func (k *Keyspace) ConsumerInfos(ctx context.Context, stream, group string) ([]broker.ConsumerInfo, error) {
	return ask(ctx, k, to("inspect consumers of", stream, group), func(b *redis.Broker, key string) ([]broker.ConsumerInfo, error) {
		infos, err := b.ConsumerInfos(ctx, key, group)
		k.idle(stream, group, infos)
		return infos, err
	})
}

// idle sets for how long consumers have been idle in the clock's time.
func (k *Keyspace) idle(stream, group string, infos []broker.ConsumerInfo) {
	for i := range infos {
		if at, ok := k.active[broker.Owner{Stream: stream, Group: group, Consumer: infos[i].Name}]; ok {
			infos[i].Idle = k.frame.at.Sub(at)
		}
	}
}

// Survey implements broker.Broker. Its time is the clock's.
func (k *Keyspace) Survey(ctx context.Context, asks []broker.Ask) (broker.Survey, error) {
	return ask(ctx, k, to("survey", "", ""), func(b *redis.Broker, _ string) (broker.Survey, error) {
		there := slices.Clone(asks)
		for i := range there {
			there[i].Stream = k.Key(asks[i].Stream)
		}
		s, err := b.Survey(ctx, there)
		s.Time = k.frame.at
		for i := range s.Streams {
			found := &s.Streams[i]
			found.Err = k.mine(found.Err)
			for j := range found.Groups {
				g := &found.Groups[j]
				g.Err = k.mine(g.Err)
				k.idle(asks[i].Stream, g.Name, g.Consumers)
			}
		}
		return s, err
	})
}

// Pending implements broker.Broker.
func (k *Keyspace) Pending(ctx context.Context, stream, group, consumer string, after broker.ID, count int) ([]broker.Pending, error) {
	return ask(ctx, k, to("list pending of", stream, group), func(b *redis.Broker, key string) ([]broker.Pending, error) {
		ps, err := b.Pending(ctx, key, group, consumer, after, count)
		if err != nil || len(ps) == 0 {
			return ps, err
		}
		idle := map[broker.ID]time.Duration{}
		known, err := k.look(ctx, groupName{stream, group})
		for _, p := range known {
			idle[p.id] = p.idle
		}
		for i := range ps {
			ps[i].Idle = idle[ps[i].ID]
		}
		return ps, err
	})
}

// Records implements broker.Broker. Their times are the clock's.
func (k *Keyspace) Records(ctx context.Context, stream, group string, ids []broker.ID) ([]broker.Record, error) {
	return ask(ctx, k, to("read records", stream, group), func(b *redis.Broker, key string) ([]broker.Record, error) {
		records, err := b.Records(ctx, key, group, ids)
		for i := range records {
			records[i] = k.record(pendingID{groupName{stream, group}, ids[i]}, records[i])
		}
		return records, err
	})
}
