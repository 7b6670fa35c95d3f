package plan_test

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
	"pipeline/sandbox"
)

// dying is a server that ends when its settings are read.
type dying struct {
	*redis.Broker
	stop func()
}

func (d *dying) Settings(ctx context.Context) (redis.Settings, error) {
	s, err := d.Broker.Settings(ctx)
	d.stop()
	return s, err
}

// A login that may not write sees the whole plan, and what it lacks.
func TestALoginThatOnlyReads(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.entries("in", 3)
		s.do("XGROUP", "CREATE", "in", "oldest", "0")
		s.user("reader", "on", "-@all", "~*", "+@read", "-@write", "+multi", "+discard", "+info")
		p := s.plan("reader")
		wantErrors(t, p, plan.CodeRights, plan.CodeCreateRight)
		if !p.Complete || !p.Rights.Known || p.Applies() || !p.Settings.Known {
			t.Errorf("%+v", p.Rights)
		}
		full := s.plan("")
		if p.Server != full.Server {
			t.Errorf("it sees %+v, one that may do everything %+v", p.Server, full.Server)
		}
		for i, g := range p.Groups {
			want := full.Groups[i].Action
			if want == plan.Create {
				want = plan.Refuse
			}
			if g.Action != want || g.At != full.Groups[i].At {
				t.Errorf("%s: %+v, with all rights %+v", g.Name, g, full.Groups[i])
			}
		}
		says(t, p, plan.CodeRights, "xack", "+xack", "+xreadgroup")
		says(t, p, plan.CodeRights, "eval", "set", "+eval")
	})
}

// Everything that is missing is told at once: commands, keys of every kind,
// groups that may not be created.
func TestMissingRights(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.user("nobody", "on", "-@all", ">pw")
		p := s.plan("nobody")
		wantErrors(t, p, plan.CodeRightsUnknown)
		says(t, p, plan.CodeRightsUnknown, "+multi")
		for _, st := range p.Streams {
			if st.State != plan.Unknown {
				t.Errorf("%s is %s to one who may not look", st.Spec.Name, st.State)
			}
		}

		s.user("outsider", "on", "+@all", "~other")
		p = s.plan("outsider")
		wantErrors(t, p, plan.CodeRights)
		for _, key := range []string{"~in.", "~out.", "~in.dead.", "~{in}:pipeline:*."} {
			says(t, p, plan.CodeRights, "The user needs the rule "+key)
		}

		// Keys are found though every command on them is refused, too.
		s.user("few", "on", "-@all", "~in", "~{in}:*", "+multi", "+xinfo", "+type")
		p = s.plan("few")
		wantErrors(t, p, plan.CodeRights, plan.CodeCreateRight)
		says(t, p, plan.CodeRights, "The user needs the rule ~out.")
		for _, q := range p.Problems {
			if strings.HasSuffix(q.Detail, " ~in.") || strings.Contains(q.Detail, "pipeline:*") {
				t.Errorf("a key that may be used is told: %v", q)
			}
		}
		for _, name := range []string{"newest", "oldest", "between"} {
			if q := says(t, p, plan.CodeCreateRight, "group "+name+" on in", "pipeline apply"); q.Range.Start.Line == 0 || !q.Apply {
				t.Errorf("%+v", q)
			}
		}
	})
}

// Whoever deploys needs the right to create groups and little else; whoever
// works needs no right to change groups at all.
func TestApplyThenRunWithTheRuleThatThePlanPrints(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.example()
		full := s.plan("")
		wantErrors(t, full)
		if slices.ContainsFunc(full.Rights.Rule, func(word string) bool { return strings.Contains(word, "xgroup") }) {
			t.Fatalf("the rule of a worker has a right to change groups: %v", full.Rights.Rule)
		}
		s.user("worker", full.Rights.Rule...)
		s.user("deployer", append([]string{"on", "-@all", "~payments*", "~{payments}:pipeline:*", "+multi", "+get", "+set", "+xinfo"}, plus(redis.Create.Commands())...)...)

		p := s.plan("worker")
		wantErrors(t, p, plan.CodeCreateRight)
		p = s.plan("deployer")
		if p.Runs() || !p.Applies() {
			t.Fatalf("a login that may just create groups: %v", p.Problems)
		}
		if _, err := plan.Apply(t.Context(), p, s.as("deployer")); err != nil {
			t.Fatal(err)
		}
		p = s.plan("worker")
		wantErrors(t, p)
		if !slices.Contains(p.Rights.Lacking, "xgroup|delconsumer") || p.Applies() != true {
			t.Errorf("%+v", p.Rights)
		}
		runAs(t, s, "worker", 40)
		if n := s.do("XLEN", "payments.screened"); n != int64(40) {
			t.Errorf("%v replies", n)
		}
		for _, g := range s.plan("").Groups {
			if g.Info.Pending != 0 || g.Info.Lag != 0 || g.Consumers.Count == 0 {
				t.Errorf("%s: %+v", g.Name, g)
			}
		}
		// The rule is no more than is needed: without any of its commands the plan
		// finds one missing.
		for i, word := range full.Rights.Rule {
			if command, ok := strings.CutPrefix(word, "+"); ok && command != "multi" {
				s.user("less", slices.Concat(full.Rights.Rule[:i], full.Rights.Rule[i+1:], []string{"resetpass"})...)
				p := s.plan("less")
				wantErrors(t, p, plan.CodeRights)
				says(t, p, plan.CodeRights, "+"+command+".")
				s.do("ACL", "DELUSER", "less")
			}
		}
	})
}

func plus(commands []string) []string {
	out := make([]string, len(commands))
	for i, command := range commands {
		out[i] = "+" + command
	}
	return out
}

// settled closes a channel when each subscription has settled enough.
type settled struct {
	observe.None
	mu   sync.Mutex
	left map[string]int
	done chan struct{}
}

func (o *settled) Settled(sub *spec.Subscription, outs []observe.Outcome) {
	o.mu.Lock()
	defer o.mu.Unlock()
	before := o.left[sub.Label]
	o.left[sub.Label] -= len(outs)
	if before > 0 && o.left[sub.Label] <= 0 {
		delete(o.left, sub.Label)
		if len(o.left) == 0 {
			close(o.done)
		}
	}
}

// runAs runs the pipeline as a login until n payments are posted and screened.
func runAs(t *testing.T, s *server, user string, n int) {
	t.Helper()
	handlers, err := build.Compile(s.spec, discard{})
	if err != nil {
		t.Fatal(err)
	}
	defer handlers.Close()
	o := &settled{left: map[string]int{"screen_payment": n}, done: make(chan struct{})}
	poster := "post_payment"
	if s.Version == "7.0" {
		poster = "post_new_payment"
	}
	o.left[poster] = n
	e, err := engine.New(engine.Config{Pipeline: s.spec, Broker: s.as(user), Handlers: handlers.ByLabel(), Observer: o, Host: "h"})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- e.Run(ctx) }()
	var adds []broker.Add
	for i := range n {
		adds = append(adds, broker.Add{Stream: "payments", Fields: []broker.Field{
			{Name: "_payload", Value: fmt.Sprintf(`{"id":%d,"account":"acct-%d","amount_cents":5}`, i, i%7)},
		}})
	}
	if _, err := s.as("").Add(t.Context(), adds); err != nil {
		t.Fatal(err)
	}
	select {
	case <-o.done:
		stop()
	case err := <-ended:
		t.Fatalf("run ended: %v", err)
	}
	if err := <-ended; err != nil {
		t.Errorf("run: %v", err)
	}
}

type discard struct{}

func (discard) Log(*sandbox.Delivery, sandbox.LogLine) {}

// Twenty at once create each group once; all of them succeed.
func TestTwentyAppliesAtOnce(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.entries("in", 4)
		start := make(chan struct{})
		results := make([][]plan.Applied, 20)
		errs := make([]error, len(results))
		plans := make([]*plan.Plan, len(results))
		brokers := make([]*redis.Broker, len(results))
		for i := range results {
			plans[i], brokers[i] = s.plan(""), s.as("")
		}
		var all sync.WaitGroup
		for i := range results {
			all.Go(func() {
				<-start
				results[i], errs[i] = plan.Apply(t.Context(), plans[i], brokers[i])
			})
		}
		close(start)
		all.Wait()
		created := map[string]int{}
		for i, done := range results {
			if errs[i] != nil || len(done) != 4 {
				t.Fatalf("%+v, %v", done, errs[i])
			}
			for j, a := range done {
				if a.Done == plan.Create {
					created[a.Spec.Name]++
				}
				if a.At != results[0][j].At {
					t.Errorf("%s stands at %v and at %v", a.Spec.Name, a.At, results[0][j].At)
				}
			}
		}
		for _, name := range []string{"newest", "oldest", "between"} {
			if created[name] != 1 {
				t.Errorf("%s was created %d times", name, created[name])
			}
		}
		if created["off"] != 0 || len(s.plan("").Groups) != 4 {
			t.Error("a group that nobody reads was created")
		}

		// Again, later: nothing moves, and where a group stands elsewhere than its
		// start would put it, that is told.
		s.do("XADD", "in", "90-0", "f", "v")
		done, err := plan.Apply(t.Context(), s.plan(""), s.as(""))
		if err != nil {
			t.Fatal(err)
		}
		for i, want := range []struct {
			done  plan.Action
			at    broker.ID
			moved bool
		}{
			{plan.Keep, broker.ID{Ms: 40}, true}, {plan.Keep, broker.ID{}, false}, {plan.Keep, broker.ID{Ms: 15}, false}, {plan.Idle, broker.ID{}, false},
		} {
			if a := done[i]; a.Done != want.done || a.At != want.at || a.Moved != want.moved {
				t.Errorf("%+v, want %+v", a, want)
			}
		}
	})
}

// apply needs no transaction: that its login cannot be checked does not stop it,
// and what the server refuses then is told.
func TestApplyOfALoginThatCannotBeChecked(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		rule := append([]string{"on", "-@all", "~in", "~{in}:pipeline:*", "+get", "+set"}, plus(redis.Create.Commands())...)
		s.user("deployer", rule...)
		s.user("blocked", append(rule, "-xgroup")...)
		p := s.plan("blocked")
		if p.Rights.Known || !p.Applies() {
			t.Fatalf("%v", p.Problems)
		}
		done, err := plan.Apply(t.Context(), p, s.as("blocked"))
		if !errors.Is(err, broker.ErrNoPermission) || !strings.Contains(err.Error(), "+xgroup|create") || len(done) != 0 {
			t.Errorf("%+v, %v", done, err)
		}
		if n := s.do("DBSIZE"); n != int64(0) {
			t.Errorf("%v keys were written", n)
		}
		if done, err := plan.Apply(t.Context(), s.plan("deployer"), s.as("deployer")); err != nil || len(done) != 4 || done[0].Done != plan.Create {
			t.Errorf("%+v, %v", done, err)
		}
	})
}

// What is printed and what counts agree.
func TestGravestFirst(t *testing.T) {
	onEach(t, func(t *testing.T, s *server) {
		s.entries("in", 1)
		s.do("XGROUP", "CREATE", "in", "foreign", "0")
		s.do("SET", "out", "x")
		p := s.plan("")
		if !slices.IsSortedFunc(p.Problems, func(a, b plan.Problem) int { return int(a.Severity) - int(b.Severity) }) {
			t.Errorf("%v", p.Problems)
		}
		if p.Count(diag.Error) != 1 || p.Count(diag.Warning) != 2 || p.Actions(plan.Create) != 3 || p.Actions(plan.Foreign) != 1 {
			t.Errorf("%v", p.Problems)
		}
	})
}
