package consumers

import (
	"context"
	"errors"
	"time"

	"pipeline/engine/broker"
	"pipeline/engine/broker/redis"
)

// Result is what became of a selection.
type Result struct {
	// Total is how many consumers it names. Removed ones are gone by this run, Gone
	// ones were before, Kept ones stay.
	Total, Removed, Gone, Kept int
}

// Left is how many consumers were not looked at.
func (r *Result) Left() int { return r.Total - r.Removed - r.Gone - r.Kept }

// Prune removes the consumers of a selection, in steps of a hundred, each of which the
// server does in one: it removes only what holds nothing, has no process, and has been
// idle, whatever was seen before. each is told of every consumer that is not removed
// and why. A canceled context ends it between two steps; it may be done again.
func Prune(ctx context.Context, s Server, sel *Selection, each func(Chosen, string)) (Result, error) {
	r := Result{Total: len(sel.Chosen)}
	idle := time.Duration(sel.Idle) * time.Millisecond
	for rest := sel.Chosen; len(rest) > 0; {
		step := nextStep(rest)
		rest = rest[len(step):]
		if err := ctx.Err(); err != nil {
			return r, err
		}
		names := make([]string, len(step))
		for i := range step {
			names[i] = step[i].Consumer
		}
		done, err := s.PruneConsumers(ctx, step[0].Stream, step[0].Group, names, idle)
		if errors.Is(err, broker.ErrNoGroup) {
			done, err = make([]redis.Prune, len(step)), nil
			for i := range done {
				done[i].Status = redis.PruneAbsent // they went with their group
			}
		}
		if err != nil {
			return r, err
		}
		for i, d := range done {
			switch d.Status {
			case redis.Pruned:
				r.Removed++
				continue
			case redis.PruneAbsent:
				r.Gone++
			default:
				r.Kept++
			}
			each(step[i], why(d.Status))
		}
	}
	return r, nil
}

// nextStep is the first consumers of one group, as many as one step takes.
func nextStep(rest []Chosen) []Chosen {
	n := 1
	for n < len(rest) && n < redis.MaxPrune && rest[n].Stream == rest[0].Stream && rest[n].Group == rest[0].Group {
		n++
	}
	return rest[:n]
}
