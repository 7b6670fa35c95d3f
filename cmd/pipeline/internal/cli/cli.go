// Package cli is the command line: one file a command. It decides what to do
// and which code to exit with; view prints.
package cli

import (
	"context"
	"errors"
	"io"
	"os"
	"slices"

	"github.com/spf13/cobra"

	"pipeline/cmd/pipeline/internal/view"
	"pipeline/engine/clock"
)

// Process is what a command has of its surroundings.
type Process struct {
	Args           []string
	Stdin          io.Reader
	Stdout, Stderr *os.File
	Env            func(string) (string, bool)
	// Processors sets how many processors are used at most, unless n is 0, and
	// returns how many were: runtime.GOMAXPROCS. nil leaves that alone.
	Processors func(n int) int
}

// app is one run of the program.
type app struct {
	process Process
	view    *view.View
	clock   clock.Clock
	// exit ends the process at once, for a second signal.
	exit func(int)

	json     bool
	vars     []string
	varFiles []string
}

// Main runs the command that the arguments name and returns the exit code.
func Main(p Process) int {
	a := &app{process: p, clock: clock.Real(), exit: os.Exit}
	// Mistakes in the arguments themselves are told in the same form.
	a.json = wantsJSON(p.Args)
	a.openView()
	root := a.root()
	root.SetArgs(p.Args)
	err := root.ExecuteContext(context.Background())
	return a.finish(err)
}

// wantsJSON looks for --json before the arguments are parsed.
func wantsJSON(args []string) bool {
	if end := slices.Index(args, "--"); end >= 0 {
		args = args[:end]
	}
	return slices.Contains(args, "--json") || slices.Contains(args, "--json=true")
}

func (a *app) openView() {
	o := view.Terminal(a.process.Stdout, a.process.Stderr, func(name string) string {
		text, _ := a.process.Env(name)
		return text
	})
	o.JSON = a.json
	a.view = view.New(o)
}

// root is the command without a name.
func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "pipeline",
		Short: "Run declared pipelines over Redis streams",
		Long: "pipeline runs what a pipeline file declares: streams, consumer groups, handlers, retries, replies.\n" +
			"Try it without a server:\n\n  pipeline dev examples/payments.hcl --input examples/payments.jsonl",
		Args:          unknownCommand,
		SilenceUsage:  true,
		SilenceErrors: true,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
		PersistentPreRun: func(*cobra.Command, []string) {
			if a.json != a.view.JSON() {
				a.openView()
			}
		},
	}
	root.SetOut(helpOut{a})
	root.SetErr(a.process.Stderr)
	root.SetFlagErrorFunc(flagError)
	flags := root.PersistentFlags()
	flags.BoolVar(&a.json, "json", false, "print one JSON object a line, all of them to stdout")
	flags.StringArrayVar(&a.vars, "var", nil, "set a variable of the pipeline: `NAME=VALUE`")
	flags.StringArrayVar(&a.varFiles, "var-file", nil, "read variables from a `FILE` (.hcl, or .json); later ones win")
	root.AddCommand(a.validateCommand(), a.runCommand(), a.devCommand(), a.dryRunCommand(), a.publishCommand(),
		a.pendingCommand(), a.dlqCommand(), a.seekCommand(), a.planCommand(), a.applyCommand(), a.explainCommand(), a.versionCommand())
	root.AddCommand(a.schemaCommand(), a.completionCommand(), a.manCommand(), a.fmtCommand(), a.newCommand(), a.testCommand(),
		a.benchCommand(), a.benchJobCommand(), a.monitorCommand())
	root.AddCommand(a.graphCommand(), a.exportCommand(), a.tailCommand(), a.statsCommand(), a.consumersCommand(), a.doctorCommand(), a.replayCommand(), a.topCommand())
	root.CompletionOptions.DisableDefaultCmd = true // ours says when a shell is not known
	root.SetHelpCommand(helpCommand())
	root.InitDefaultHelpCmd()
	addExamples(root)
	completions(root)
	return root
}

// finish prints why the command failed and returns the exit code.
func (a *app) finish(err error) int {
	f := failureOf(err)
	if wrong, ok := errors.AsType[*usageError](err); ok {
		a.view.Diagnostic(wrong.Diagnostic)
		f = said(exitUsage)
	}
	if f.Exit != exitDone && !f.said {
		a.view.Failure(f.Failure)
	}
	if err := a.view.Close(); err != nil && f.Exit == exitDone {
		// stdout is gone or full, so the reason goes to stderr whatever was asked.
		_, _ = io.WriteString(a.process.Stderr, "error: write the output: "+err.Error()+"\n")
		return exitFailed
	}
	return f.Exit
}
