package testrun

import (
	"context"
	"fmt"

	"pipeline/engine"
	"pipeline/engine/clock"
	"pipeline/engine/harness"
	"pipeline/lang/testspec"
)

// unfit says why a test cannot be run on the server, if that is so: it would
// show nothing, whether it passed or not. Every test can be run in memory.
func (b *bench) unfit(t *testspec.Test) string {
	if b.redis == nil {
		return ""
	}
	server := b.redis.Server
	if t.Expect != nil {
		if t.Server != "" && t.Server != server.Version {
			return fmt.Sprintf("it is about a server of version %s, and this one is %s %s", t.Server, server.Software, server.Version)
		}
		return ""
	}
	for _, s := range t.Pipeline.Subscriptions() {
		if err := engine.Suits(s, server); err != nil {
			return err.Error()
		}
	}
	return ""
}

// server gives a test its server: one in memory, or keys of its own on the real
// one, with a clock that begins at that one's time, by which it makes ids.
func (b *bench) server(ctx context.Context, t *testspec.Test, cfg *harness.Config) (err error) {
	if b.redis == nil {
		cfg.Start, cfg.Version = harness.DefaultStart, t.Server
		return nil
	}
	cfg.Start, err = b.redis.Now(ctx)
	cfg.Open = func(c clock.Clock) (harness.Server, error) { return b.redis.Keyspace(ctx, c) }
	return err
}
