package cli

import (
	"bytes"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"pipeline/lang/diag"
)

// shells are the shells that completion has a script for.
var shells = []struct {
	name, install string
	write         func(root *cobra.Command, to io.Writer) error
}{
	{"bash", "source <(pipeline completion bash)", func(root *cobra.Command, to io.Writer) error { return root.GenBashCompletionV2(to, true) }},
	{"zsh", "source <(pipeline completion zsh)", func(root *cobra.Command, to io.Writer) error { return root.GenZshCompletion(to) }},
	{"fish", "pipeline completion fish | source", func(root *cobra.Command, to io.Writer) error { return root.GenFishCompletion(to, true) }},
	{"powershell", "pipeline completion powershell | Out-String | Invoke-Expression", func(root *cobra.Command, to io.Writer) error {
		return root.GenPowerShellCompletionWithDesc(to)
	}},
}

func shellNames() []string {
	names := make([]string, len(shells))
	for i, s := range shells {
		names[i] = s.name
	}
	return names
}

func (a *app) completionCommand() *cobra.Command {
	install := make([]string, len(shells))
	for i, s := range shells {
		install[i] = fmt.Sprintf("  # %s, for this session\n  %s", s.name, s.install)
	}
	return &cobra.Command{
		Use:   "completion bash|zsh|fish|powershell",
		Short: "Print a script that completes commands, flags and names in a shell",
		Long: "completion prints the script for a shell. It completes commands and flags, pipeline files, and the names of\n" +
			"streams, groups, subscriptions, handlers and variables of the pipeline on the command line, also while that has\n" +
			"mistakes. Put the line for your shell into its start-up file to have it in every session; bash needs the package\n" +
			"bash-completion, zsh `autoload -U compinit; compinit` before it.",
		Example:           strings.Join(install, "\n"),
		Args:              oneShell,
		ValidArgsFunction: firstOnly(words(shellNames()...)),
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.completion(cmd.Root(), args[0])
		},
	}
}

// oneShell checks that the argument is one of the shells.
func oneShell(cmd *cobra.Command, args []string) error {
	if len(args) != 1 {
		return usage(cmd, "%s needs the name of one shell: bash, zsh, fish or powershell", cmd.CommandPath())
	}
	if slices.Contains(shellNames(), args[0]) {
		return nil
	}
	return usage(cmd, "there is no completion for %q; there is for bash, zsh, fish and powershell", args[0]).near(diag.Nearest(args[0], shellNames()))
}

func (a *app) completion(root *cobra.Command, shell string) error {
	for _, s := range shells {
		if s.name != shell {
			continue
		}
		var script bytes.Buffer
		if err := s.write(root, &script); err != nil {
			return fmt.Errorf("completion %s: %w", shell, err)
		}
		return a.view.Document("completion", shell, script.String())
	}
	return nil
}
