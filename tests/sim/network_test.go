package sim

import (
	"context"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
)

// hitch is a fault of the network about one operation: its question or its
// answer is lost, Times times for whoever asks.
type hitch struct {
	Op       string
	Question bool
	Times    int
}

// operations are those that hitches strike. Reads and settlements have faults of
// the harness of their own.
var operations = []string{
	"create", "floor", "restore", "autoclaim", "takeover", "admit", "begin", "renew", "release", "acquire", "renewslot", "releaseslot", "remove",
	"add", "settle", "read", "pending", "consumers",
}

func drawHitch(t *rapid.T) hitch {
	return hitch{
		Op: rapid.SampledFrom(operations).Draw(t, "op"), Question: rapid.Bool().Draw(t, "question"),
		Times: rapid.IntRange(1, 3).Draw(t, "times"),
	}
}

// wire is the network between a worker and the server.
type wire struct {
	broker.Broker

	sim    *sim
	worker string
}

// pass runs an operation unless a hitch strikes it.
func pass[T any](w wire, op string, run func() (T, error)) (T, error) {
	var none T
	h := w.sim.strike(w.worker, op)
	if h == nil {
		return run()
	}
	failed := &broker.Error{Op: op, Kind: broker.ErrUnavailable, Detail: "the connection broke"}
	if !h.Question {
		if _, err := run(); err != nil {
			return none, err
		}
	}
	return none, failed
}

func (w wire) do(op string, run func() error) error {
	_, err := pass(w, op, func() (struct{}, error) { return struct{}{}, run() })
	return err
}

func (w wire) CreateGroup(ctx context.Context, stream, group, start string) (bool, error) {
	return pass(w, "create", func() (bool, error) { return w.Broker.CreateGroup(ctx, stream, group, start) })
}

func (w wire) SaveFloor(ctx context.Context, stream, group string) error {
	return w.do("floor", func() error { return w.Broker.SaveFloor(ctx, stream, group) })
}

func (w wire) RestoreGroup(ctx context.Context, stream, group string) (at broker.ID, restored bool, err error) {
	err = w.do("restore", func() (err error) {
		at, restored, err = w.Broker.RestoreGroup(ctx, stream, group)
		return err
	})
	return at, restored, err
}

func (w wire) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	ds, err := pass(w, "read", func() ([]broker.Delivery, error) { return w.Broker.Read(ctx, r) })
	w.sim.model.order.came(r.Owner, ds)
	return ds, err
}

func (w wire) AutoClaim(ctx context.Context, r broker.AutoClaimRequest) (broker.AutoClaimed, error) {
	page, err := pass(w, "autoclaim", func() (broker.AutoClaimed, error) { return w.Broker.AutoClaim(ctx, r) })
	w.sim.model.order.came(r.Owner, page.Deliveries)
	return page, err
}

func (w wire) TakeOver(ctx context.Context, o broker.Owner, from string, ids []broker.ID) (broker.TakenOver, error) {
	taken, err := pass(w, "takeover", func() (broker.TakenOver, error) { return w.Broker.TakeOver(ctx, o, from, ids) })
	w.sim.model.order.came(o, taken.Deliveries)
	return taken, err
}

func (w wire) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	admissions, err := pass(w, "admit", func() ([]broker.Admission, error) { return w.Broker.Admit(ctx, r) })
	w.sim.model.order.asked(r.Owner)
	return admissions, err
}

func (w wire) Begin(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return pass(w, "begin", func() ([]broker.Holding, error) { return w.Broker.Begin(ctx, o, ids) })
}

func (w wire) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return pass(w, "renew", func() ([]broker.Holding, error) { return w.Broker.Renew(ctx, o, ids) })
}

func (w wire) Release(ctx context.Context, o broker.Owner, ids []broker.ID) error {
	return w.do("release", func() error { return w.Broker.Release(ctx, o, ids) })
}

func (w wire) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	asked := w.sim.model.asks(s.Owner)
	res, err := pass(w, "settle", func() (broker.SettleResult, error) { return w.Broker.Settle(ctx, s) })
	w.sim.model.order.asked(s.Owner)
	if err == nil {
		w.sim.model.settled(w.worker, s, &res, asked)
	}
	return res, err
}

func (w wire) AcquireSlot(ctx context.Context, r broker.SlotRequest) (int, error) {
	return pass(w, "acquire", func() (int, error) { return w.Broker.AcquireSlot(ctx, r) })
}

func (w wire) RenewSlot(ctx context.Context, r broker.SlotRequest, slot int) (broker.SlotLease, error) {
	return pass(w, "renewslot", func() (broker.SlotLease, error) { return w.Broker.RenewSlot(ctx, r, slot) })
}

func (w wire) ReleaseSlot(ctx context.Context, r broker.SlotRequest, slot int) error {
	return w.do("releaseslot", func() error { return w.Broker.ReleaseSlot(ctx, r, slot) })
}

func (w wire) RemoveConsumer(ctx context.Context, o broker.Owner) (bool, error) {
	return pass(w, "remove", func() (bool, error) { return w.Broker.RemoveConsumer(ctx, o) })
}

func (w wire) Add(ctx context.Context, adds []broker.Add) ([]broker.ID, error) {
	return pass(w, "add", func() ([]broker.ID, error) { return w.Broker.Add(ctx, adds) })
}

func (w wire) Pending(ctx context.Context, stream, group, consumer string, after broker.ID, count int) ([]broker.Pending, error) {
	return pass(w, "pending", func() ([]broker.Pending, error) {
		return w.Broker.Pending(ctx, stream, group, consumer, after, count)
	})
}

func (w wire) ConsumerInfos(ctx context.Context, stream, group string) ([]broker.ConsumerInfo, error) {
	return pass(w, "consumers", func() ([]broker.ConsumerInfo, error) { return w.Broker.ConsumerInfos(ctx, stream, group) })
}
