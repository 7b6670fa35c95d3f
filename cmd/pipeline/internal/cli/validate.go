package cli

import "github.com/spf13/cobra"

func (a *app) validateCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "validate PATH",
		Short: "Check a pipeline: syntax, types, references, and that every handler compiles",
		Long: "validate reads a pipeline and reports all its problems at once, each with its place and what to do: syntax, names,\n" +
			"types, references, expressions over entries, what blocks demand of each other, and whether every handler compiles.\n" +
			"It needs no server. Warnings and notices do not fail; with errors the exit code is 2. `pipeline explain CODE` says\n" +
			"more about the code in brackets.",
		Args: onePath,
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
