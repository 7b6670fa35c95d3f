package sim

import (
	"context"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"pipeline/engine/broker"
	"pipeline/engine/harness"
)

// mutant is a fault of the product: what lies between a worker and the server
// with one operation gone wrong.
type mutant struct {
	broker.Broker

	settle func(context.Context, broker.Broker, *broker.Settlement) (broker.SettleResult, error)
	read   func(context.Context, broker.Broker, broker.ReadRequest) ([]broker.Delivery, error)
	renew  func(context.Context, broker.Broker, broker.Owner, []broker.ID) ([]broker.Holding, error)
	admit  func(context.Context, broker.Broker, broker.AdmitRequest) ([]broker.Admission, error)
	marked func(context.Context, broker.Broker, broker.MarkedRequest) ([]broker.Mark, error)
	groups func(context.Context, broker.Broker, string) ([]broker.GroupInfo, error)
}

func (m mutant) GroupInfos(ctx context.Context, stream string) ([]broker.GroupInfo, error) {
	if m.groups == nil {
		return m.Broker.GroupInfos(ctx, stream)
	}
	return m.groups(ctx, m.Broker, stream)
}

// caughtUp says that all readers have acknowledged everything.
func caughtUp(ctx context.Context, b broker.Broker, stream string) ([]broker.GroupInfo, error) {
	infos, err := b.GroupInfos(ctx, stream)
	for i := range infos {
		infos[i].Pending, infos[i].Lag, infos[i].LagKnown = 0, 0, true
	}
	return infos, err
}

func (m mutant) Marked(ctx context.Context, r broker.MarkedRequest) ([]broker.Mark, error) {
	if m.marked == nil {
		return m.Broker.Marked(ctx, r)
	}
	return m.marked(ctx, m.Broker, r)
}

// windows remembers keys for longer than the window.
func windows(longer time.Duration) mutant {
	return mutant{
		settle: func(ctx context.Context, b broker.Broker, s *broker.Settlement) (broker.SettleResult, error) {
			c := *s
			c.Marks.Window += longer
			return b.Settle(ctx, &c)
		},
		marked: func(ctx context.Context, b broker.Broker, r broker.MarkedRequest) ([]broker.Mark, error) {
			r.Window += longer
			return b.Marked(ctx, r)
		},
	}
}

// allMarked says that all keys are marked.
func allMarked(_ context.Context, _ broker.Broker, r broker.MarkedRequest) ([]broker.Mark, error) {
	marks := make([]broker.Mark, len(r.Keys))
	for i := range marks {
		marks[i] = broker.Mark{By: broker.ID{Ms: 1}, At: harness.DefaultStart}
	}
	return marks, nil
}

func (m mutant) Settle(ctx context.Context, s *broker.Settlement) (broker.SettleResult, error) {
	if m.settle == nil {
		return m.Broker.Settle(ctx, s)
	}
	return m.settle(ctx, m.Broker, s)
}

func (m mutant) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	if m.read == nil {
		return m.Broker.Read(ctx, r)
	}
	return m.read(ctx, m.Broker, r)
}

func (m mutant) Renew(ctx context.Context, o broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	if m.renew == nil {
		return m.Broker.Renew(ctx, o, ids)
	}
	return m.renew(ctx, m.Broker, o, ids)
}

func (m mutant) Admit(ctx context.Context, r broker.AdmitRequest) ([]broker.Admission, error) {
	if m.admit == nil {
		return m.Broker.Admit(ctx, r)
	}
	return m.admit(ctx, m.Broker, r)
}

// published makes a mutant of what steps publish.
func published(change func(*broker.Step)) mutant {
	return mutant{settle: func(ctx context.Context, b broker.Broker, s *broker.Settlement) (broker.SettleResult, error) {
		c := *s
		c.Steps = append([]broker.Step(nil), s.Steps...)
		for i := range c.Steps {
			c.Steps[i].Publish = append([]broker.Add(nil), c.Steps[i].Publish...)
			change(&c.Steps[i])
		}
		return b.Settle(ctx, &c)
	}}
}

// done is the answer to a settlement that says that all of it was written.
func done(s *broker.Settlement) broker.SettleResult {
	return broker.SettleResult{Steps: make([]broker.StepResult, len(s.Steps)), Waits: make([]broker.Status, len(s.Waits))}
}

// unfenced publishes what a fence had kept back.
func unfenced(ctx context.Context, b broker.Broker, s *broker.Settlement) (broker.SettleResult, error) {
	res, err := b.Settle(ctx, s)
	for i := range res.Steps {
		if res.Steps[i].Status == broker.NotOwned && len(s.Steps[i].Publish) > 0 {
			if _, err := b.Add(ctx, s.Steps[i].Publish); err != nil {
				return res, err
			}
			res.Steps[i].Status = broker.Done
		}
	}
	return res, err
}

// sentAgain publishes once more after an answer was lost.
func sentAgain(ctx context.Context, b broker.Broker, s *broker.Settlement) (broker.SettleResult, error) {
	res, err := b.Settle(ctx, s)
	if err != nil && broker.Transient(err) {
		for i := range s.Steps {
			_, _ = b.Add(ctx, s.Steps[i].Publish)
		}
	}
	return res, err
}

// dropped says that a settlement was written, and writes nothing of it.
func dropped(part func(*broker.Settlement)) mutant {
	return mutant{settle: func(ctx context.Context, b broker.Broker, s *broker.Settlement) (broker.SettleResult, error) {
		c := *s
		part(&c)
		if _, err := b.Settle(ctx, &c); err != nil {
			return broker.SettleResult{}, err
		}
		return done(s), nil
	}}
}

// acknowledgedAtOnce acknowledges what a read brings, as a reader with NOACK does.
func acknowledgedAtOnce(ctx context.Context, b broker.Broker, r broker.ReadRequest) ([]broker.Delivery, error) {
	ds, err := b.Read(ctx, r)
	s := broker.Settlement{Owner: r.Owner}
	for _, d := range ds {
		s.Acks = append(s.Acks, d.ID)
	}
	if len(ds) > 0 {
		_, _ = b.Settle(ctx, &s)
	}
	return ds, err
}

// latecomer is a reader that keeps the first of several new entries until it reads
// again.
type latecomer struct {
	broker.Broker

	kept map[broker.Owner][]broker.Delivery
}

func (l *latecomer) Read(ctx context.Context, r broker.ReadRequest) ([]broker.Delivery, error) {
	ds, err := l.Broker.Read(ctx, r)
	late := l.kept[r.Owner]
	delete(l.kept, r.Owner)
	if len(ds) > 1 && ds[0].Deliveries == 0 {
		l.kept[r.Owner], ds = ds[:1:1], ds[1:]
	}
	return append(ds, late...), err
}

// unrenewed says that all is held, and renews nothing.
func unrenewed(_ context.Context, _ broker.Broker, _ broker.Owner, ids []broker.ID) ([]broker.Holding, error) {
	return make([]broker.Holding, len(ids)), nil
}

// admitted runs everything, due or not, whatever its attempts.
func admitted(_ context.Context, _ broker.Broker, r broker.AdmitRequest) ([]broker.Admission, error) {
	return make([]broker.Admission, len(r.Entries)), nil
}

// mutants are the faults that the model must find, and what it must say.
var mutants = []struct {
	name, says string
	mutant     mutant
}{
	{"a reply acknowledged without being published", "lost", published(func(s *broker.Step) { s.Publish = nil })},
	{"a reply published twice", "published twice", published(func(s *broker.Step) { s.Publish = append(s.Publish, s.Publish...) })},
	{"the last of several replies missing", "some of its replies are missing", published(func(s *broker.Step) {
		if len(s.Publish) > 1 {
			s.Publish = s.Publish[:len(s.Publish)-1]
		}
	})},
	{"fields of a dead letter in another order", "is not what it was", published(func(s *broker.Step) {
		for i := range s.Publish {
			if p := &s.Publish[i]; p.Stream == "dead" {
				p.Fields = append([]broker.Field(nil), p.Fields...)
				p.Fields[0], p.Fields[1] = p.Fields[1], p.Fields[0]
			}
		}
	})},
	{"an outcome of a process that was robbed published", "published twice", mutant{settle: unfenced}},
	{"a publication sent again after a lost answer", "published twice", mutant{settle: sentAgain}},
	{"acknowledgements that are not written", "still pending", dropped(func(s *broker.Settlement) { s.Acks = nil })},
	{"publications that are not written", "stay pending", dropped(func(s *broker.Settlement) { s.Steps = nil })},
	{"entries acknowledged when they are read", "lost", mutant{read: acknowledgedAtOnce}},
	{"keys that are not marked", "without its key", published(func(s *broker.Step) { s.Mark = "" })},
	{"each marked with a key of its own", "though its key", published(func(s *broker.Step) {
		if s.Mark != "" {
			s.Mark = string(s.ID.Append(nil))
		}
	})},
	{"a window that is too long", "was not marked within the window", windows(time.Hour)},
	{"everything is said to be a duplicate", "was acknowledged unrun", mutant{marked: allMarked}},
	{"replies published to a stream that is full", "max_backlog is", mutant{groups: caughtUp}},
	{"leases that are not renewed", "holds it", mutant{renew: unrenewed}},
	{"retries that come too early and without end", "before it is due", mutant{admit: admitted}},
}

// TestTheModelFindsEveryMutant is the test of the test: each fault of the product
// is found in few histories.
func TestTheModelFindsEveryMutant(t *testing.T) {
	const patience = 500
	for _, c := range mutants {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			plans := rapid.Custom(drawPlan)
			for n := range patience {
				p := plans.Example(n + 1)
				problems, _ := play(versions[n%len(versions)], p, func(b broker.Broker) broker.Broker {
					m := c.mutant
					m.Broker = b
					return m
				})
				if i := strings.Index(strings.Join(problems, "\n"), c.says); i >= 0 {
					t.Logf("found in history %d: %s", n+1, problems[0])
					return
				}
			}
			t.Errorf("not found in %d histories", patience)
		})
	}
}

// TestTheModelFindsFaultsOfTheEngine does the same for faults that no server can
// play.
func TestTheModelFindsFaultsOfTheEngine(t *testing.T) {
	for _, c := range []struct {
		name, says string
		spoil      func(*plan)
	}{
		{"keys that are not held", "hold:", func(p *plan) { p.passes = true }},
		{"entries run in another order", "order:", func(p *plan) { p.late = true }},
	} {
		t.Run(c.name, func(t *testing.T) {
			plans := rapid.Custom(drawPlan)
			for n := range 500 {
				p := plans.Example(n + 1)
				c.spoil(p)
				problems, _ := play(versions[n%len(versions)], p, nil)
				if strings.Contains(strings.Join(problems, "\n"), c.says) {
					t.Logf("found in history %d", n+1)
					return
				}
			}
			t.Error("not found in 500 histories")
		})
	}
}

// TestTheModelFindsNothingWhereNothingIsWrong plays the same histories without a
// mutant, and each of them twice: the second time is the same byte by byte.
func TestTheModelFindsNothingWhereNothingIsWrong(t *testing.T) {
	plans := rapid.Custom(drawPlan)
	for n := range 50 {
		p := plans.Example(n + 1)
		problems, first := play(versions[0], p, nil)
		if len(problems) > 0 {
			t.Fatalf("history %d: %s\n%v", n+1, strings.Join(problems, "\n"), p)
		}
		if _, again := play(versions[0], p, nil); again() != first() {
			t.Fatalf("history %d is not the same when it is played again\n%v", n+1, p)
		}
	}
}

// TestEveryKindOfActAndEntryComes keeps the plans honest.
func TestEveryKindOfActAndEntryComes(t *testing.T) {
	seen := map[string]int{}
	plans := rapid.Custom(drawPlan)
	for n := range 500 {
		for _, a := range plans.Example(n + 1).acts {
			seen[string(a.kind)]++
			seen[string(a.fault.Kind)+" "+string(a.fault.At)]++
			seen["network "+a.network.At.String()]++
			seen["network "+string(a.network.Effect)]++
			for _, o := range a.entries {
				seen["entry "+o.do]++
			}
		}
	}
	want := []string{string(harness.Slow) + " "}
	for _, k := range lossy {
		want = append(want, string(k))
	}
	for _, o := range doings {
		want = append(want, "entry "+o)
	}
	for _, f := range failpoints {
		want = append(want, "network "+f.String())
	}
	for _, e := range effects {
		want = append(want, "network "+string(e))
	}
	for _, at := range []harness.Point{harness.BeforeRun, harness.AfterRun, harness.BeforeAck, harness.AfterAck} {
		want = append(want, string(harness.Crash)+" "+string(at), string(harness.Stall)+" "+string(at))
	}
	for _, at := range []harness.Point{harness.AtRead, harness.AtSettle} {
		want = append(want, string(harness.LostReply)+" "+string(at))
	}
	for _, name := range want {
		if seen[name] == 0 {
			t.Errorf("%q never comes in 500 histories", name)
		}
	}
	if minIdle < 3*time.Second {
		t.Error("min_idle is shorter than what histories are made of")
	}
}
