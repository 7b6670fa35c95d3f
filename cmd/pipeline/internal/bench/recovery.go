package bench

import (
	"context"
	"errors"
	"strconv"
	"time"
)

// recovery measures how what a dead consumer held is taken over, from the start
// of a process on: first all of it, then the same number of a much longer list.
func recovery(ctx context.Context, r *Runner) error {
	if err := r.recovering(ctx, r.Entries); err != nil {
		return err
	}
	return r.recovering(ctx, r.Pending)
}

// agedBy is how long pending entries have been idle.
const agedBy = time.Hour

// recovering measures with that many pending entries.
func (r *Runner) recovering(ctx context.Context, pending int64) error {
	stream := r.key("entries")
	if _, err := r.Server.fill(ctx, stream, pending, 0); err != nil {
		return err
	}
	worst, name := map[Side]time.Duration{}, map[Side]string{}
	var log slowlog
	products := 0
	figures := append([]Figure{seconds, slowest}, throughput...)
	err := r.series(ctx, "recovery", strconv.FormatInt(pending, 10)+" pending", figures, func(ctx context.Context, side Side) (Sample, error) {
		job := r.job(side)
		job.Streams, job.Cold, job.Total = []string{stream}, true, r.Entries
		if pending == r.Entries {
			r.profile(&job, side, &products)
		}
		if err := r.createGroups(ctx, &job, []string{"0"}); err != nil {
			return nil, err
		}
		if err := r.Server.pend(ctx, stream, job.Group, agedBy); err != nil {
			return nil, err
		}
		log = r.Server.slowlog(ctx)
		m, err := r.run(ctx, &job, func(*process) error { return nil })
		if err != nil {
			return nil, err
		}
		s := throughputSample(job.Total, m.Use, m.server)
		s[seconds.Name] = m.Use.Elapsed.Seconds()
		if log.from >= 0 {
			most, command, err := r.Server.slowest(ctx, log)
			if err != nil {
				return nil, err
			}
			if s[slowest.Name] = micros(most) / 1000; most >= worst[side] {
				worst[side], name[side] = most, command
			}
		}
		if pending == r.Entries { // else the rest is still pending
			err = r.settled(ctx, &job, 0)
		}
		return s, errors.Join(err, r.forget(ctx, &job))
	})
	if err != nil {
		return err
	}
	for _, side := range []Side{Product, Reference} {
		if log.from >= 0 {
			r.Report.Note("recovery", log.words(side, worst[side], name[side]))
		}
	}
	return failed("remove a stream", r.Server.client.Unlink(ctx, stream).Err())
}
