// Package doctor says what is wrong with a pipeline's server, its login, its streams
// and its groups: everything that a plan and a poll find, and what only concerns
// operation. It only looks.
//
// What it finds is data: nothing here prints, and nothing here holds an address.
package doctor

import (
	"cmp"
	"context"
	"math/rand/v2"
	"slices"
	"strings"
	"time"

	"pipeline/cmd/pipeline/internal/consumers"
	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker/redis"
	"pipeline/engine/clock"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// Server is what of a server is needed; *redis.Broker is one.
type Server interface {
	plan.Server
	consumers.Server
	// Now is the server's clock, User the name of the login on it.
	Now(ctx context.Context) (time.Time, error)
	User(ctx context.Context) (string, error)
	Certificates() []redis.Certificate
}

// Finding is one thing that is wrong.
type Finding = view.Finding

// Options are how to look. The zero value is how an operator does.
type Options struct {
	// Command writes the command lines of the program that findings name, with the path of the
	// pipeline and the flags that it was loaded with: with others a command might act on another
	// server. Default: one with FILE for the path.
	Command findings.Command
	// Server are the flags by which redis-cli reaches the server, without a password, with a space
	// before each; default none.
	Server string
	// StaleAfter is how long a consumer without a lease was idle that counts as
	// stale; default plan.StaleAfter.
	StaleAfter time.Duration
	// Looks: the login is one that only looks, a viewer's. Which rights of a worker it
	// lacks is not asked then, and not told.
	Looks bool
}

// examination is one run.
type examination struct {
	pipeline *spec.Pipeline
	server   Server
	clock    clock.Clock
	options  Options

	plan     *plan.Plan
	snapshot *poll.Snapshot
	user     string
	found    []Finding
}

// Run looks at the server and returns what is wrong, the gravest first; nil where all
// is well. It takes the round trips of a plan and of a poll and a few more, however
// much is pending. A server that cannot be reached is a finding. Where ctx is done the
// rest is not looked at, which the caller has to see.
func Run(ctx context.Context, p *spec.Pipeline, s Server, c clock.Clock, o Options) []Finding {
	o.StaleAfter = cmp.Or(o.StaleAfter, plan.StaleAfter)
	if o.Command == nil {
		o.Command = func(command string, words ...string) string {
			return strings.Join(append([]string{"pipeline", command, "FILE"}, words...), " ")
		}
	}
	e := &examination{pipeline: p, server: s, clock: c, options: o}
	if o.Looks {
		e.plan = plan.Look(ctx, p, s, c)
	} else {
		e.plan = plan.Collect(ctx, p, s, c)
	}
	if !e.plan.Reached && e.refusesWrites(ctx) {
		return e.found
	}
	if e.plan.Reached {
		e.user = e.login(ctx)
	}
	e.planned()
	if e.plan.Reached {
		e.settings()
		e.certificates()
		e.clocks(ctx)
		e.streams(ctx)
		e.groups(ctx)
	}
	slices.SortStableFunc(e.found, func(a, b Finding) int { return cmp.Compare(a.Severity, b.Severity) })
	return e.found
}

// Worst is the gravest severity among findings, and false where there are none.
func Worst(found []Finding) (diag.Severity, bool) {
	worst := diag.Notice
	for _, f := range found {
		worst = min(worst, f.Severity)
	}
	return worst, len(found) > 0
}

// Stops reports whether something that was found keeps run from running.
func Stops(found []Finding) bool {
	return slices.ContainsFunc(found, func(f Finding) bool { return f.Stops })
}

// add adds a finding with the reason that its code has. What was said already is not
// said again.
func (e *examination) add(f Finding) {
	f.Why = cmp.Or(f.Why, reasons[f.Code])
	same := func(g Finding) bool { return g.Code == f.Code && g.Found == f.Found }
	if !slices.ContainsFunc(e.found, same) {
		e.found = append(e.found, f)
	}
}

// refusesWrites looks why a server does not do what a plan tries: a replica, and one
// that lacks replicas, answer but refuse every write. Where that is the reason, it is
// what is found.
func (e *examination) refusesWrites(ctx context.Context) bool {
	s, err := e.server.Settings(ctx)
	if err != nil || !s.Known {
		return false
	}
	e.plan.Settings = s
	if e.settings(); Stops(e.found) {
		return true
	}
	e.found = nil
	return false
}

// login is the name to give rights to.
func (e *examination) login(ctx context.Context) string {
	if e.pipeline.Broker.Username != "" {
		return e.pipeline.Broker.Username
	}
	if name, err := e.server.User(ctx); err == nil {
		return name
	}
	return "USER"
}

// planned takes over what the plan found.
func (e *examination) planned() {
	for _, q := range e.plan.Problems {
		e.add(Finding{
			Code: q.Code, Severity: q.Severity, Found: q.Summary, Do: cmp.Or(q.Detail, remedies[q.Code]), Stops: q.Severity == diag.Error,
			Command: e.command(q.Code, q.Rules),
		})
	}
}

// planTells reports whether the plan has found the same at the same place of the file.
func (e *examination) planTells(d *diag.Diagnostic) bool {
	return slices.ContainsFunc(e.plan.Problems, func(q plan.Problem) bool { return q.Code == d.Code && q.Range == d.Range })
}

// streams takes over what a poll finds. Consumers are looked at with their leases
// elsewhere, which tell more than how long they were idle.
func (e *examination) streams(ctx context.Context) {
	e.snapshot = poll.New(e.pipeline, e.server, e.clock, rand.Float64).Once(ctx)
	if !e.snapshot.Up() {
		if e.snapshot.Err != nil {
			d := plan.Unreachable(e.snapshot.Err)
			e.add(Finding{Code: d.Code, Severity: d.Severity, Found: d.Summary, Do: cmp.Or(d.Detail, remedies[d.Code]), Stops: true})
		}
		return
	}
	growing := e.growing()
	for _, d := range findings.Of(e.snapshot, e.options.Command) {
		switch {
		case d.Code == findings.CodeStale, d.Code == findings.CodeLetters && growing:
			continue
		case d.Code == findings.CodeUnseen && len(e.plan.Rights.Denied) > 0:
			continue // the rights that are missing are told
		case d.Code == findings.CodeUnseen:
			d.Severity = diag.Notice // a worker may write to a stream that it may not look at
		case d.Code == plan.CodeWrongType && e.planTells(&d.Diagnostic):
			continue // and what the key holds
		}
		e.add(Finding{Code: d.Code, Severity: d.Severity, Found: d.Summary, Do: d.Detail, Command: d.Command})
	}
}
