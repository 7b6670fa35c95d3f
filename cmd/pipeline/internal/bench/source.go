package bench

import (
	"context"
	"fmt"
	"strconv"
)

// source is some streams that rounds read again and again, each through groups
// of its own.
type source struct {
	r       *Runner
	streams []string
	// back is the id to which a round sets the group of each stream back, and
	// behind how many entries of all streams lie behind it; every round adds one to
	// each stream.
	back   []string
	behind int64
	// tail is the id behind which the entries lie that a process warms up with, and
	// warm how many they are.
	tail []string
	warm int64
}

// warmUp is how many entries a process settles before it is measured: enough to
// open its connections and grow its heap.
const warmUp = 5000

// source fills a stream with n entries, all of which rounds read.
func (r *Runner) source(ctx context.Context, n int64) (*source, error) {
	s := &source{r: r}
	return s, s.grow(ctx, 0, n)
}

// grow adds a stream with n entries that rounds read behind others that they do
// not.
func (s *source) grow(ctx context.Context, before, n int64) error {
	stream := s.r.key("entries" + strconv.Itoa(len(s.streams)))
	warm := min(n, warmUp)
	back, err := s.r.Server.fill(ctx, stream, before, 0)
	if err != nil {
		return err
	}
	tail, err := s.r.Server.fill(ctx, stream, n-warm, 0)
	if err != nil {
		return err
	}
	if n == warm {
		tail = back
	}
	_, err = s.r.Server.fill(ctx, stream, warm, 0)
	s.streams, s.back, s.tail = append(s.streams, stream), append(s.back, back), append(s.tail, tail)
	s.behind, s.warm = s.behind+n, s.warm+warm
	return err
}

// drain has a job settle all that lies behind. The consumer is warmed up and
// waits for an entry at the end of each stream when the groups are set back and
// one entry more is added, which wakes it.
func (s *source) drain(ctx context.Context, job Job) (Sample, error) {
	job.Streams = s.streams
	if err := s.r.createGroups(ctx, &job, s.tail); err != nil {
		return nil, err
	}
	job.Warm, job.Total = s.warm, s.behind+int64(len(s.streams))
	m, err := s.r.run(ctx, &job, func(*process) error { return s.wake(ctx, job.Group) })
	if err != nil {
		return nil, err
	}
	if err := s.r.settled(ctx, &job, job.Warm+job.Total); err != nil {
		return nil, err
	}
	return throughputSample(job.Total, m.Use, m.server), s.r.forget(ctx, &job)
}

// wake sets the groups back and adds an entry to each stream.
func (s *source) wake(ctx context.Context, group string) error {
	pipe := s.r.Server.client.Pipeline()
	for i, stream := range s.streams {
		pipe.Do(ctx, "XGROUP", "SETID", stream, group, s.back[i])
		pipe.XAdd(ctx, addArgs(stream, 0, 0))
	}
	s.behind, s.warm = s.behind+int64(len(s.streams)), s.warm+int64(len(s.streams))
	_, err := pipe.Exec(ctx)
	return failed("set the groups back", err)
}

// clear removes the streams.
func (s *source) clear(ctx context.Context) error {
	return failed("remove a stream", s.r.Server.client.Unlink(ctx, s.streams...).Err())
}

// createGroups creates the group of a job on each of its streams, at an id for
// each.
func (r *Runner) createGroups(ctx context.Context, job *Job, at []string) error {
	pipe := r.Server.client.Pipeline()
	for i, stream := range job.Streams {
		pipe.XGroupCreateMkStream(ctx, stream, job.Group, at[i])
		pipe.Expire(ctx, stream, keyLife)
	}
	_, err := pipe.Exec(ctx)
	return failed("create a group", err)
}

// settled checks that a side has done what it was measured for: nothing is
// pending, and there is a reply to each of n entries.
func (r *Runner) settled(ctx context.Context, job *Job, n int64) error {
	for _, stream := range job.Streams {
		p, err := r.Server.client.XPending(ctx, stream, job.Group).Result()
		if err != nil {
			return failed("look at what is pending", err)
		}
		if p.Count != 0 {
			return fmt.Errorf("the %s left %d entries pending", job.Side, p.Count)
		}
	}
	if job.Reply == "" {
		return nil
	}
	length, err := r.Server.client.XLen(ctx, job.Reply).Result()
	if err != nil {
		return failed("count the replies", err)
	}
	if length != n {
		return fmt.Errorf("the %s published %d replies to %d entries", job.Side, length, n)
	}
	return nil
}

// forget removes what a round has left: its groups and its replies.
func (r *Runner) forget(ctx context.Context, job *Job) error {
	pipe := r.Server.client.Pipeline()
	for _, stream := range job.Streams {
		pipe.XGroupDestroy(ctx, stream, job.Group)
	}
	if job.Reply != "" {
		pipe.Unlink(ctx, job.Reply)
	}
	_, err := pipe.Exec(ctx)
	return failed("remove a group", err)
}
