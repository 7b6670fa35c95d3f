package cli

import (
	"time"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/alerts"
)

func (a *app) exportAlertsCommand() *cobra.Command {
	var o alerts.Options
	cmd := &cobra.Command{
		Use:   "alerts PATH",
		Short: "Print alerting rules for Prometheus",
		Long: "alerts prints a file of rules for Prometheus, made from the pipeline's streams, groups, retries and limits. Nothing\n" +
			"in it asks for more than the metrics that run and monitor serve. Scrape them every five seconds: what wakes somebody\n" +
			"is then told within 15 seconds. Each alert leads to a part of docs/operations.md that says what to look at and do.",
		Example: "  pipeline export alerts examples/payments.hcl > rules/payments.yml\n" +
			"  pipeline export alerts examples/payments.hcl --behind 5m --runbook https://runbooks.example/pipeline",
		Args: onePath,
		RunE: func(cmd *cobra.Command, args []string) error { return a.exportAlerts(cmd, args[0], o) },
	}
	cmd.Flags().DurationVar(&o.Behind, "behind", alerts.DefaultBehind, "an entry may wait this `TIME` for a worker")
	cmd.Flags().Int64Var(&o.Letters, "letters", alerts.DefaultLetters, "this many dead letters within five minutes wake somebody: `N`")
	cmd.Flags().StringVar(&o.Job, "job", alerts.DefaultJob, "the label job of the processes in Prometheus: `NAME`")
	cmd.Flags().StringVar(&o.Runbook, "runbook", alerts.DefaultRunbook, "the page that says what to do, of which each alert names its part: `URL`")
	return cmd
}

func (a *app) exportAlerts(cmd *cobra.Command, path string, o alerts.Options) error {
	switch {
	case o.Behind < time.Second:
		return usage(cmd, "--behind is %v; it is at least 1s", o.Behind)
	case o.Letters < 1:
		return usage(cmd, "--letters is %d; it is at least 1", o.Letters)
	case o.Job == "":
		return usage(cmd, "--job is empty; it is the job_name of the processes in Prometheus' scrape_configs")
	case o.Runbook == "":
		return usage(cmd, "--runbook is empty; it is the address of a page, without the part of an alert")
	}
	p, err := a.load(cmd, path)
	if err != nil {
		return err
	}
	return a.view.Document("alerts", "yaml", alerts.YAML(p.Name, alerts.Of(p, o)))
}
