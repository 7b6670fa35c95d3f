package sim

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/memory"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
	"pipeline/engine/spec"
	"pipeline/sandbox"
)

// place is an entry in a group, by the entry's number.
type place struct {
	group string
	n     int
}

// sim is one history as it is played, with all that its model knows.
type sim struct {
	*harness.Harness

	plan          *plan
	version       string
	first, second *spec.Pipeline
	model         model
	reader        reader
	clock         clock.Clock
	runs          map[place]int
	hitches       []hitch
	saved         *memory.Snapshot
	started       int
	// begun is when each worker was started.
	begun  map[string]time.Time
	memory *memory.Broker
	// skew is how far the server's clock is from everybody's.
	skew time.Duration
}

// mostWorkers is how many workers live at once.
const mostWorkers = 4

// play plays a history on a server of the version and returns what the model
// finds wrong, and the state at the end. mutate, if set, puts a fault of the
// product between each worker and the server.
func play(version string, p *plan, mutate func(broker.Broker) broker.Broker) (problems []string, state func() string) {
	shape := p.shape
	shape.Hold = shape.Hold && !p.passes
	s := &sim{plan: p, version: version, first: shape.pipeline(false), second: shape.pipeline(true), runs: map[place]int{}, begun: map[string]time.Time{}}
	handlers := map[string]sandbox.Handler{}
	for _, sub := range s.first.Subscriptions() {
		handlers[sub.Label] = harness.Func(s.handle)
	}
	h, err := harness.New(harness.Config{
		Pipeline: s.first, Version: version, Handlers: handlers, Open: s.open, Monotonic: shape.Monotonic,
		Wrap: func(worker string, b broker.Broker) broker.Broker {
			if mutate != nil {
				b = mutate(b)
			}
			w := wire{Broker: b, sim: s, worker: worker}
			if p.late {
				return &latecomer{Broker: w, kept: map[broker.Owner][]broker.Delivery{}}
			}
			return w
		},
	})
	if err != nil {
		return []string{err.Error()}, func() string { return "" }
	}
	s.Harness = h
	s.model.init(s)
	if s.reader.sim = s; shape.Backlog > 0 {
		s.reader.run()
	}
	s.act(&act{kind: start})
	for i := range p.acts {
		s.act(&p.acts[i])
	}
	s.recover()
	s.model.judge()
	if shape.Backlog > 0 {
		s.reader.judge()
	}
	if s.model.epoch != 0 || slices.ContainsFunc(s.model.entries, func(e *entry) bool { return e.gone }) {
		h.Unchecked("the server lost its last writes, or entries were deleted from it")
	} else if s.model.counts.judge(); len(s.model.counts.unheard) > 0 {
		h.Unchecked("a worker wrote what it never heard of")
	}
	s.count()
	dump := h.String()
	if err := h.Close(); err != nil {
		s.model.wrong("close: %v", err)
	}
	return s.model.problems, func() string { return dump }
}

// do runs what must not fail.
func (s *sim) do(what string, err error) {
	if err != nil {
		s.model.wrong("%s: %v", what, err)
	}
}

// alive are the workers that neither crashed nor stopped.
func (s *sim) alive() []*harness.Worker {
	return slices.DeleteFunc(s.Workers(), func(w *harness.Worker) bool { return !w.Alive() })
}

// worker is one of those that live, nil when there is none.
func (s *sim) worker(n int) *harness.Worker {
	if alive := s.alive(); len(alive) > 0 {
		return alive[n%len(alive)]
	}
	return nil
}

// act does one thing and lets happen what it causes.
func (s *sim) act(a *act) {
	ctx := context.Background()
	switch a.kind {
	case publish:
		s.publish(a.entries)
	case advance:
		s.do("advance", s.Advance(ctx, a.d))
	case fault:
		s.do("arm", s.Arm(a.fault))
	case network:
		s.hitches = append(s.hitches, a.network)
	case still, reads:
		s.reader.still = a.kind == still
	case setTime:
		s.plan.tally.add("server clock set", 1)
		s.setTime(a.d)
	case start, stop, kill, stall, jump:
		s.actOnWorker(ctx, a)
	default:
		s.actOnServer(ctx, a)
	}
	s.do("settle", s.Settle(ctx))
	s.model.look()
}

func (s *sim) actOnWorker(ctx context.Context, a *act) {
	if a.kind == start {
		if len(s.alive()) < mostWorkers {
			s.start(ctx, a.n%2 == 1)
		}
		return
	}
	w := s.worker(a.n)
	if w == nil {
		return
	}
	switch a.kind {
	case stop:
		if !w.Stalled() {
			s.stop(ctx, w)
		}
	case kill:
		s.do("kill", w.Kill(ctx))
	case stall:
		s.do("stall", w.Stall(ctx, a.d))
	case jump:
		s.plan.tally.add("worker clocks set", 1)
		if d := a.d; s.plan.shape.Monotonic {
			w.Jump(d)
		} else {
			w.Jump(max(d, -d))
		}
	}
}

// start starts a worker of one of the two versions, on the machines in turn.
func (s *sim) start(ctx context.Context, next bool) {
	s.started++
	p := s.first
	if next {
		p = s.second
	}
	s.begun[fmt.Sprint("worker", len(s.Workers())+1)] = s.Now()
	_, err := s.StartVersion(ctx, fmt.Sprint("machine", s.started%s.plan.shape.Machines), p)
	s.do("start", err)
}

// stop drains a worker. It may leave something pending only where it could not
// finish.
func (s *sim) stop(ctx context.Context, w *harness.Worker) {
	s.model.stopping[w.Name()] = s.Now()
	if err := w.Stop(ctx); err != nil {
		if _, left := errors.AsType[*engine.LeftError](err); !left {
			s.model.wrong("stop: %v", err)
		}
	}
}

func (s *sim) actOnServer(ctx context.Context, a *act) {
	server := s.Server()
	s.model.look()
	switch a.kind {
	case away:
		s.model.interrupt("", a.d)
		s.do("away", s.Arm(harness.Fault{Kind: harness.ServerDown, For: a.d}))
	case restart:
		server.Disconnect()
	case full, room:
		server.SetFull(a.kind == full)
	case deletion:
		s.deleteLast(a.n)
	case trim:
		_, err := server.Trim(ctx, broker.TrimRequest{Stream: "in", MaxLen: int64(1 + 3*a.n)})
		s.do("trim", err)
	case destroy:
		group := []string{ledger, fraud}[a.n%2]
		s.model.regroup(group)
		server.DestroyGroup("in", group)
	case remember:
		s.saved, s.model.saved, s.model.savedFloors = server.Snapshot(), s.model.marks.copy(), s.model.floors.copy()
		return
	case failover:
		if s.saved == nil {
			return
		}
		s.pass(ctx)
		server.Restore(s.saved)
		s.model.lose(s.model.saved, s.model.savedFloors)
		s.model.saved, s.model.savedFloors = s.model.marks.copy(), s.model.floors.copy()
	case flush:
		s.pass(ctx)
		server.Flush()
		server.Disconnect()
		s.saved = nil
		s.model.lose(map[placeOfKey][]marking{}, map[string]broker.ID{})
	}
}

// pass lets a moment pass, so that no id is given twice: what a server has lost
// is older than what it adds afterwards, also where its clock was set back. What is
// added meanwhile is looked at before it is lost.
func (s *sim) pass(ctx context.Context) {
	behind := time.Duration(0)
	for _, stream := range []string{"in", "out", "dead"} {
		info, err := s.Server().StreamInfo(ctx, stream)
		s.do("look at "+stream, err)
		behind = max(behind, time.UnixMilli(int64(info.LastID.Ms)).Sub(s.time()))
	}
	s.do("advance", s.Advance(ctx, behind+5*time.Millisecond))
	s.model.look()
}

func (s *sim) publish(orders []order) {
	for _, o := range orders {
		fields := o.fields(s.model.next())
		ids, err := s.Publish(broker.Add{Stream: "in", Fields: fields})
		if errors.Is(err, broker.ErrOutOfMemory) {
			return // the producer is told
		}
		s.do("publish", err)
		s.model.published(o, ids[0], fields)
	}
}

func (s *sim) deleteLast(n int) {
	all := s.Entries("in")
	for _, e := range all[max(0, len(all)-1-n):] {
		s.Server().DeleteEntries("in", e.ID)
	}
}

// strike says whether a hitch strikes an operation of a worker.
func (s *sim) strike(worker, op string, at step) *hitch {
	for i := range s.hitches {
		h := &s.hitches[i]
		if h.At != (failpoint{op, at}) || h.Times == 0 {
			continue
		}
		h.Times--
		if op == "renew" && at == unsent {
			s.model.interrupt(worker, 0)
		}
		return h
	}
	return nil
}

// count counts what became of the workers.
func (s *sim) count() {
	for _, w := range s.Workers() {
		s.plan.tally.add("stalls", len(w.Pauses()))
		if w.Crashed() {
			s.plan.tally.add("crashes", 1)
		}
	}
	for _, n := range s.model.marks.duplicates {
		s.plan.tally.add("duplicates", n)
	}
	s.plan.tally.add("acts", len(s.plan.acts))
	s.plan.tally.add("entries", len(s.model.entries))
	for _, a := range s.plan.acts {
		switch a.kind {
		case restart, away, failover, flush, destroy:
			s.plan.tally.add("server "+string(a.kind), 1)
		}
	}
}

// recover ends all faults and gives everything time to come to its end.
func (s *sim) recover() {
	ctx := context.Background()
	s.do("advance", s.Advance(ctx, 5*time.Second)) // what waits to go wrong may still do so
	s.hitches = nil
	s.Disarm()
	s.Server().SetFull(false)
	s.reader.still = false
	for _, w := range s.Workers() {
		s.do("resume", w.Resume(ctx))
	}
	s.start(ctx, true)
	for range 60 {
		s.do("advance", s.Advance(ctx, 20*time.Second))
		if s.quiet() {
			break
		}
	}
	s.do("advance", s.Advance(ctx, 20*time.Second))
	for _, w := range s.alive() {
		s.do("stop "+w.Name(), w.Stop(ctx))
	}
}

// quiet reports whether both groups have had everything and nothing is pending.
func (s *sim) quiet() bool {
	infos, err := s.Server().GroupInfos(context.Background(), "in")
	if err != nil || len(infos) != 2 {
		return false
	}
	for _, g := range infos {
		rest, err := s.Server().Range(context.Background(), "in", g.LastDelivered.Next(), broker.MaxID, 1)
		if len(rest) > 0 || err != nil || len(s.left(g.Name)) > 0 {
			return false
		}
	}
	return true
}

// left are the pending entries of a group that somebody should have settled. A
// server before 7.0 does not tell which of them have no body any more; there they
// stay.
func (s *sim) left(group string) []harness.Pending {
	pending := s.Pending(group)
	if s.version == withoutIDs {
		pending = slices.DeleteFunc(pending, func(p harness.Pending) bool { return s.model.entries[s.model.number(p.ID)].gone })
	}
	return pending
}
