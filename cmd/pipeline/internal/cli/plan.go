package cli

import (
	"fmt"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/build"
	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker/redis"
)

func (a *app) planCommand() *cobra.Command {
	var capacity capacityFlags
	cmd := &cobra.Command{
		Use:   "plan PATH",
		Short: "Show what run or apply would create on the server, and what would be refused",
		Long: "plan looks at the server and changes nothing: which streams and groups exist and which would be created, where\n" +
			"groups begin and what that means, groups that no file declares, how the server is configured, and what the login\n" +
			"may do (denied commands appear in the server's ACL LOG). It exits with 4 when run could not run.\n\n" +
			"With --capacity it computes instead how much memory the streams need when nothing is acknowledged for a while at the\n" +
			"peak of the load, and says what retention and max_backlog make of that.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			if capacity.asked {
				return a.capacity(cmd, args[0], capacity)
			}
			for _, name := range []string{"rate", "outage", "entry-bytes"} {
				if cmd.Flags().Changed(name) {
					return usage(cmd, "--%s is about --capacity, which was not given", name)
				}
			}
			return a.plan(cmd, args[0])
		},
	}
	capacity.register(cmd)
	return cmd
}

func (a *app) applyCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "apply PATH",
		Short: "Create the groups of a pipeline, so that its workers need no right to",
		Long: "apply creates the groups that are absent, and their streams, as a step of a deployment. It may be repeated, and by\n" +
			"many at once. A group that exists is left where it is. When run would refuse the server, nothing is created and the\n" +
			"exit code is 4.",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.apply(cmd, args[0]) },
	}
}

// look opens the server and collects the plan. The caller closes the server.
func (a *app) look(cmd *cobra.Command, path string) (*plan.Plan, *redis.Broker, error) {
	p, err := a.loadServed(cmd, path)
	if err != nil {
		return nil, nil, err
	}
	server, err := build.OpenRedis(p.Broker, a.clock, a.warned)
	if err != nil {
		return nil, nil, invalidBroker(err)
	}
	return plan.Collect(cmd.Context(), p, server, a.clock), server, nil
}

func (a *app) plan(cmd *cobra.Command, path string) error {
	found, server, err := a.look(cmd, path)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // nothing was written
	exit := exitDone
	if !found.Runs() {
		exit = exitServer
	}
	a.view.Plan(found, exit)
	return said(exit)
}

func (a *app) apply(cmd *cobra.Command, path string) error {
	found, server, err := a.look(cmd, path)
	if err != nil {
		return err
	}
	defer func() { _ = server.Close() }() // every group was answered
	if !found.Applies() {
		a.view.NotApplied(found, exitServer)
		return said(exitServer)
	}
	done, err := plan.Apply(cmd.Context(), found, server)
	a.view.Applied(done)
	if err != nil {
		return fmt.Errorf("apply: %w", err)
	}
	return nil
}
