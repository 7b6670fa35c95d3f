package bench

import (
	"context"
	"fmt"
	"time"

	"pipeline/engine/clock"
)

// The figures of idleness.
var (
	idleCPU    = Figure{"idle_cpu_ms_per_second", "ms/s", Lower, "CPU while idle, of the process"}
	idleServer = Figure{"idle_server_cpu_ms_per_second", "ms/s", Lower, "CPU while idle, of the server"}
)

// sizes are how large things grow, without --full and with it.
type sizes struct {
	// lengths are those of the stream, as parts of --entries in hundredths.
	lengths                     []int64
	streams, workers, processes []int
}

func (s *Settings) sizes() sizes {
	if s.Full {
		return sizes{
			[]int64{10, 100, 1000, 10_000}, []int{1, 10, 100, 1000}, []int{1, 2, 4, 8, 16, 32, 64}, []int{1, 2, 4, 8, 16},
		}
	}
	return sizes{[]int64{10, 100}, []int{1, 10}, []int{1, 8}, []int{1, 2}}
}

// growth measures what an entry costs while one thing after the other grows, and
// what many streams cost when nothing happens.
func growth(ctx context.Context, r *Runner) error {
	z := r.sizes()
	for _, hundredths := range z.lengths {
		if err := r.length(ctx, r.Entries*hundredths/100); err != nil {
			return err
		}
	}
	for _, n := range z.streams {
		if err := r.manyStreams(ctx, n); err != nil {
			return err
		}
	}
	for _, n := range z.workers {
		if err := r.manyWorkers(ctx, n); err != nil {
			return err
		}
	}
	for _, n := range z.processes {
		if err := r.manyProcesses(ctx, n); err != nil {
			return err
		}
	}
	return nil
}

// grown is one case of growth over a source that is removed after it.
func (r *Runner) grown(ctx context.Context, s *source, name string, change func(*Job)) error {
	err := r.series(ctx, "growth", name, throughput, func(ctx context.Context, side Side) (Sample, error) {
		job := r.job(side)
		job.Reply = r.key("replies")
		change(&job)
		return s.drain(ctx, job)
	})
	if err != nil {
		return err
	}
	return s.clear(ctx)
}

// length measures the end of a stream of n entries: as many as the shortest
// stream has.
func (r *Runner) length(ctx context.Context, n int64) error {
	s, read := &source{r: r}, r.Entries/10
	if err := s.grow(ctx, n-read, read); err != nil {
		return err
	}
	return r.grown(ctx, s, fmt.Sprintf("stream of %d", n), func(*Job) {})
}

// manyStreams spreads the entries over n streams, each with a subscription of one
// worker, and then lets nothing happen.
func (r *Runner) manyStreams(ctx context.Context, n int) error {
	s := &source{r: r}
	for range n {
		if err := s.grow(ctx, 0, max(r.Entries/int64(n), 1)); err != nil {
			return err
		}
	}
	one := func(j *Job) {
		if j.Side == Product {
			j.Workers = 1 // of each stream; those of the reference are for all
		}
	}
	streams := s.streams
	if err := r.grown(ctx, s, fmt.Sprintf("streams: %d", n), one); err != nil {
		return err
	}
	return r.series(ctx, "growth", fmt.Sprintf("streams: %d, idle", n), []Figure{idleCPU, idleServer},
		func(ctx context.Context, side Side) (Sample, error) {
			job := r.job(side)
			one(&job)
			job.Streams = streams
			return r.idling(ctx, job)
		})
}

// idling measures a process that has nothing to do.
func (r *Runner) idling(ctx context.Context, job Job) (Sample, error) {
	at := make([]string, len(job.Streams))
	for i := range at {
		at[i] = "$"
	}
	if err := r.createGroups(ctx, &job, at); err != nil {
		return nil, err
	}
	m, err := r.run(ctx, &job, func(*process) error { return clock.Sleep(ctx, r.Clock, r.Idle) })
	if err != nil {
		return nil, err
	}
	s := Sample{}
	if idle := m.Use.Elapsed.Seconds(); idle > 0 {
		s[idleCPU.Name], s[idleServer.Name] = micros(m.Use.CPU)/1000/idle, micros(m.server)/1000/idle
	}
	return s, failed("remove the streams", r.Server.client.Unlink(ctx, job.Streams...).Err())
}

// manyWorkers measures with n workers.
func (r *Runner) manyWorkers(ctx context.Context, n int) error {
	s, err := r.source(ctx, r.Entries)
	if err != nil {
		return err
	}
	return r.grown(ctx, s, fmt.Sprintf("workers: %d", n), func(j *Job) { j.Workers = n })
}

// manyProcesses measures n processes on one group.
func (r *Runner) manyProcesses(ctx context.Context, n int) error {
	s, err := r.source(ctx, r.Entries)
	if err != nil {
		return err
	}
	err = r.series(ctx, "growth", fmt.Sprintf("processes: %d", n), throughput, func(ctx context.Context, side Side) (Sample, error) {
		return r.together(ctx, s, side, n)
	})
	if err != nil {
		return err
	}
	return s.clear(ctx)
}

// lookDone is the time between two looks at whether a group is done. It bounds
// how exactly the end of a round of several processes is known.
const lookDone = 5 * time.Millisecond
