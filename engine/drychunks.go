package engine

import (
	"context"
	"iter"
	"runtime"
	"sync"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
	"pipeline/engine/spec"
)

// A chunk is what one worker takes at a time: enough entries to keep the
// hand-over cheap, few enough to keep the output flowing, and few enough bytes
// that large entries do not fill the memory.
const (
	dryChunk = 256
	dryBytes = 1 << 20
)

// dryJob is a chunk of entries on its way through a worker.
type dryJob struct {
	entries []DryEntry
	// columns are the items of each subscription, one for each entry, nil where
	// the entry is of another stream. A comparison has two columns for each.
	columns [][]*batch.Item
	// repeats are the second runs of what differed, laid out like columns.
	repeats [][]*batch.Item
	batches []*batch.Batch
	done    chan struct{}
}

// inOrder cuts entries into jobs, has them done over all cores, and hands each
// finished job on, in the order of the entries, from the calling goroutine.
// worker is called once in each goroutine; do does a job, end is called last.
func inOrder(
	ctx context.Context, in iter.Seq[DryEntry], worker func() (do func(context.Context, *dryJob), end func()), finished func(*dryJob) error,
) error {
	ctx, cancel := context.WithCancel(ctx)
	workers := runtime.GOMAXPROCS(0)
	jobs := make(chan *dryJob)
	order := make(chan *dryJob, 2*workers)
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	for range workers {
		all.Go(func() {
			do, end := worker()
			defer end()
			for job := range jobs {
				do(ctx, job)
				close(job.done)
			}
		})
	}
	all.Go(func() {
		defer close(order)
		defer close(jobs)
		feed(ctx, in, jobs, order)
	})
	for job := range order {
		select {
		case <-job.done:
		case <-ctx.Done():
		}
		if err := ctx.Err(); err != nil {
			return err // handlers may have been called off in the middle of the job
		}
		if err := finished(job); err != nil {
			return err
		}
		for _, b := range job.batches {
			batch.Put(b)
		}
	}
	return ctx.Err()
}

// feed cuts the entries into jobs.
func feed(ctx context.Context, in iter.Seq[DryEntry], jobs, order chan<- *dryJob) {
	var entries []DryEntry
	bytes := 0
	send := func() bool {
		job := &dryJob{entries: entries, done: make(chan struct{})}
		entries, bytes = make([]DryEntry, 0, dryChunk), 0
		for _, to := range []chan<- *dryJob{order, jobs} {
			select {
			case to <- job:
			case <-ctx.Done():
				return false
			}
		}
		return true
	}
	for e := range in {
		entries = append(entries, e)
		bytes += entrySize(e.Fields)
		if (len(entries) == dryChunk || bytes >= dryBytes) && !send() {
			return
		}
	}
	if len(entries) > 0 {
		send()
	}
}

func entrySize(fields []broker.Field) int {
	n := 0
	for i := range fields {
		n += len(fields[i].Name) + len(fields[i].Value)
	}
	return n
}

// column makes the items of a subscription for the entries that take says, in a
// batch of their own. Streams are the same when their keys are: a comparison
// has two versions of each.
func (job *dryJob) column(s *spec.Subscription, take func(entry int) bool) ([]*batch.Item, *batch.Batch) {
	b := batch.Get(len(job.entries))
	job.batches = append(job.batches, b)
	items := make([]*batch.Item, len(job.entries))
	for i := range job.entries {
		e := &job.entries[i]
		if e.Stream.Name == s.Group.Stream.Name && take(i) {
			it := b.Grow()
			it.Delivery.Entry = broker.Entry{ID: e.ID, Fields: e.Fields}
			items[i] = it
		}
	}
	return items, b
}
