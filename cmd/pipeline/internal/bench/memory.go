package bench

import (
	"context"
	"errors"
	"fmt"
	"strconv"
)

// The figures of memory.
var (
	rssReady    = Figure{"rss_ready_mib", "MiB", Lower, "RSS when warmed up"}
	rssHeld     = Figure{"rss_held_mib", "MiB", Lower, "RSS holding them"}
	heldEntries = Figure{"held_entries", "", Neither, "entries held"}
	rssAfter    = Figure{"rss_mib", "MiB", Lower, "RSS at the end"}
	rssSlope    = Figure{"rss_slope_mib_per_hour", "MiB/h", Neither, "growth of RSS, second half"}
)

// memory measures what a process takes: with entries in its hands, beside a long
// pending list, and over a long time. RSS is left out where the system does not
// tell it.
func memory(ctx context.Context, r *Runner) error {
	held := max(r.Entries/10, 1)
	err := r.series(ctx, "memory", strconv.FormatInt(held, 10)+" entries of 1 KB held", []Figure{rssReady, rssHeld, heldEntries},
		func(ctx context.Context, side Side) (Sample, error) { return r.holding(ctx, side, held) })
	if err != nil {
		return err
	}
	if err := r.besidePending(ctx); err != nil || r.Soak == 0 {
		return err
	}
	return r.soak(ctx)
}

const kilobyte = 1000

// warmHeld is how many times what is to be held is settled before: the product
// holds no more than it has seen its handlers work off quickly, so it has to see
// that first.
const warmHeld = 8

// heldReads is how many reads bring what is held: no more than the product holds
// at once.
const heldReads = 4

// holding is one round that holds entries. Those lie before the ones with which
// the process warms up, and the group is set back to them: were they added while
// the process reads, each side would take them as they come, in many small reads,
// of which neither queues as many as this takes.
func (r *Runner) holding(ctx context.Context, side Side, held int64) (Sample, error) {
	job := r.job(side)
	job.Streams, job.Held, job.Total, job.Warm = []string{r.key("held")}, true, held, warmHeld*held
	job.Batch = int(min((held+heldReads-1)/heldReads, 10_000))
	stream := job.Streams[0]
	last, err := r.Server.fill(ctx, stream, held-1, kilobyte)
	if err != nil {
		return nil, err
	}
	if _, err := r.Server.fill(ctx, stream, job.Warm, 0); err != nil {
		return nil, err
	}
	if err := r.createGroups(ctx, &job, []string{last}); err != nil {
		return nil, err
	}
	m, err := r.run(ctx, &job, func(*process) error { return r.Server.deliverAgain(ctx, stream, job.Group, last) })
	if err != nil {
		return nil, err
	}
	if m.Held != held {
		r.Report.Note(r.scenario, fmt.Sprintf("a round of the %s held %d entries in place of %d: its memory is not that of the case", side, m.Held, held))
	}
	s := Sample{heldEntries.Name: float64(m.Held)}
	addMemory(s, rssReady, m.ready)
	addMemory(s, rssHeld, m.Use.RSS)
	return s, errors.Join(r.forget(ctx, &job), failed("remove a stream", r.Server.client.Unlink(ctx, job.Streams...).Err()))
}

// deliverAgain has a group deliver what its stream holds up to an id, and one more
// entry, of a kilobyte, which wakes who waits for entries. What was behind the id
// is gone then.
func (s *Server) deliverAgain(ctx context.Context, stream, group, last string) error {
	if err := s.cut(ctx, stream, last); err != nil {
		return err
	}
	pipe := s.client.Pipeline()
	pipe.Do(ctx, "XGROUP", "SETID", stream, group, "0")
	pipe.XAdd(ctx, addArgs(stream, 0, kilobyte))
	_, err := pipe.Exec(ctx)
	return failed("set a group back", err)
}

// besidePending is new entries in a group whose pending list is long, and nothing
// in it idle enough to be taken over.
func (r *Runner) besidePending(ctx context.Context) error {
	stream := r.key("pending")
	if _, err := r.Server.fill(ctx, stream, r.Pending, 0); err != nil {
		return err
	}
	figures := append([]Figure{rssReady, rssAfter}, clientCPU, serverCPU)
	err := r.series(ctx, "memory", strconv.FormatInt(r.Pending, 10)+" pending", figures, func(ctx context.Context, side Side) (Sample, error) {
		job := r.job(side)
		job.Streams, job.Total, job.MinIdle = []string{stream}, r.Entries, agedBy
		if err := r.createGroups(ctx, &job, []string{"0"}); err != nil {
			return nil, err
		}
		if err := r.Server.pend(ctx, stream, job.Group, 0); err != nil {
			return nil, err
		}
		end, err := r.Server.client.XInfoStream(ctx, stream).Result()
		if err != nil {
			return nil, failed("look at "+stream, err)
		}
		m, err := r.run(ctx, &job, func(*process) error {
			_, err := r.Server.fill(ctx, stream, r.Entries, 0)
			return err
		})
		if err != nil {
			return nil, err
		}
		s := throughputSample(job.Total, m.Use, m.server)
		addMemory(s, rssReady, m.ready)
		addMemory(s, rssAfter, m.Use.RSS)
		return s, errors.Join(r.forget(ctx, &job), r.Server.cut(ctx, stream, end.LastGeneratedID))
	})
	if err != nil {
		return err
	}
	return failed("remove a stream", r.Server.client.Unlink(ctx, stream).Err())
}

// addMemory adds a figure, unless it is not known.
func addMemory(s Sample, f Figure, bytes int64) {
	if bytes > 0 {
		s[f.Name] = float64(bytes) / (1 << 20)
	}
}

// cut removes what lies behind an id.
func (s *Server) cut(ctx context.Context, stream, last string) error {
	for {
		behind, err := s.client.XRangeN(ctx, stream, "("+last, "+", fillPage).Result()
		if err != nil || len(behind) == 0 {
			return failed("read "+stream, err)
		}
		ids := make([]string, len(behind))
		for i := range behind {
			ids[i] = behind[i].ID
		}
		if err := s.client.XDel(ctx, stream, ids...).Err(); err != nil {
			return failed("shorten "+stream, err)
		}
	}
}
