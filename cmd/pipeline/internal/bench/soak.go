package bench

import (
	"context"
	"errors"
	"time"

	"github.com/redis/go-redis/v9"

	"pipeline/engine/clock"
)

// What a soak sends: a steady rate of entries through streams of bounded length.
const (
	soakPage   = 100
	soakEvery  = 100 * time.Millisecond
	soakLength = 10_000
	// soakLooks is how often memory is looked at, at most once a second.
	soakLooks = 200
)

// soak watches the memory of each side under a steady load, one after the other.
// Its figures have one round, whatever the flags say.
func (r *Runner) soak(ctx context.Context) error {
	name := "soak of " + r.Soak.String()
	r.Report.Begin("memory", name)
	rounds := map[Side][]Sample{}
	for _, side := range []Side{Product, Reference} {
		s, err := r.soakSide(ctx, side)
		if err != nil {
			return err
		}
		rounds[side] = append(rounds[side], s)
		r.Report.Round("memory", name, 1, side, s)
	}
	found := results("memory", name, []Figure{rssReady, rssAfter, rssSlope}, rounds)
	r.found = append(r.found, found...)
	r.Report.Case("memory", name, found)
	return nil
}

// soakSide soaks one side.
func (r *Runner) soakSide(ctx context.Context, side Side) (Sample, error) {
	job := r.job(side)
	job.Streams, job.Reply = []string{r.key("soak")}, r.key("replies")
	if err := r.createGroups(ctx, &job, []string{"0"}); err != nil {
		return nil, err
	}
	var hours, mebibytes []float64
	m, err := r.run(ctx, &job, func(p *process) error {
		return r.load(ctx, &job, func(after time.Duration) error {
			p.tell(orderSample)
			m, err := p.await(ctx, saidSample)
			if err != nil {
				return err
			}
			hours, mebibytes = append(hours, after.Hours()), append(mebibytes, float64(m.Use.RSS)/(1<<20))
			r.Report.Memory(side, after, m.Use.RSS)
			return nil
		})
	})
	if err != nil {
		return nil, err
	}
	s := Sample{}
	addMemory(s, rssReady, m.ready)
	addMemory(s, rssAfter, m.Use.RSS)
	if half := len(hours) / 2; m.ready > 0 && len(hours)-half > 1 {
		// The heap finds its size in the first half.
		s[rssSlope.Name] = slope(hours[half:], mebibytes[half:])
	}
	return s, errors.Join(r.forget(ctx, &job), failed("remove a stream", r.Server.client.Unlink(ctx, job.Streams...).Err()))
}

// load adds entries for the time of the soak, and calls look now and then.
func (r *Runner) load(ctx context.Context, job *Job, look func(after time.Duration) error) error {
	every := max(time.Second, r.Soak/soakLooks)
	start := r.Clock.Now()
	next := every
	for i := int64(0); ; i += soakPage {
		after := clock.Since(r.Clock, start)
		if after >= r.Soak {
			return look(after)
		}
		if after >= next {
			if err := look(after); err != nil {
				return err
			}
			next += every
		}
		pipe := r.Server.client.Pipeline()
		for k := range int64(soakPage) {
			pipe.XAdd(ctx, &redis.XAddArgs{Stream: job.Streams[0], MaxLen: soakLength, Approx: true, Values: payment(i+k, 0)})
		}
		pipe.XTrimMaxLenApprox(ctx, job.Reply, soakLength, 0)
		pipe.Expire(ctx, job.Streams[0], keyLife)
		if _, err := pipe.Exec(ctx); err != nil {
			return failed("add to "+job.Streams[0], err)
		}
		if err := clock.Sleep(ctx, r.Clock, time.Duration(i/soakPage+1)*soakEvery-clock.Since(r.Clock, start)); err != nil {
			return err
		}
	}
}
