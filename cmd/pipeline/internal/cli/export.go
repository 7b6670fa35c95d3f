package cli

import (
	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/plan"
	"pipeline/engine/broker"
)

func (a *app) exportCommand() *cobra.Command {
	export := &cobra.Command{
		Use:   "export",
		Short: "Write what other systems need to know of a pipeline: access rules, alerts, a dashboard",
		Long:  "export writes what the systems around a pipeline are configured with, made from its file. It needs no server.",
		Example: "  pipeline export acl examples/payments.hcl\n" +
			"  pipeline export alerts examples/payments.hcl > rules/payments.yml",
		Args: unknownCommand,
		RunE: func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	export.AddCommand(a.exportACLCommand(), a.exportAlertsCommand(), a.exportDashboardCommand())
	return export
}

func (a *app) exportACLCommand() *cobra.Command {
	var older bool
	cmd := &cobra.Command{
		Use:   "acl PATH",
		Short: "Print the access rules of a worker's login, and of one that only looks",
		Long: "acl prints the commands that make two users on the server: a worker, which may do just what run does with the\n" +
			"streams of the file once its groups exist (`pipeline apply` creates them), and a viewer, which may read them and\n" +
			"change nothing. It is the rule that `pipeline plan` prints, without asking a server; only in a cluster does it\n" +
			"depend on the server's version, where replies or dead letters go to another slot: see --before-8-6.",
		Example: "  pipeline export acl examples/payments.hcl\n" +
			"  pipeline export acl examples/payments.hcl --json | jq -r 'select(.user == \"viewer\") | .rule | join(\" \")'",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.load(cmd, args[0])
			if err != nil {
				return err
			}
			a.view.Rules(plan.RulesOf(p, broker.Features{IdempotentAdd: !older}))
			return nil
		},
	}
	cmd.Flags().BoolVar(&older, "before-8-6", false, "for the servers of a cluster older than Redis 8.6, which lack XCFGSET")
	return cmd
}
