package cli

import "github.com/spf13/cobra"

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate PATH",
		Short: "Check a pipeline: syntax, types, references, and that every handler compiles",
		Args:  onePath,
		RunE: func(cmd *cobra.Command, args []string) error {
			p, report, err := a.read(cmd, args[0])
			if err != nil {
				return err
			}
			a.view.Report(report)
			if report.HasErrors() {
				return said(exitUsage)
			}
			a.view.Valid(p, report)
			return nil
		},
	}
}
