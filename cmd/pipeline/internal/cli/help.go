package cli

import "github.com/spf13/cobra"

// helpOut is where the library writes help: through the view, so that help which
// could not be written is a failure as any other result.
type helpOut struct{ a *app }

func (h helpOut) Write(text []byte) (int, error) {
	h.a.view.Text(text)
	return len(text), nil
}

// helpCommand replaces the library's, which exits with 0 for a command that
// does not exist.
func helpCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "help [COMMAND]",
		Short:   "Explain a command",
		Long:    "help prints what a command does, its flags and examples; `pipeline COMMAND --help` does the same.",
		Example: "  pipeline help dry-run\n  pipeline help pending list",
		ValidArgsFunction: func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
			at, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			var out []string
			for _, c := range at.Commands() {
				if c.IsAvailableCommand() {
					out = offer(out, c.Name(), c.Short, toComplete)
				}
			}
			return out, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			at, rest, err := cmd.Root().Find(args)
			if err != nil || len(rest) > 0 {
				return unknownCommand(at, rest)
			}
			at.InitDefaultHelpFlag()
			return at.Help()
		},
	}
}
