package cli

import (
	"context"
	"fmt"
	"math/rand/v2"
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/findings"
	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/broker/readonly"
	"pipeline/engine/clock"
	"pipeline/engine/poll"
	"pipeline/engine/spec"
	"pipeline/lang/diag"
)

// statsFlags are the flags of stats.
type statsFlags struct {
	over  time.Duration
	watch bool
}

func (a *app) statsCommand() *cobra.Command {
	var flags statsFlags
	cmd := &cobra.Command{
		Use:   "stats PATH",
		Short: "Show how far the groups are behind, how fast they are, and what is wrong",
		Long: "stats looks at the server twice and shows for every group of the pipeline what was added and read a second, its\n" +
			"lag, what is pending, the age of the oldest entry of each, and its consumers; then the dead letters, and what is\n" +
			"wrong, with what to do about it. It asks only what is cheap however much is pending, and changes nothing.\n" +
			"`pipeline export acl` prints the rule of a login that suffices.",
		Example: "  pipeline stats examples/payments.hcl\n" +
			"  pipeline stats examples/payments.hcl --watch\n" +
			"  pipeline stats examples/payments.hcl --over 0s --json | jq 'select(.event == \"group\") | .lag'",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.stats(cmd, args[0], flags) },
	}
	cmd.Flags().DurationVar(&flags.over, "over", time.Second, "measure rates over this `TIME`; 0s looks once and shows none")
	cmd.Flags().BoolVar(&flags.watch, "watch", false, "show it anew every few seconds, until a signal")
	return cmd
}

func (a *app) stats(cmd *cobra.Command, path string, flags statsFlags) error {
	if flags.over < 0 {
		return usage(cmd, "--over is %v; it is 0s or longer", flags.over)
	}
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return err
	}
	server, err := a.openServer(p)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	poller := poll.New(p, readonly.New(server), a.clock, rand.Float64)
	before, pause := poller.Once(ctx), flags.over
	if flags.watch {
		a.view.Live()
	}
	for {
		now := before
		if (before.Err == nil || flags.watch) && pause > 0 {
			if clock.Sleep(ctx, a.clock, pause) == nil {
				now = poller.Once(ctx)
			}
		}
		switch {
		case ctx.Err() != nil:
			return statsStopped(ctx, flags)
		case now.Err != nil && (!flags.watch || now.Answered.IsZero()):
			return fmt.Errorf("stats: %w", now.Err)
		case now.Err != nil:
			a.view.Diagnostic(diag.Diagnostic{
				Severity: diag.Warning, Code: codeServerAway, Summary: "the server is away, and is asked again: " + now.Err.Error(),
			})
		default:
			a.view.Stats(now, ratesOf(p, before, now), findings.Of(now, a.about(path)))
		}
		if !flags.watch {
			return nil
		}
		before, pause = now, poll.Every
	}
}

// statsStopped is how a signal ends stats: with --watch that is its end.
func statsStopped(_ context.Context, flags statsFlags) error {
	if flags.watch {
		return nil
	}
	return fail(exitLeft, "interrupted", "stats: stopped by a signal before the rates were measured; --over 0s measures none")
}

// ratesOf are the rates between two looks, by the server's clock.
func ratesOf(p *spec.Pipeline, before, now *poll.Snapshot) view.Rates {
	r := view.Rates{Over: now.Server.Sub(before.Server), Added: map[string]float64{}, Read: map[*spec.Group]float64{}}
	seconds := r.Over.Seconds()
	if seconds <= 0 {
		return r
	}
	for i := range now.Streams {
		a, b := &before.Streams[i], &now.Streams[i]
		if a.Known && b.Known && a.Added >= 0 && b.Added >= a.Added {
			r.Added[b.Spec.Name] = float64(b.Added-a.Added) / seconds
		}
	}
	for _, g := range p.Groups {
		a, b := before.Group(g), now.Group(g)
		if a != nil && b != nil && a.Known && b.Known && a.Read >= 0 && b.Read >= a.Read {
			r.Read[g] = float64(b.Read-a.Read) / seconds
		}
	}
	return r
}
