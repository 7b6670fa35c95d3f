package cli

import (
	"context"
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/consumers"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker/redis"
	"pipeline/engine/spec"
)

func (a *app) consumersCommand() *cobra.Command {
	cmd := &cobra.Command{
		Use:   "consumers",
		Short: "Look at the consumers of the groups, and remove those that nobody is behind",
		Long: "consumers works with the names that read in the groups of a pipeline, of living and of dead processes. list only\n" +
			"reads. prune shows what it would remove, freezes it to a file, and acts only with --yes.",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	cmd.AddCommand(a.consumersListCommand(), a.consumersPruneCommand())
	return cmd
}

func (a *app) consumersListCommand() *cobra.Command {
	var group string
	var stale bool
	list := &cobra.Command{
		Use:   "list PATH",
		Short: "List the consumers: what they hold, when they read last, and whether a process lives behind them",
		Long: "list shows every consumer of every group of the pipeline. It is alive while its process holds the lease of its name;\n" +
			"stale when nobody does and it has not read or claimed for ten minutes. A consumer of another program has no lease: it\n" +
			"reads, or is stale by that time alone. The oldest is the age of the first entry that it holds. It changes nothing.",
		Example: "  pipeline consumers list examples/payments.hcl\n" +
			"  pipeline consumers list examples/payments.hcl --stale --json | jq -r 'select(.event == \"consumer\") | .consumer'",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.consumersList(cmd, args[0], group, stale) },
	}
	list.Flags().StringVar(&group, "group", "", "only the group `NAME`")
	list.Flags().BoolVar(&stale, "stale", false, "only consumers that nobody is behind any more")
	return list
}

func (a *app) consumersList(cmd *cobra.Command, path, group string, stale bool) error {
	_, groups, server, err := a.openConsumers(cmd, path, group)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	ctx, stop := a.until(cmd)
	defer stop()
	out := a.view.ConsumerList(plan.StaleAfter)
	defer out.End()
	for _, g := range groups {
		list, exists, err := consumers.Look(ctx, server, g)
		if err != nil {
			return consumersError(ctx, "consumers list", err)
		}
		for i := range list {
			if !stale || list[i].Stale(plan.StaleAfter) {
				out.Row(&list[i])
			}
		}
		out.Group(g, exists, list)
	}
	return nil
}

// openConsumers loads the pipeline and opens its server.
func (a *app) openConsumers(cmd *cobra.Command, path, group string) (*spec.Pipeline, []*spec.Group, *redis.Broker, error) {
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return nil, nil, nil, err
	}
	groups, err := pickGroups(cmd, p, group)
	if err != nil {
		return nil, nil, nil, err
	}
	server, err := build.OpenRedis(p.Broker, a.clock, a.warned)
	if err != nil {
		return nil, nil, nil, invalidBroker(err)
	}
	return p, groups, server, nil
}

// consumersError is an error that ended a command about consumers.
func consumersError(ctx context.Context, command string, err error) error {
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		return fail(exitLeft, "interrupted", command+": stopped by a signal before all groups were looked at; nothing was changed")
	}
	return fmt.Errorf("%s: %w", command, err)
}
