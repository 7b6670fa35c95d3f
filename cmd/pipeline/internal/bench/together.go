package bench

import (
	"context"
	"strconv"

	"pipeline/engine/clock"
)

// together has several processes settle what lies behind, all in one group. What
// they used is added up; the time is from the first go until the group is done,
// which the server is asked for again and again.
func (r *Runner) together(ctx context.Context, s *source, side Side, n int) (Sample, error) {
	job := r.job(side)
	job.Streams, job.Reply = s.streams, r.key("replies")
	if err := r.createGroups(ctx, &job, s.tail); err != nil {
		return nil, err
	}
	all := make([]*process, 0, n)
	defer func() {
		for _, p := range all {
			_ = p.close() // it has ended, or the round has failed for another reason
		}
	}()
	for range n {
		p, err := startProcess(r.Clock, &job)
		if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
	if err := awaitAll(ctx, all, "", saidReady, nil); err != nil {
		return nil, err
	}
	warm, err := r.untilDone(ctx, &job, s.warm)
	if err != nil {
		return nil, err
	}
	before, err := r.Server.serverCPU(ctx)
	if err != nil {
		return nil, err
	}
	start := r.Clock.Now()
	if err := awaitAll(ctx, all, orderGo, saidGoing, nil); err != nil {
		return nil, err
	}
	total := s.behind + 1
	if err := s.wake(ctx, job.Group); err != nil {
		return nil, err
	}
	if _, err := r.untilDone(ctx, &job, warm+total); err != nil {
		return nil, err
	}
	use := Use{Elapsed: clock.Since(r.Clock, start)}
	after, err := r.Server.serverCPU(ctx)
	if err != nil {
		return nil, err
	}
	err = awaitAll(ctx, all, orderStop, saidDone, func(m Message) {
		use.CPU, use.Bytes = use.CPU+m.Use.CPU, use.Bytes+m.Use.Bytes
		r.disturbed(m)
	})
	if err != nil {
		return nil, err
	}
	for _, p := range all {
		if err := p.finish(ctx); err != nil {
			return nil, err
		}
	}
	if err := r.settled(ctx, &job, warm+total); err != nil {
		return nil, err
	}
	return throughputSample(total, use, after-before), r.forget(ctx, &job)
}

// awaitAll gives an order to all processes, unless it is empty, and waits until
// each has said what.
func awaitAll(ctx context.Context, all []*process, order string, what Said, each func(Message)) error {
	for _, p := range all {
		if order != "" {
			p.tell(order)
		}
	}
	for _, p := range all {
		m, err := p.await(ctx, what)
		if err != nil {
			return err
		}
		if each != nil {
			each(m)
		}
	}
	return nil
}

// untilDone waits until n replies are published and nothing is pending, and
// returns n.
func (r *Runner) untilDone(ctx context.Context, job *Job, n int64) (int64, error) {
	moved, last := r.Clock.Now(), int64(-1)
	for {
		length, err := r.Server.client.XLen(ctx, job.Reply).Result()
		if err != nil {
			return n, failed("count the replies", err)
		}
		if length >= n {
			return n, nil
		}
		if length != last {
			moved, last = r.Clock.Now(), length
		}
		if clock.Since(r.Clock, moved) > stuck {
			return n, &stalledError{job.Side, length, n}
		}
		if err := clock.Sleep(ctx, r.Clock, lookDone); err != nil {
			return n, err
		}
	}
}

// stalledError is a side that has stopped before it was done.
type stalledError struct {
	side    Side
	done, n int64
}

// Error says how far it came.
func (e *stalledError) Error() string {
	return string(e.side) + " has settled " + strconv.FormatInt(e.done, 10) + " of " + strconv.FormatInt(e.n, 10) + " entries, and then none for " + stuck.String()
}
