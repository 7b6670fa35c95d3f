package harness

import (
	"context"
	"errors"
	"time"

	"pipeline/engine/broker"
)

// link is the server as one worker reaches it: as long as the worker lives and
// faults let it. Everything that an engine asks of a broker goes through here.
type link struct {
	server Server
	worker *Worker
}

// operation is what an error says was being done, and to what.
type operation struct{ name, stream, group string }

func on(o broker.Owner, name string) operation { return operation{name, o.Stream, o.Group} }

func (op operation) fail(kind error, detail string) error {
	return &broker.Error{Op: op.name, Stream: op.stream, Group: op.group, Kind: kind, Detail: detail}
}

// lost is the error of an operation whose answer was lost.
func (op operation) lost() error { return op.fail(broker.ErrUnavailable, "the answer was lost") }

// reach is asked before every operation.
func (l *link) reach(op operation) error {
	switch {
	case l.worker.crashed:
		return op.fail(broker.ErrClosed, "the worker is dead")
	case l.worker.harness.down:
		return op.fail(broker.ErrUnavailable, "the server cannot be reached")
	}
	return nil
}

// timeless is ctx without its deadline, which is one of real time. An operation
// that was called off stays so.
func timeless(ctx context.Context) context.Context {
	if errors.Is(ctx.Err(), context.Canceled) {
		return ctx
	}
	return context.WithoutCancel(ctx)
}

// ask runs an operation if the server can be reached.
func ask[T any](ctx context.Context, l *link, op operation, run func(context.Context) (T, error)) (T, error) {
	var none T
	if err := l.reach(op); err != nil {
		return none, err
	}
	return run(timeless(ctx))
}

// do is ask for operations without an answer.
func (l *link) do(ctx context.Context, op operation, run func(context.Context) error) error {
	_, err := ask(ctx, l, op, func(ctx context.Context) (struct{}, error) { return struct{}{}, run(ctx) })
	return err
}

// Probe implements broker.Broker.
func (l *link) Probe(ctx context.Context) (broker.Server, error) {
	return ask(ctx, l, operation{name: "probe"}, l.server.Probe)
}

// CreateGroup implements broker.Broker.
func (l *link) CreateGroup(ctx context.Context, stream, group, start string) (bool, error) {
	return ask(ctx, l, operation{"create group", stream, group}, func(ctx context.Context) (bool, error) {
		return l.server.CreateGroup(ctx, stream, group, start)
	})
}

// SaveFloor implements broker.Broker.
func (l *link) SaveFloor(ctx context.Context, stream, group string) error {
	return l.do(ctx, operation{"save floor of", stream, group}, func(ctx context.Context) error {
		return l.server.SaveFloor(ctx, stream, group)
	})
}

// Floor implements broker.Broker.
func (l *link) Floor(ctx context.Context, stream, group string) (at broker.ID, ok bool, err error) {
	err = l.do(ctx, operation{"read floor of", stream, group}, func(ctx context.Context) (err error) {
		at, ok, err = l.server.Floor(ctx, stream, group)
		return err
	})
	return at, ok, err
}

// RestoreGroup implements broker.Broker.
func (l *link) RestoreGroup(ctx context.Context, stream, group string) (at broker.ID, restored bool, err error) {
	err = l.do(ctx, operation{"restore group", stream, group}, func(ctx context.Context) (err error) {
		at, restored, err = l.server.RestoreGroup(ctx, stream, group)
		return err
	})
	return at, restored, err
}

// Seek implements broker.Broker.
func (l *link) Seek(ctx context.Context, r broker.SeekRequest) (broker.Sought, error) {
	return ask(ctx, l, operation{"seek", r.Stream, r.Group}, func(ctx context.Context) (broker.Sought, error) {
		return l.server.Seek(ctx, r)
	})
}

// Read implements broker.Broker. It waits with its own context: a wait that was
// called off ends.
func (l *link) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	op := on(r.Owner, "read")
	if err := l.reach(op); err != nil {
		return nil, err
	}
	ds, err := l.server.Read(ctx, r)
	switch {
	case l.worker.crashed:
		return nil, l.reach(op)
	case len(ds) > 0 && l.worker.harness.hit(LostReply, AtRead, l.worker.harness.subscription(r.Consumer), idsOf(ds)) != nil:
		return nil, op.lost()
	}
	return ds, err
}

func idsOf(ds []broker.Delivery) []broker.ID {
	ids := make([]broker.ID, len(ds))
	for i := range ds {
		ids[i] = ds[i].ID
	}
	return ids
}

// AutoClaim implements broker.Broker.
func (l *link) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	return ask(ctx, l, on(r.Owner, "claim"), func(ctx context.Context) (broker.AutoClaimed, error) {
		return l.server.AutoClaim(ctx, r)
	})
}

// TakeOver implements broker.Broker.
func (l *link) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	return ask(ctx, l, on(o, "take over"), func(ctx context.Context) (broker.TakenOver, error) {
		return l.server.TakeOver(ctx, o, from, ids)
	})
}

// Admit implements broker.Broker.
func (l *link) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	return ask(ctx, l, on(r.Owner, "admit"), func(ctx context.Context) ([]broker.Admission, error) { return l.server.Admit(ctx, r) })
}

// Marked implements broker.Broker.
func (l *link) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	return ask(ctx, l, operation{"look up marks of", r.Stream, r.Group}, func(ctx context.Context) ([]broker.Mark, error) {
		return l.server.Marked(ctx, r)
	})
}

// Begin implements broker.Broker.
func (l *link) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return ask(ctx, l, on(o, "begin"), func(ctx context.Context) ([]broker.Holding, error) { return l.server.Begin(ctx, o, ids) })
}

// Renew implements broker.Broker.
func (l *link) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return ask(ctx, l, on(o, "renew"), func(ctx context.Context) ([]broker.Holding, error) { return l.server.Renew(ctx, o, ids) })
}

// Release implements broker.Broker.
func (l *link) Release(ctx context.Context, o broker.Owner, ids []broker.ID, idle time.Duration) error {
	return l.do(ctx, on(o, "release"), func(ctx context.Context) error { return l.server.Release(ctx, o, ids, idle) })
}

// Close implements broker.Broker. The server is not the worker's to close.
func (*link) Close() error { return nil }

// Settle implements broker.Broker. Faults that strike around it ask for the
// calls whose outcomes it writes.
func (l *link) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	op := on(s.Owner, "settle")
	if err := l.reach(op); err != nil {
		return broker.SettleResult{}, err
	}
	w := l.worker
	subscription := w.harness.subscription(s.Consumer)
	ids := w.finishing(subscription, s)
	if w.harness.hit(Crash, BeforeAck, subscription, ids) != nil {
		w.die()
		return broker.SettleResult{}, l.reach(op)
	}
	if w.stallsAt(BeforeAck, subscription, ids) {
		if err := l.reach(op); err != nil {
			return broker.SettleResult{}, err
		}
	}
	res, err := l.server.Settle(timeless(ctx), s)
	if err != nil {
		return res, err
	}
	w.wrote(subscription, s, &res)
	if w.harness.hit(Crash, AfterAck, subscription, ids) != nil {
		w.die()
		return res, nil // heard by nobody but the observer of a dead worker
	}
	w.stallsAt(AfterAck, subscription, ids)
	if w.harness.hit(LostReply, AtSettle, subscription, ids) != nil {
		return broker.SettleResult{}, op.lost()
	}
	return res, nil
}

// AcquireSlot implements broker.Broker. It is where a consumer gets its name.
func (l *link) AcquireSlot(ctx context.Context, r broker.SlotRequest) (int, error) {
	slot, err := ask(ctx, l, operation{"acquire slot", r.Stream, r.Group}, func(ctx context.Context) (int, error) {
		return l.server.AcquireSlot(ctx, r)
	})
	if err == nil {
		l.worker.named(r, slot)
	}
	return slot, err
}

// RenewSlot implements broker.Broker.
func (l *link) RenewSlot(ctx context.Context, r broker.SlotRequest, slot int) (broker.SlotLease, error) {
	return ask(ctx, l, operation{"renew slot", r.Stream, r.Group}, func(ctx context.Context) (broker.SlotLease, error) {
		return l.server.RenewSlot(ctx, r, slot)
	})
}

// ReleaseSlot implements broker.Broker.
func (l *link) ReleaseSlot(ctx context.Context, r broker.SlotRequest, slot int) error {
	return l.do(ctx, operation{"release slot", r.Stream, r.Group}, func(ctx context.Context) error {
		return l.server.ReleaseSlot(ctx, r, slot)
	})
}

// RemoveConsumer implements broker.Broker.
func (l *link) RemoveConsumer(ctx context.Context, o broker.Owner) (bool, error) {
	return ask(ctx, l, on(o, "remove consumer of"), func(ctx context.Context) (bool, error) {
		return l.server.RemoveConsumer(ctx, o)
	})
}

// Add implements broker.Broker.
func (l *link) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	return ask(ctx, l, operation{name: "add"}, func(ctx context.Context) ([]broker.ID, error) {
		ids, err := l.server.Add(ctx, adds)
		l.worker.messages += int64(len(ids))
		return ids, err
	})
}

// Range implements broker.Broker.
func (l *link) Range(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return ask(ctx, l, operation{name: "read range of", stream: stream}, func(ctx context.Context) ([]broker.Entry, error) {
		return l.server.Range(ctx, stream, first, last, count)
	})
}

// RangeBack implements broker.Broker.
func (l *link) RangeBack(ctx context.Context, stream string, first, last broker.ID, count int) ([]broker.Entry, error) {
	return ask(ctx, l, operation{name: "read range of", stream: stream}, func(ctx context.Context) ([]broker.Entry, error) {
		return l.server.RangeBack(ctx, stream, first, last, count)
	})
}

// Move implements broker.Broker.
func (l *link) Move(ctx context.Context, r broker.MoveRequest) ([]broker.Moved, error) {
	return ask(ctx, l, operation{name: "move from", stream: r.From}, func(ctx context.Context) ([]broker.Moved, error) {
		return l.server.Move(ctx, r)
	})
}

// Remove implements broker.Broker.
func (l *link) Remove(ctx context.Context, stream string, ids []broker.ID) (int64, error) {
	return ask(ctx, l, operation{name: "remove from", stream: stream}, func(ctx context.Context) (int64, error) {
		return l.server.Remove(ctx, stream, ids)
	})
}

// Trim implements broker.Broker.
func (l *link) Trim(ctx context.Context, r broker.TrimRequest) (int64, error) {
	return ask(ctx, l, operation{name: "trim", stream: r.Stream}, func(ctx context.Context) (int64, error) {
		return l.server.Trim(ctx, r)
	})
}

// StreamInfo implements broker.Broker.
func (l *link) StreamInfo(ctx context.Context, stream string) (broker.StreamInfo, error) {
	return ask(ctx, l, operation{name: "inspect", stream: stream}, func(ctx context.Context) (broker.StreamInfo, error) {
		return l.server.StreamInfo(ctx, stream)
	})
}

// GroupInfos implements broker.Broker.
func (l *link) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	return ask(ctx, l, operation{name: "inspect groups of", stream: stream}, func(ctx context.Context) ([]broker.GroupInfo, error) {
		return l.server.GroupInfos(ctx, stream)
	})
}

// ConsumerInfos implements broker.Broker.
func (l *link) ConsumerInfos(ctx context.Context, stream, group string) ([]broker.ConsumerInfo, error) {
	return ask(ctx, l, operation{"inspect consumers of", stream, group}, func(ctx context.Context) ([]broker.ConsumerInfo, error) {
		return l.server.ConsumerInfos(ctx, stream, group)
	})
}

// Survey implements broker.Broker.
func (l *link) Survey(ctx context.Context, asks []broker.Ask) (broker.Survey, error) {
	return ask(ctx, l, operation{name: "survey"}, func(ctx context.Context) (broker.Survey, error) {
		return l.server.Survey(ctx, asks)
	})
}

// Pending implements broker.Broker.
func (l *link) Pending(ctx context.Context, stream, group, consumer string, after broker.ID, count int) ([]broker.Pending, error) {
	return ask(ctx, l, operation{"list pending of", stream, group}, func(ctx context.Context) ([]broker.Pending, error) {
		return l.server.Pending(ctx, stream, group, consumer, after, count)
	})
}

// Records implements broker.Broker.
func (l *link) Records(ctx context.Context, stream, group string, ids []broker.ID) ([]broker.Record, error) {
	return ask(ctx, l, operation{"read records", stream, group}, func(ctx context.Context) ([]broker.Record, error) {
		return l.server.Records(ctx, stream, group, ids)
	})
}
