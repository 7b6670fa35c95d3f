package hold

import (
	"context"

	"pipeline/engine/broker"
	"pipeline/engine/internal/batch"
)

// Worker runs one item: see lane.Runner.
type Worker interface {
	Run(ctx context.Context, it *batch.Item) (finished bool)
	Close()
}

// Runner runs the entries whose keys are open and holds the others. Like the
// Worker in it, it belongs to one lane.
type Runner struct {
	Worker

	Keys *Keys
}

// Run runs the item, if it is its turn. An entry without a key has no order to
// keep, and a copy that another group made is not run at all: neither waits for
// others, nor others for them.
func (r *Runner) Run(ctx context.Context, it *batch.Item) (finished bool) {
	if it.Key == "" || it.Foreign {
		return r.Worker.Run(ctx, it)
	}
	if !r.Keys.Admits(it) {
		it.Action = behind(it)
		it.Outcome.Result = ""
		return true
	}
	finished = r.Worker.Run(ctx, it)
	if finished {
		r.Keys.Ran(it)
	}
	return finished
}

// behind puts an item back that was not run: its delivery does not count.
func behind(it *batch.Item) batch.Action {
	return batch.Action{Verb: batch.Behind, Wait: &broker.Wait{ID: it.Delivery.ID, Uncount: true}}
}
