package engine

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/internal/work"
	"pipeline/engine/observe"
	"pipeline/engine/spec"
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

// dryChunk is how many entries one worker takes at a time: enough to keep the
// hand-over cheap, few enough to keep the output flowing.
const dryChunk = 256

// dryJob is a chunk of entries on its way through a worker.
type dryJob struct {
	entries []DryEntry
	results []dryResult
	batches []*batch.Batch
	done    chan struct{}
}

type dryResult struct {
	sub  *spec.Subscription
	item *batch.Item
}

// Run runs each entry once through every subscription of its stream, over all
// cores, and emits the outcomes in the order of the entries and, for each, of
// the subscriptions in the file. emit is called from one goroutine; what it is
// given is valid only during the call; an error of it ends the run and is
// returned. Memory does not grow with the number of entries.
func (d *DryRun) Run(ctx context.Context, in iter.Seq[DryEntry], emit func(*spec.Subscription, *observe.Outcome) error) error {
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan *dryJob)
	order := make(chan *dryJob, 2*workers)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range workers {
		all.Go(func() { d.work(ctx, jobs) })
	}
	all.Go(func() {
		defer close(order)
		defer close(jobs)
		d.feed(ctx, in, jobs, order)
	})
	for job := range order {
		select {
		case <-job.done:
		case <-ctx.Done():
			return ctx.Err()
		}
		for _, r := range job.results {
			if err := emit(r.sub, &r.item.Outcome); err != nil {
				return err
			}
		}
		for _, b := range job.batches {
			batch.Put(b)
		}
	}
	return ctx.Err()
}

// feed cuts the entries into jobs.
func (d *DryRun) feed(ctx context.Context, in iter.Seq[DryEntry], jobs, order chan<- *dryJob) {
	send := func(entries []DryEntry) bool {
		job := &dryJob{entries: entries, done: make(chan struct{})}
		for _, to := range []chan<- *dryJob{order, jobs} {
			select {
			case to <- job:
			case <-ctx.Done():
				return false
			}
		}
		return true
	}
	var entries []DryEntry
	for e := range in {
		entries = append(entries, e)
		if len(entries) == dryChunk {
			if !send(entries) {
				return
			}
			entries = make([]DryEntry, 0, dryChunk)
		}
	}
	if len(entries) > 0 {
		send(entries)
	}
}

// work runs jobs with handlers of its own.
func (d *DryRun) work(ctx context.Context, jobs <-chan *dryJob) {
	runners := make(map[*spec.Subscription]*work.Runner)
	for _, s := range d.subs {
		handler := d.cfg.Handlers[s.Handler.Label]
		runners[s] = work.NewRunner(d.plans[s], "", func() (sandbox.Handler, uint64) { return handler, 1 }, d.cfg.Clock, d.cfg.Chance.Random, d.cfg.takeLogs())
		defer runners[s].Close()
	}
	for job := range jobs {
		d.run(ctx, job, runners)
		close(job.done)
	}
}

// run runs one job: each subscription over the whole chunk, the results in the
// order of the entries.
func (d *DryRun) run(ctx context.Context, job *dryJob, runners map[*spec.Subscription]*work.Runner) {
	columns := make([][]*batch.Item, len(d.subs))
	for i, s := range d.subs {
		b := batch.Get(len(job.entries))
		job.batches = append(job.batches, b)
		columns[i] = make([]*batch.Item, len(job.entries))
		for j, e := range job.entries {
			if e.Stream == s.Group.Stream {
				it := b.Grow()
				it.Delivery.Entry = broker.Entry{ID: e.ID, Fields: e.Fields}
				columns[i][j] = it
			}
		}
		d.plans[s].Prepare(b)
		for k := range b.Items {
			runners[s].Run(ctx, &b.Items[k])
		}
	}
	for j := range job.entries {
		for i, s := range d.subs {
			if it := columns[i][j]; it != nil {
				job.results = append(job.results, dryResult{s, it})
			}
		}
	}
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
