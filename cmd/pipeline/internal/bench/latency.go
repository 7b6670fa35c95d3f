package bench

import (
	"context"
	"errors"
	"slices"
	"strconv"
	"time"
)

// The figures of latency.
var (
	p50       = Figure{"p50_us", "µs", Lower, "p50, intended sending to reply"}
	p99       = Figure{"p99_us", "µs", Lower, "p99"}
	p999      = Figure{"p99_9_us", "µs", Lower, "p99.9"}
	sentLate  = Figure{"sent_late_p99_us", "µs", Neither, "sent later than intended, p99"}
	firstIdle = Figure{"first_after_idle_us", "µs", Lower, "the first entry"}
	nextIdle  = Figure{"next_after_idle_us", "µs", Lower, "the entries after it, p50"}
)

// rates are entries a second; each goes on for at most rateTime.
var rates = []int64{1000, 10_000}

const rateTime = 10 * time.Second

// latency measures the way of an entry from its intended sending to the arrival
// of its reply, at steady rates and after idleness.
func latency(ctx context.Context, r *Runner) error {
	for _, rate := range rates {
		figures := []Figure{p50, p99, p999, sentLate, clientCPU, serverCPU}
		err := r.series(ctx, "latency", strconv.FormatInt(rate, 10)+" entries/s", figures, func(ctx context.Context, side Side) (Sample, error) {
			return r.atRate(ctx, side, rate)
		})
		if err != nil {
			return err
		}
	}
	return r.series(ctx, "latency", "after "+r.Idle.String()+" of idleness", []Figure{firstIdle, nextIdle}, r.afterIdle)
}

// atRate is one round at a rate. The first tenth is warming up: it is sent and not
// counted.
func (r *Runner) atRate(ctx context.Context, side Side, rate int64) (Sample, error) {
	n := min(r.Entries, rate*int64(rateTime/time.Second))
	loop := &openLoop{plan: make([]time.Duration, n)}
	for i := range loop.plan {
		loop.plan[i] = time.Duration(i) * time.Second / time.Duration(rate)
	}
	m, err := r.looped(ctx, side, loop)
	if err != nil {
		return nil, err
	}
	warm := n / 10
	took, late := slices.Sorted(slices.Values(loop.took[warm:])), slices.Sorted(slices.Values(loop.late[warm:]))
	s := throughputSample(n, m.Use, m.server)
	s[p50.Name], s[p99.Name], s[p999.Name] = micros(percentile(took, .5)), micros(percentile(took, .99)), micros(percentile(took, .999))
	s[sentLate.Name] = micros(percentile(late, .99))
	return s, nil
}

// The entries around idleness: enough before to warm up, and after it at a pace
// that leaves nobody idle.
const (
	beforeIdle = 100
	afterIdle  = 100
	idlePace   = 10 * time.Millisecond
)

// afterIdle is one round of entries before and after idleness.
func (r *Runner) afterIdle(ctx context.Context, side Side) (Sample, error) {
	loop := &openLoop{plan: make([]time.Duration, beforeIdle+afterIdle)}
	for i := range loop.plan {
		if loop.plan[i] = time.Duration(i) * idlePace; i >= beforeIdle {
			loop.plan[i] += r.Idle
		}
	}
	if _, err := r.looped(ctx, side, loop); err != nil {
		return nil, err
	}
	next := slices.Sorted(slices.Values(loop.took[beforeIdle+1:]))
	return Sample{firstIdle.Name: micros(loop.took[beforeIdle]), nextIdle.Name: micros(percentile(next, .5))}, nil
}

// looped runs a loop through a process of one side.
func (r *Runner) looped(ctx context.Context, side Side, loop *openLoop) (measured, error) {
	job := r.job(side)
	job.Streams, job.Reply = []string{r.key("paced")}, r.key("replies")
	if err := r.createGroups(ctx, &job, []string{"0"}); err != nil {
		return measured{}, err
	}
	loop.clock, loop.client, loop.in, loop.replies = r.Clock, r.Server.client, job.Streams[0], job.Reply
	m, err := r.run(ctx, &job, func(*process) error { return loop.run(ctx) })
	if err == nil {
		err = r.settled(ctx, &job, int64(len(loop.plan)))
	}
	if err != nil {
		return m, err
	}
	return m, errors.Join(r.forget(ctx, &job), failed("remove a stream", r.Server.client.Unlink(ctx, job.Streams...).Err()))
}
