package cli

import (
	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/dashboard"
)

func (a *app) exportDashboardCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "dashboard PATH",
		Short: "Print a dashboard for Grafana",
		Long: "dashboard prints the JSON of a dashboard for Grafana 10.4 or later, made from the pipeline: the whole of it, then a row\n" +
			"for each subscription with rates, lag, ages, times, failures, dead letters, workers and memory, and the server. It\n" +
			"shows the metrics that run and monitor serve. Imported again, it takes the place of the one before.",
		Example: "  pipeline export dashboard examples/payments.hcl > payments.json",
		Args:    onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, err := a.load(cmd, args[0])
			if err != nil {
				return err
			}
			return a.view.Document("dashboard", "grafana", dashboard.Of(p))
		},
	}
}
