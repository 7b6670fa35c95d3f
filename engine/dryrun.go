package engine

import (
	"context"
	"iter"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/work"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
	"pipeline/engine/value"
	"pipeline/sandbox"
)

// DryRun says what every subscription would do with entries, each once and
// never the retries. Nothing is written anywhere; no broker is needed.
type DryRun struct {
	cfg    Config
	subs   []*spec.Subscription
	plans  map[*spec.Subscription]*work.Plan
	notRun []NotRun
}

// DryEntry is one entry to try.
type DryEntry struct {
	Stream *spec.Stream
	ID     broker.ID
	Fields []broker.Field
}

// DryOutcome is what a subscription would do with an entry. It is valid only
// during the call that it is given to.
type DryOutcome struct {
	Subscription *spec.Subscription
	// Body is the decoded body: null where the entry could not be decoded.
	Body    *value.Value
	Outcome *observe.Outcome
}

// dryOutcome is the outcome of an item, told in a place for it.
func dryOutcome(s *spec.Subscription, it *batch.Item, told *observe.Outcome) DryOutcome {
	it.Tell(told)
	return DryOutcome{s, &it.Body.Value, told}
}

// NotRun is a subscription that a dry-run leaves out, and why.
type NotRun struct {
	Subscription *spec.Subscription
	Reason       string
}

// NewDryRun compiles what a dry-run needs. Broker and Observer are not used.
func NewDryRun(cfg Config) (*DryRun, error) {
	if err := cfg.check(); err != nil {
		return nil, err
	}
	d := &DryRun{cfg: cfg, plans: make(map[*spec.Subscription]*work.Plan)}
	for _, s := range cfg.Pipeline.Subscriptions() {
		if s.Claim != nil && s.Claim.Only {
			d.notRun = append(d.notRun, NotRun{s, "takes over pending entries only, and a dry-run has none"})
			continue
		}
		plan, err := work.Compile(s, cfg.Pipeline.Version)
		if err != nil {
			return nil, err
		}
		d.subs, d.plans[s] = append(d.subs, s), plan
	}
	return d, nil
}

// NotRun are the subscriptions that are left out.
func (d *DryRun) NotRun() []NotRun { return d.notRun }

// Streams are the streams whose entries are of use, each once, in the order of
// the subscriptions that read them.
func (d *DryRun) Streams() []*spec.Stream { return streamsOf(d.subs) }

func streamsOf(subs []*spec.Subscription) []*spec.Stream {
	var streams []*spec.Stream
	seen := map[string]bool{}
	for _, s := range subs {
		if stream := s.Group.Stream; !seen[stream.Name] {
			seen[stream.Name] = true
			streams = append(streams, stream)
		}
	}
	return streams
}

// Run runs each entry once through every subscription of its stream, over all
// cores, and emits the outcomes in the order of the entries and, for each, of
// the subscriptions in the file. emit is called from one goroutine; an error of
// it ends the run and is returned. An entry whose key an earlier one would have
// marked is a duplicate.
// Memory does not grow with the number of entries, but for the keys of a window
// where a subscription deduplicates.
func (d *DryRun) Run(ctx context.Context, in iter.Seq[DryEntry], emit func(*DryOutcome) error) error {
	var out DryOutcome
	var told observe.Outcome
	marks := dryMarks{}
	return inOrder(ctx, in, d.worker, func(job *dryJob) error {
		for j := range job.entries {
			for i, s := range d.subs {
				if it := job.columns[i][j]; it != nil {
					marks.judge(s, d.plans[s], it)
					out = dryOutcome(s, it, &told)
					if err := emit(&out); err != nil {
						return err
					}
				}
			}
		}
		return nil
	})
}

// worker is one goroutine's, with handlers of its own.
func (d *DryRun) worker() (do func(context.Context, *dryJob), end func()) {
	runners, end := d.runners()
	return func(ctx context.Context, job *dryJob) {
		for _, s := range d.subs {
			job.columns = append(job.columns, d.column(ctx, job, s, runners[s], everyEntry))
		}
	}, end
}

func everyEntry(int) bool { return true }

// runners are those of one goroutine.
func (d *DryRun) runners() (runners map[*spec.Subscription]*work.Runner, end func()) {
	runners = make(map[*spec.Subscription]*work.Runner)
	for _, s := range d.subs {
		handler := d.cfg.Handlers[s.Handler.Label]
		runners[s] = work.NewRunner(d.plans[s], "", func() (sandbox.Handler, uint64) { return handler, 1 }, d.cfg.Clock, d.cfg.Chance.Random, d.cfg.takeLogs())
	}
	return runners, func() {
		for _, r := range runners {
			r.Close()
		}
	}
}

// column runs a subscription over those entries of a job that are of its stream
// and that take says.
func (d *DryRun) column(
	ctx context.Context, job *dryJob, s *spec.Subscription, runner *work.Runner, take func(entry int) bool,
) []*batch.Item {
	items, b := job.column(s, take)
	d.plans[s].Prepare(b)
	for k := range b.Items {
		runner.Run(ctx, &b.Items[k])
	}
	return items
}

// takeLogs is how runners get at what a delivery logged.
func (c *Config) takeLogs() func(*sandbox.Delivery) []sandbox.LogLine {
	if c.KeepLogs == nil {
		return nil
	}
	return c.KeepLogs.Take
}

// runner makes the runner of one worker.
func (s *subscription) runner(consumer string) *work.Runner {
	slot := s.engine.handlers[s.spec.Handler.Label]
	code := func() (sandbox.Handler, uint64) {
		// The version first: newer code under an older number is only made anew
		// once more.
		version := slot.version.Load()
		return *slot.current.Load(), version
	}
	return work.NewRunner(s.plan, consumer, code, s.engine.cfg.Clock, s.engine.cfg.Chance.Random, s.engine.cfg.takeLogs())
}
