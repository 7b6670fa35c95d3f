package sim

import (
	"context"
	"slices"
	"strings"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
)

// wire is the network between a worker and the server, where hitches strike.
type wire struct {
	broker.Broker

	sim    *sim
	worker string
}

// broken is the error of a connection that broke.
func broken(op string) error {
	return &broker.Error{Op: op, Kind: broker.ErrUnavailable, Detail: "the connection broke"}
}

// suffer has a hitch strike the worker, and returns nil where the operation goes
// on afterwards.
func (w wire) suffer(h *hitch) error {
	s := w.sim
	s.plan.tally.add(h.At.String(), 1)
	s.plan.tally.add("failpoints: "+string(h.Effect), 1)
	if worker := s.named(w.worker); worker != nil {
		switch h.Effect {
		case crashes:
			worker.Die()
			return &broker.Error{Op: h.At.Op, Kind: broker.ErrClosed, Detail: "the worker is dead"}
		case stalls:
			worker.Pause(h.For)
			return nil
		}
	}
	if h.Effect == restarts {
		s.memory.Disconnect()
	}
	return broken(h.At.Op)
}

// pass runs an operation unless a hitch strikes it.
func pass[T any](w wire, op string, run func() (T, error)) (answer T, err error) {
	defer func() { w.sim.model.reaches(w.worker, err) }()
	var none T
	if h := w.sim.strike(w.worker, op, unsent); h != nil {
		if err := w.suffer(h); err != nil {
			return none, err
		}
	}
	if answer, err = run(); err != nil {
		if strings.Contains(err.Error(), "the answer was lost") {
			w.sim.plan.tally.add("answers lost", 1)
		}
		return answer, err
	}
	if h := w.sim.strike(w.worker, op, unanswered); h != nil {
		w.sim.plan.tally.add("answers lost", 1)
		if err := w.suffer(h); err != nil {
			return none, err
		}
	}
	return answer, nil
}

func (w wire) do(op string, run func() error) error {
	_, err := pass(w, op, func() (struct{}, error) { return struct{}{}, run() })
	return err
}

func (w wire) CreateGroup(ctx context.Context, stream, group, start string) (bool, error) {
	return pass(w, "create group", func() (bool, error) { return w.Broker.CreateGroup(ctx, stream, group, start) })
}

func (w wire) SaveFloor(ctx context.Context, stream, group string) error {
	return w.do("save floor", func() error { return w.Broker.SaveFloor(ctx, stream, group) })
}

func (w wire) RestoreGroup(ctx context.Context, stream, group string) (at broker.ID, restored bool, err error) {
	err = w.do("restore group", func() (err error) {
		at, restored, err = w.Broker.RestoreGroup(ctx, stream, group)
		return err
	})
	return at, restored, err
}

func (w wire) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	ds, err := pass(w, "read", func() ([]broker.Delivery, error) { return w.Broker.Read(ctx, r) })
	w.sim.model.came(r.Owner, ds)
	return ds, err
}

func (w wire) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	page, err := pass(w, "autoclaim", func() (broker.AutoClaimed, error) { return w.Broker.AutoClaim(ctx, r) })
	w.sim.model.came(r.Owner, page.Deliveries)
	return page, err
}

func (w wire) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	taken, err := pass(w, "take over", func() (broker.TakenOver, error) { return w.Broker.TakeOver(ctx, o, from, ids) })
	w.sim.model.came(o, taken.Deliveries)
	return taken, err
}

func (w wire) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	admissions, err := pass(w, "admit", func() ([]broker.Admission, error) { return w.Broker.Admit(ctx, r) })
	w.sim.model.order.asked(r.Owner, redelivered(r.Entries))
	return admissions, err
}

func redelivered(entries []broker.Redelivery) (ids []broker.ID) {
	for i := range entries {
		ids = append(ids, entries[i].ID)
	}
	return ids
}

func waiting(waits []broker.Wait) (ids []broker.ID) {
	for i := range waits {
		ids = append(ids, waits[i].ID)
	}
	return ids
}

func (w wire) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	marks, err := pass(w, "look up marks", func() ([]broker.Mark, error) { return w.Broker.Marked(ctx, r) })
	if err == nil {
		w.sim.model.marks.told(w.worker, &r, marks)
	}
	return marks, err
}

func (w wire) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	w.sim.model.order.begins(o, ids)
	holdings, err := pass(w, "begin", func() ([]broker.Holding, error) { return w.Broker.Begin(ctx, o, ids) })
	w.sim.model.order.begun(o, ids, holdings, err)
	w.sim.model.counts.begins(o, ids, holdings, err)
	return holdings, err
}

func (w wire) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return pass(w, "renew", func() ([]broker.Holding, error) { return w.Broker.Renew(ctx, o, ids) })
}

func (w wire) Release(ctx context.Context, o broker.Owner, ids []broker.ID, idle time.Duration) error {
	return w.do("hand back", func() error { return w.Broker.Release(ctx, o, ids, idle) })
}

func (w wire) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	res, err := pass(w, "settle", func() (broker.SettleResult, error) { return w.settle(ctx, s) })
	w.sim.model.order.asked(s.Owner, append(waiting(s.Waits), s.Acks...))
	if err == nil {
		w.sim.model.acknowledges(s, &res)
		w.sim.model.settled(w.worker, s, &res)
	} else {
		w.sim.model.counts.again[s.Owner] = true
		w.sim.model.backlog.limbo++
	}
	return res, err
}

// settle sends a settlement, of which hitches in its midst may leave a part.
func (w wire) settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	if first, rest, parts := halves(s); parts {
		if h := w.sim.strike(w.worker, "settle", split); h != nil {
			return w.inParts(ctx, h, first, rest)
		}
	}
	if forgets(s) {
		if h := w.sim.strike(w.worker, "settle", remembered); h != nil {
			acks := broker.Settlement{Owner: s.Owner, Acks: s.Acks}
			return w.inParts(ctx, h, &acks, s)
		}
	}
	i := slices.IndexFunc(s.Steps, func(step broker.Step) bool { return len(step.Publish) > 0 })
	if i < 0 || len(s.Acks)+len(s.Steps)+len(s.Waits) < 2 {
		return w.Broker.Settle(ctx, s)
	}
	h := w.sim.strike(w.worker, "settle", refused)
	if h == nil {
		return w.Broker.Settle(ctx, s)
	}
	w.sim.plan.tally.add(h.At.String(), 1)
	w.sim.model.backlog.limbo++
	c := *s
	c.Steps = slices.Delete(slices.Clone(s.Steps), i, i+1)
	res, err := w.Broker.Settle(ctx, &c)
	if err == nil {
		oom := &broker.Error{Op: "publish", Stream: s.Steps[i].Publish[0].Stream, Kind: broker.ErrOutOfMemory, Detail: "no room"}
		res.Steps = slices.Insert(res.Steps, i, broker.StepResult{Status: broker.Refused, Err: oom})
	}
	return res, err
}

// inParts sends the first part, and then the rest unless the hitch is in its way.
func (w wire) inParts(ctx context.Context, h *hitch, first, rest *broker.Settlement) (broker.SettleResult, error) {
	before, err := w.Broker.Settle(ctx, first)
	if err != nil {
		return before, err
	}
	if err := w.suffer(h); err != nil {
		return broker.SettleResult{}, err
	}
	after, err := w.Broker.Settle(ctx, rest)
	after.Steps = append(before.Steps, after.Steps...)
	return after, err
}

// halves are the parts of a settlement that a server is sent one after the other:
// plain acknowledgements, steps in hundreds, then what waits.
func halves(s *broker.Settlement) (first, rest *broker.Settlement, parts bool) {
	a, b := *s, *s
	n := len(s.Steps) / 2
	a.Steps, b.Steps = s.Steps[:n], s.Steps[n:]
	a.Waits, b.Acks = nil, nil
	return &a, &b, len(a.Acks)+len(a.Steps) > 0 && len(b.Steps)+len(b.Waits) > 0
}

// forgets reports whether a settlement drops records behind plain acknowledgements.
func forgets(s *broker.Settlement) bool {
	return slices.ContainsFunc(s.Acks, func(id broker.ID) bool { return slices.Contains(s.Forget, id) })
}

func (w wire) AcquireSlot(ctx context.Context, r broker.SlotRequest) (int, error) {
	slot, err := pass(w, "acquire slot", func() (int, error) { return w.Broker.AcquireSlot(ctx, r) })
	w.sim.model.counts.named(w.worker, r.Token)
	return slot, err
}

func (w wire) RenewSlot(ctx context.Context, r broker.SlotRequest, slot int) (broker.SlotLease, error) {
	return pass(w, "renew slot", func() (broker.SlotLease, error) { return w.Broker.RenewSlot(ctx, r, slot) })
}

func (w wire) ReleaseSlot(ctx context.Context, r broker.SlotRequest, slot int) error {
	return w.do("release slot", func() error { return w.Broker.ReleaseSlot(ctx, r, slot) })
}

func (w wire) RemoveConsumer(ctx context.Context, o broker.Owner) (bool, error) {
	return pass(w, "remove consumer", func() (bool, error) { return w.Broker.RemoveConsumer(ctx, o) })
}

func (w wire) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	added := false
	ids, err := pass(w, "publish unfenced", func() ([]broker.ID, error) {
		ids, err := w.Broker.Add(ctx, adds)
		added = err == nil
		return ids, err
	})
	if added && err != nil {
		w.sim.model.unanswered(adds)
	}
	return ids, err
}

func (w wire) Pending(ctx context.Context, stream, group, consumer string, after broker.ID, count int) ([]broker.Pending, error) {
	return pass(w, "list pending", func() ([]broker.Pending, error) {
		return w.Broker.Pending(ctx, stream, group, consumer, after, count)
	})
}

func (w wire) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	return pass(w, "look at backlog", func() ([]broker.GroupInfo, error) { return w.Broker.GroupInfos(ctx, stream) })
}

func (w wire) Records(ctx context.Context, stream, group string, ids []broker.ID) ([]broker.Record, error) {
	return pass(w, "read records", func() ([]broker.Record, error) { return w.Broker.Records(ctx, stream, group, ids) })
}

func (w wire) ConsumerInfos(ctx context.Context, stream, group string) ([]broker.ConsumerInfo, error) {
	return pass(w, "list consumers", func() ([]broker.ConsumerInfo, error) { return w.Broker.ConsumerInfos(ctx, stream, group) })
}

// named is the worker with a name, nil where there is none.
func (s *sim) named(name string) *harness.Worker {
	for _, w := range s.Workers() {
		if w.Name() == name {
			return w
		}
	}
	return nil
}
