package redis

import (
	"context"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
)

// whereabouts asks a cluster again who has which slot when a server of it could not
// be reached. The library asks by itself only when some server sends it on, and a
// master that is dead sends nobody on: its successor would be found by chance, or
// with the library's own reload, once a minute.
type whereabouts struct {
	client *redis.ClusterClient
	// within bounds the question, so that the command has time left.
	within time.Duration
	// failures counts the commands that no server answered, over whichever client of
	// the broker: each has a view of its own, and what one finds out all have to.
	failures *atomic.Uint64
	// seen is how many there were when this client asked last.
	seen atomic.Uint64
}

// ask asks before the first command after a failure, and not after it: meanwhile the
// cluster may have promoted a replica. Where no server answers, the command shows it.
func (w *whereabouts) ask(ctx context.Context) {
	if failures := w.failures.Load(); w.seen.Swap(failures) == failures {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, w.within)
	defer cancel()
	// It reloads and then visits the masters, for which there is nothing to do.
	_ = w.client.ForEachMaster(ctx, func(context.Context, *redis.Client) error { return nil })
}

// heard notes whether a command was answered, by an error or not.
func (w *whereabouts) heard(err error) {
	if err != nil && !serverSaid(err) {
		w.failures.Add(1)
	}
}

// DialHook implements redis.Hook.
func (*whereabouts) DialHook(next redis.DialHook) redis.DialHook { return next }

// ProcessHook implements redis.Hook.
func (w *whereabouts) ProcessHook(next redis.ProcessHook) redis.ProcessHook {
	return func(ctx context.Context, cmd redis.Cmder) error {
		w.ask(ctx)
		err := next(ctx, cmd)
		w.heard(err)
		return err
	}
}

// ProcessPipelineHook implements redis.Hook.
func (w *whereabouts) ProcessPipelineHook(next redis.ProcessPipelineHook) redis.ProcessPipelineHook {
	return func(ctx context.Context, cmds []redis.Cmder) error {
		w.ask(ctx)
		err := next(ctx, cmds)
		for _, cmd := range cmds {
			w.heard(cmd.Err())
		}
		return err
	}
}
