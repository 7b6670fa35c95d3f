package bench

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	"pipeline/engine/clock"
)

// Settings are what the flags say.
type Settings struct {
	Entries int64  `json:"entries"`
	Rounds  int    `json:"rounds"`
	Workers int    `json:"workers"`
	Batch   int    `json:"batch"`
	Handler string `json:"handler"`
	// Pending is how many entries are pending where that is what matters.
	Pending int64 `json:"pending"`
	// Idle is how long nothing happens where that is what matters.
	Idle time.Duration `json:"idle_ns"`
	// Full goes through all sizes of growth.
	Full bool `json:"full"`
	// Soak is how long memory is watched; 0 is not at all.
	Soak time.Duration `json:"soak_ns"`
}

// Reporter is told how a run goes.
type Reporter interface {
	// Begin is called before the rounds of a case; Round after each of one side.
	Begin(scenario, name string)
	Round(scenario, name string, round int, side Side, s Sample)
	// Case is called with the results of a case.
	Case(scenario, name string, results []Result)
	// Memory is called with the memory of a side over time, in bytes.
	Memory(side Side, after time.Duration, rss int64)
	// Note is called with what has to be known of the figures that follow.
	Note(scenario, text string)
}

// Runner runs scenarios on one server. It is not safe for concurrent use.
type Runner struct {
	Clock  clock.Clock
	URL    string
	Server *Server
	Settings
	// Dir is a folder of the run; it holds what WriteHandlers has written.
	Dir string
	// Profile is a folder for profiles of the product's last round; empty for none.
	Profile string
	Report  Reporter

	groups int
	// scenario is the one that runs.
	scenario string
	found    []Result
}

// Run runs the scenarios in their order and returns all results.
func (r *Runner) Run(ctx context.Context, scenarios []Scenario) ([]Result, error) {
	for _, s := range scenarios {
		r.scenario = s.Name
		if err := s.run(ctx, r); err != nil {
			return r.found, fmt.Errorf("bench %s: %w", s.Name, err)
		}
	}
	return r.found, nil
}

// key is a key of this run. All share a tag, so that what the product keeps
// beside a stream begins like it.
func (r *Runner) key(name string) string { return r.Server.prefix + name }

// Prefix is how the keys of a run begin; token tells runs apart.
func Prefix(token string) string { return "pipeline-bench-{" + token + "}:" }

// group is a name that no round has had: what the product keeps beside a group
// is never met again.
func (r *Runner) group() string {
	r.groups++
	return fmt.Sprintf("g%d", r.groups)
}

// job is what all jobs of the run have in common.
func (r *Runner) job(side Side) Job {
	return Job{
		URL: r.URL, Side: side, Dir: r.Dir, Handler: r.Handler, Group: r.group(), Workers: r.Workers, Batch: r.Batch,
		MinIdle: 30 * time.Second,
	}
}

// series runs the rounds of a case, both sides of each one after the other and
// every second round the other way round, and reports the results.
func (r *Runner) series(
	ctx context.Context, scenario, name string, figures []Figure, one func(context.Context, Side) (Sample, error),
) error {
	r.Report.Begin(scenario, name)
	rounds := map[Side][]Sample{}
	for round := range r.Rounds {
		sides := [2]Side{Product, Reference}
		if round%2 == 1 {
			sides = [2]Side{Reference, Product}
		}
		for _, side := range sides {
			s, err := one(ctx, side)
			if err != nil {
				return err
			}
			rounds[side] = append(rounds[side], s)
			r.Report.Round(scenario, name, round+1, side, s)
		}
	}
	found := results(scenario, name, figures, rounds)
	r.found = append(r.found, found...)
	r.Report.Case(scenario, name, found)
	return nil
}

// measured is what a round used, here and on the server.
type measured struct {
	Message
	server time.Duration
	// ready is the memory of the process before, in bytes.
	ready int64
}

// run does one job from its start to its end. fire is called when the
// measurement has begun, and gives the process its work; where the job has no
// total, the process is told to stop when fire returns.
func (r *Runner) run(ctx context.Context, job *Job, fire func(*process) error) (measured, error) {
	var m measured
	p, err := startProcess(r.Clock, job)
	if err != nil {
		return m, err
	}
	defer func() { _ = p.close() }() // it has ended, or the round has failed for another reason
	if _, err := p.await(ctx, saidReady); err != nil {
		return m, err
	}
	before, err := r.Server.serverCPU(ctx)
	if err != nil {
		return m, err
	}
	p.tell(orderGo)
	going, err := p.await(ctx, saidGoing)
	if err != nil {
		return m, err
	}
	m.ready = going.Use.RSS
	if err := fire(p); err != nil {
		return m, err
	}
	if job.Total == 0 {
		p.tell(orderStop)
	}
	if m.Message, err = p.await(ctx, saidDone); err != nil {
		return m, err
	}
	after, err := r.Server.serverCPU(ctx)
	if err != nil {
		return m, err
	}
	m.server = after - before
	r.disturbed(m.Message)
	return m, p.finish(ctx)
}

// disturbed tells what an operator would have been warned of in a round: its
// figures are those of a disturbed one.
func (r *Runner) disturbed(m Message) {
	for _, name := range slices.Sorted(maps.Keys(m.Events)) {
		r.Report.Note(r.scenario, fmt.Sprintf("a round of the %s was disturbed: %s ×%d", Product, name, m.Events[name]))
	}
}
