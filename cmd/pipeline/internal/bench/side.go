package bench

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/redis/go-redis/v9"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/engine"
	"pipeline/engine/broker"
	"pipeline/engine/clock"
	"pipeline/engine/spec"
	"pipeline/sandbox"
	"pipeline/tests/bench/reference"
)

// side is a consumer of a job that has not begun.
type side struct {
	// run consumes until ctx is canceled. ready is called when it is about to read.
	run func(ctx context.Context, ready func()) error
	// held is how many entries it has in its hands.
	held  func() int64
	close func() error
}

// newSide prepares a job: all that needs no server.
func newSide(j *Job, t *tally, g *gate) (*side, error) {
	if j.Side == Reference {
		return newReference(j, t, g)
	}
	return newProduct(j, t, g)
}

func newReference(j *Job, t *tally, g *gate) (*side, error) {
	client, err := reference.Connect(j.URL, j.Workers)
	if err != nil {
		return nil, errors.New("the address of the server is not valid") // the library's words hold it
	}
	c := &reference.Consumer{
		Client: client, Streams: j.Streams, Group: j.Group, Consumer: fmt.Sprintf("reference-%d", os.Getpid()), Reply: j.Reply,
		Workers: j.Workers, Count: int64(j.Batch), MinIdle: j.MinIdle, Settled: t.add,
	}
	held := func() int64 { return 0 }
	if j.Held {
		c.Gate = g.pass
		c.Queue = int(j.Total)/j.Batch + 1
		held = func() int64 { return referenceHolds(client, j) }
	}
	return &side{
		run: func(ctx context.Context, ready func()) error {
			c.Ready = ready
			// It would wait for its blocked read, which no context ends.
			defer context.AfterFunc(ctx, func() { _ = client.Close() })()
			if err := c.Run(ctx); ctx.Err() == nil {
				return err
			}
			return nil // what fails after that is the closed connection
		},
		held: held, close: func() error { return nil },
	}, nil
}

// referenceHolds asks the server: what was delivered and not acknowledged is in
// the process, but for what is on its way.
func referenceHolds(client *redis.Client, j *Job) int64 {
	var n int64
	for _, stream := range j.Streams {
		if p, err := client.XPending(context.Background(), stream, j.Group).Result(); err == nil {
			n += p.Count
		}
	}
	return n
}

func newProduct(j *Job, t *tally, g *gate) (*side, error) {
	path, err := j.writeFile()
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(filepath.Dir(path)) }() // the parent removes what is left
	p, report := build.Load(path, build.Vars{Values: map[string]string{"url": j.URL}, Env: func(string) (string, bool) { return "", false }})
	if report.HasErrors() {
		return nil, fmt.Errorf("the pipeline is not valid: %s", report.All()[0].Summary)
	}
	handlers, err := build.Compile(p, build.LogHost(discard))
	if err != nil {
		return nil, err
	}
	server, err := build.OpenRedis(p.Broker, clock.Real(), nil)
	if err != nil {
		return nil, err
	}
	return productSide(j, t, g, p, server, handlers)
}

func productSide(
	j *Job, t *tally, g *gate, p *spec.Pipeline, server broker.Broker, handlers *build.Handlers,
) (*side, error) {
	code := handlers.ByLabel()
	if j.Handler == Native {
		code = map[string]sandbox.Handler{"screen": native{replies: j.Reply != ""}}
	}
	if j.Held {
		code = map[string]sandbox.Handler{"screen": gated{code["screen"], g}}
	}
	eng, err := engine.New(engine.Config{Pipeline: p, Broker: server, Handlers: code, Observer: t})
	if err != nil {
		return nil, err
	}
	return &side{
		run: func(ctx context.Context, ready func()) error {
			go func() {
				select {
				case <-eng.Ready():
					ready()
				case <-ctx.Done():
				}
			}()
			return eng.Run(ctx)
		},
		held: func() int64 {
			var n int64
			for _, s := range eng.Snapshot().Subscriptions {
				n += int64(s.Held)
			}
			return n
		},
		close: func() error { return errors.Join(server.Close(), handlers.Close()) },
	}, nil
}
